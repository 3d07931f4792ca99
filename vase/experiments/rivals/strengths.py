"""Which strength of each rival is compared with VASE."""

from __future__ import annotations

from vase.experiments.common.numbers import change, last
from vase.experiments.results import Results

LEEWAY = 1.0
"""Points of accuracy that less forgetting may cost."""


def strengths(results: Results) -> dict[str, str]:
    """Learner -> condition of the grid: the least forgetting, of those whose end is about as good as the best.

    Identity of all worlds at the end of the stream comes first, because a method that hardly learns has little to
    forget; what is lost on the way decides among those within a point of the best.
    """
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for condition, runs in results.finished:
        (end,), (lost,) = (score(runs[:1], "accuracy", None, "frozen") for score in (last, change))
        if condition.learner_options and end is not None and lost is not None:
            found.setdefault(condition.learner or "", {})[condition.name] = (end, lost)
    chosen = {}
    for learner, values in found.items():
        least = max(end for end, _ in values.values()) - LEEWAY / 100
        chosen[learner] = max((name for name in values if values[name][0] >= least), key=lambda name: values[name][1])
    return chosen
