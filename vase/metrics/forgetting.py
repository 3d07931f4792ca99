"""Forgetting: how far the scores of probes fall after a world has been left, from saved rows alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal, get_args

import numpy as np

from vase.rows import Row
from vase.worlds.timeline import Timeline

Metric = Literal["accuracy", "mse", "pixels"]
Probes = Literal["appendix", "frozen", "kept", "settled"]
"""Which probes: the appendix's, trained beside the learner; fresh ones on the frozen encoder; or "kept" and "settled"
ones, which were trained once per visit, on the codes of today."""
SETTLED_AFTER = 10
"""Batches after a visit at which the settled probe is trained: by then a learner that infers environments has usually
noticed that it left one, and has done what it does on leaving."""
TRAINED_ONCE: dict[Probes, int] = {"kept": 0, "settled": SETTLED_AFTER}
"""Probes that are trained once per visit -> batches after its end."""
Stages = Sequence[tuple[str, int]]  # (world, steps) in the order of the stream


@dataclass(frozen=True)
class PerWorld:
    """A number for each world and their mean (nan without worlds)."""

    worlds: dict[str, float]

    @property
    def mean(self) -> float:
        """Average over the worlds."""
        return float(np.mean(list(self.worlds.values()))) if self.worlds else math.nan


def maximum(
    rows: Iterable[Row],
    stages: Stages | None = None,
    metric: Metric = "accuracy",
    worlds: Iterable[str] | None = None,
    *,
    probes: Probes = "appendix",
) -> PerWorld:
    """The best score of each world: highest accuracy, lowest error ("Max", "Min" of the paper's ablation table).

    With `stages`, only scores taken while the learner trained on that world count, as in the appendix; without them,
    the whole run. `worlds` restricts the result.
    """
    best: dict[str, float] = {}
    for world, points in probe_series(rows, metric, worlds, probes=probes).items():
        visits = None if stages is None else Timeline.of(stages).visits(world)
        values = [value for step, value in points if visits is None or any(step in visit for visit in visits)]
        if values:
            best[world] = best_of(metric)(values)
    return PerWorld(best)


def final(
    rows: Iterable[Row],
    metric: Metric = "accuracy",
    worlds: Iterable[str] | None = None,
    *,
    probes: Probes = "appendix",
) -> PerWorld:
    """The last score of each world."""
    series = probe_series(rows, metric, worlds, probes=probes)
    return PerWorld({world: max(points)[1] for world, points in series.items()})


def forgetting(
    rows: Iterable[Row],
    stages: Stages,
    metric: Metric = "accuracy",
    worlds: Iterable[str] | None = None,
    *,
    probes: Probes = "appendix",
) -> PerWorld:
    """Change = (worst score afterwards) - (best score during): the appendix's measure, "Change" in the ablation table.

    Negative changes of accuracy and positive changes of error are losses. A score at the last step of a stage still
    belongs to it. A world visited several times has several away-periods: each compares the best score of all visits so
    far with the worst score until the next visit, and the world's change is the mean over its away-periods. Worlds
    without an afterwards (the last one) have no change. Probes that were trained once per visit are
    compared with their own first score.
    """
    if probes in TRAINED_ONCE:
        return _change_since(TRAINED_ONCE[probes], rows, stages, metric, worlds, probes)
    changes: dict[str, float] = {}
    for world, points in probe_series(rows, metric, worlds, probes=probes).items():
        visits = Timeline.of(stages).visits(world)
        during: list[float] = []
        periods: list[float] = []
        for visit, following in zip_longest(visits, visits[1:]):
            back = math.inf if following is None else following.start
            during += [value for step, value in points if step in visit]
            after = [value for step, value in points if visit.end < step <= back]
            if during and after:
                periods.append(worst_of(metric)(after) - best_of(metric)(during))
        if periods:
            changes[world] = float(np.mean(periods))
    return PerWorld(changes)


def _change_since(
    delay: int, rows: Iterable[Row], stages: Stages, metric: Metric, worlds: Iterable[str] | None, probes: Probes
) -> PerWorld:
    """Worst score until the next visit minus the first, of probes trained `delay` steps after a visit; the mean."""
    timeline, changes = Timeline.of(stages), dict[str, float]()
    for world, points in probe_series(rows, metric, worlds, probes=probes).items():
        visits, periods = timeline.visits(world), list[float]()
        for visit, following in zip_longest(visits, visits[1:]):
            trained, back = visit.end + delay, math.inf if following is None else following.start
            first = [value for step, value in points if step == trained]
            later = [value for step, value in points if trained < step <= back]
            if first and later:
                periods.append(worst_of(metric)(later) - first[0])
        if periods:
            changes[world] = float(np.mean(periods))
    return PerWorld(changes)


def best_of(metric: Metric) -> Callable[[Sequence[float]], float]:
    """The better one of several scores: the highest accuracy, the lowest error."""
    return max if metric == "accuracy" else min


def worst_of(metric: Metric) -> Callable[[Sequence[float]], float]:
    """The worse one of several scores."""
    return min if metric == "accuracy" else max


def probe_series(
    rows: Iterable[Row], metric: Metric, worlds: Iterable[str] | None = None, *, probes: Probes = "appendix"
) -> dict[str, list[tuple[int, float]]]:
    """world -> [(step, score)] of one metric."""
    if metric not in get_args(Metric):
        raise ValueError(f"metric is {metric!r}; probes report {', '.join(get_args(Metric))}")
    wanted = None if worlds is None else set(worlds)
    series: dict[str, list[tuple[int, float]]] = {}
    for row in probe_rows(rows, probes):
        if row.get(metric) is not None and (wanted is None or row["world"] in wanted):
            series.setdefault(row["world"], []).append((int(row["step"]), float(row[metric])))
    return series


def probe_rows(rows: Iterable[Row], probes: Probes = "appendix") -> list[Row]:
    """The rows of these probes. Rows that do not say their mode are the appendix's."""
    if probes not in get_args(Probes):
        raise ValueError(f"probes is {probes!r}; there are {', '.join(get_args(Probes))}")
    return [row for row in rows if row.get("kind") == "probe" and _kind_of(row.get("mode")) == probes]


def _kind_of(mode: str | None) -> Probes:
    kinds: dict[str | None, Probes] = {"frozen": "frozen", "kept": "kept", "settled": "settled"}
    return kinds.get(mode, "appendix")


def score_error(rows: Iterable[Row], metric: Metric = "accuracy", worlds: Iterable[str] | None = None) -> PerWorld:
    """Root mean squared standard error of a world's scores by the frozen-encoder probe, over test images."""
    wanted = None if worlds is None else set(worlds)
    squares: dict[str, list[float]] = {}
    for row in probe_rows(rows, "frozen"):
        if row.get(metric) is not None and (wanted is None or row["world"] in wanted):
            squares.setdefault(row["world"], []).append(float(row["error"]) ** 2)
    return PerWorld({world: math.sqrt(np.mean(values)) for world, values in squares.items()})
