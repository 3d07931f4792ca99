"""Reuse: how soon the last world is learnt with what earlier ones taught, disentangled against entangled."""

from __future__ import annotations

from itertools import product

from vase.experiments.common.conditions import ENTANGLED, HALVES, OURS
from vase.experiments.common.numbers import note
from vase.experiments.results import Result, Results
from vase.experiments.tables import Entry, Table, spread
from vase.metrics.forgetting import Metric, probe_series

WORLD = "moving-mnist"
"""Digits are known from the second world, movement from the first."""
_MEASURED: tuple[tuple[str, Metric, float, int], ...] = (
    ("ID (%)", "accuracy", 1e2, 1),
    ("position (1e-4)", "mse", 1e4, -1),
)


def reuse(results: Results) -> Table:
    """Scores on moving MNIST along its stage, of both halves of the same seeds."""
    curves = {
        (condition, metric): {run.seed: _since(run, metric) for run in results.of(condition)}
        for condition, (_, metric, _, _) in product((OURS, ENTANGLED), _MEASURED)
    }
    rows: list[tuple[Entry, ...]] = []
    for name, metric, scale, sign in _MEASURED:
        first, second = (curves[condition, metric] for condition in (OURS, ENTANGLED))
        common = [seed for seed in first if seed in second]
        for after in sorted({step for seed in common for step in first[seed]}):
            seeds = [seed for seed in common if after in first[seed] and after in second[seed]]
            pair = [[scale * found[seed][after] for seed in seeds] for found in (first, second)]
            ahead = spread([sign * (a - b) for a, b in zip(*pair, strict=True)])
            rows.append((name, f"{after:,}", len(seeds), *map(spread, pair), ahead, ahead.mean_in_errors))
    notes = (
        "steps: since moving MNIST began. ahead: how much better the disentangled one is than the entangled one of the "
        "same seed, and that in standard errors of its mean.",
        note(results),
    )
    columns = ("measure", "steps", "seeds", *HALVES, "ahead", "standard errors")
    return Table("Ablation: how soon the third world is learnt", columns, tuple(rows), notes)


def _since(run: Result, metric: Metric) -> dict[int, float]:
    """Steps since the world began -> score, while it was learnt."""
    worlds = [world for world, _ in run.timeline.stages]
    begin = sum(steps for _, steps in run.timeline.stages[: worlds.index(WORLD)])
    scores = probe_series(run.rows, metric, (WORLD,)).get(WORLD, [])
    return {step - begin: value for step, value in scores if step > begin}
