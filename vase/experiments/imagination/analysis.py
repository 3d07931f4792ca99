"""The table of the imagination experiment: with and without imagination, baselines and variants."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from vase.experiments.common.numbers import note
from vase.experiments.results import Result, Results
from vase.experiments.tables import NONE, Entry, Table, spread
from vase.metrics.forgetting import Probes, probe_rows
from vase.rows import Row

PASSIVE, IMAGINATION = "passive", "imagination"
Measure = Callable[[Result], float | None]


def looks_ahead(run: Result) -> list[Row]:
    """The scores on the world to come, while the static one was trained on."""
    return [row for row in run.of("imagination") if "unmet" in row]


def final(run: Result, name: str) -> float | None:
    """The last of these scores: `accuracy` by what was met, or its `ceiling` by the world itself."""
    rows = looks_ahead(run)
    return float(rows[-1][name]) if rows else None


def share(part: float | None, whole: float | None) -> float | None:
    """part / whole, where both are known."""
    return None if part is None or not whole else part / whole


def probe(
    run: Result, world: str, metric: str, *, after: int = 0, until: int | None = None, probes: Probes = "appendix"
) -> list[float]:
    """Scores of a world's probe at steps after < t <= until."""
    return [
        float(row[metric])
        for row in probe_rows(run.rows, probes)
        if row["world"] == world and metric in row and after < row["step"] and (until is None or row["step"] <= until)
    ]


def last_probe(number: int, *, static: bool, metric: str = "accuracy", probes: Probes = "appendix") -> Measure:
    """The score of the world of a stage, as the static stage (the second) ended or at the end of the run."""

    def measure(run: Result) -> float | None:
        stages = run.timeline.spans
        until = stages[1].end if static else None
        found = probe(run, stages[number].name, metric, until=until, probes=probes)
        return found[-1] if found else None

    return measure


def first_in_its_stage(run: Result) -> float | None:
    """The first score of the third world's probe in its own stage."""
    third = run.timeline.spans[2]
    found = probe(run, third.name, "accuracy", after=third.start)
    return found[0] if found else None


def way(moment: str) -> Measure:
    """Distance from z* as the static stage ended: root of the mean square over the latents aimed at."""

    def measure(run: Result) -> float | None:
        rows = [row for row in run.of("imagination") if moment in row]
        return float(np.sqrt(np.mean(np.square(rows[-1][moment])))) if rows else None

    return measure


_UNMET_END = last_probe(2, static=False)
MEASURES: tuple[tuple[str, Measure, float, int, str], ...] = (
    ("moving MNIST, classifier of what was met (%)", lambda run: final(run, "accuracy"), 100, 1, "gain ≥ 35"),
    ("the same classifier on real moving MNIST (%)", lambda run: final(run, "ceiling"), 100, 1, ""),
    ("what was met / real (%)", lambda r: share(final(r, "accuracy"), final(r, "ceiling")), 100, 1, "≥ 85"),
    ("appendix probe of moving MNIST (%)", last_probe(2, static=True), 100, 1, ""),
    ("its position error (pixels)", last_probe(2, static=True, metric="pixels"), 1, 2, ""),
    ("fresh probe of MNIST (%)", last_probe(1, static=True, probes="frozen"), 100, 1, "gain ≥ −1"),
    ("fresh probe of moving Fashion (%)", last_probe(0, static=True, probes="frozen"), 100, 1, "gain ≥ −1"),
    ("distance from z*, before acting", way("before"), 1, 2, ""),
    ("distance from z*, after acting", way("after"), 1, 2, ""),
    ("later: moving MNIST, first score in its stage, appendix probe (%)", first_in_its_stage, 100, 1, ""),
    ("later: moving MNIST, end of the run, appendix probe (%)", _UNMET_END, 100, 1, ""),
    ("what was met / end of the run (%)", lambda r: share(final(r, "accuracy"), _UNMET_END(r)), 100, 1, ""),
    *(
        (f"later: {world}, end of the run, fresh probe (%)", last_probe(n, static=False, probes="frozen"), 100, 1, "")
        for n, world in ((2, "moving MNIST"), (1, "MNIST"), (0, "moving Fashion"))
    ),
    ("environments", lambda run: run.summary["environments"] or None, 1, 1, ""),
    ("false alarms", lambda run: run.summary["false_alarms"] if run.infers_environments else None, 1, 1, ""),
)
"""(what, of a run, scale, digits, the bar it has to pass)."""
MEANINGS = {
    "random-translation": "as many digits are moved by uniformly random parameters, without policy and z*",
    "passive-128": "no imagination, and batches of 128 images in all stages",
    "imagination-quarter": "a quarter as many imagined images as real ones",
    "imagination-late": "imagined images join after 1,500 batches of the static stage",
    "imagination-ramp": "the number of imagined images grows during the first 1,500 batches of the static stage",
}
"""What tells a condition from `passive` and `imagination`."""


def ordered(results: Results) -> list[str]:
    """Conditions with finished runs: passive, imagination, and the others as the experiment lists them."""
    finished = [condition.name for condition, _ in results.finished]
    return sorted(finished, key=lambda name: {PASSIVE: 0, IMAGINATION: 1}.get(name, 2))


def imagination_table(results: Results) -> Table:
    """All conditions with results, and what each gains on passive: at the end of the static stage, and later."""
    runs = {name: {run.seed: run for run in results.of(name)} for name in ordered(results)}
    columns = [(name, gain) for name in runs for gain in (False, True) if not gain or _has_gain(name, runs)]
    rows: list[tuple[Entry, ...]] = []
    for what, measure, scale, digits, bar in MEASURES:
        found = {name: {seed: measure(run) for seed, run in some.items()} for name, some in runs.items()}
        entries = [spread(_values(found, *part), scale=scale, digits=digits) for part in columns]
        rows.append((what, *entries, bar or NONE))
    names = ("", *("gain" if gain else name for name, gain in columns), "bar")
    return Table("Imagination: moving MNIST before it is met", names, tuple(rows), _notes(results, runs))


def _has_gain(name: str, runs: Mapping[str, Mapping[int, Result]]) -> bool:
    """Whether a condition has a seed in common with passive."""
    return name != PASSIVE and bool(runs[name].keys() & runs.get(PASSIVE, {}).keys())


def _notes(results: Results, runs: Mapping[str, Mapping[int, Result]]) -> tuple[str, ...]:
    others = [name for name in runs if name not in (PASSIVE, IMAGINATION)]
    gain = "imagination − passive" if not others else "the condition before it − passive"
    told = "; ".join(f"{name}: {MEANINGS[name]}" for name in others if name in MEANINGS)
    seeds = ", ".join(f"{len(some)} {name}" for name, some in runs.items())
    return (
        "At the end of the static MNIST stage, unless it says later. The first two classifiers have the size of the "
        "appendix's probes, learn during that stage only, and are tested on held-out moving MNIST; the first one "
        "learns from static digits and, with imagination, from as many that the policy moved. A fresh probe is trained "
        "anew on the frozen encoder. "
        f"gain: {gain}, seed by seed. distance from z*: root of the mean square over the latents that the policy aims "
        "at.",
        *([f"{told}."] if told else []),
        f"Seeds: {seeds}. {note(results)}",
    )


def _values(found: Mapping[str, Mapping[int, float | None]], name: str, gain: bool) -> list[float | None]:
    """One number per seed of a condition, or its differences from passive."""
    if not gain:
        return list(found[name].values())
    return [_gain(found[name].get(seed), value) for seed, value in found[PASSIVE].items()]


def _gain(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a - b
