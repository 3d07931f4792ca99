"""How far the paper's regime gets, and where its learning curves point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vase.experiments.common.conditions import OURS
from vase.experiments.results import Result, Results
from vase.experiments.tables import NONE, Entry, Reported, Table, spread
from vase.metrics.forgetting import Metric, probe_series
from vase.worlds.spec import title

WHOLE = 150_000
"""Steps of a stage in the paper."""
PLACES = (1_000, 2_000, 5_000, 10_000, 20_000)
"""Steps that the table reports, where they were reached."""
LATE = 0.25
"""The line is fitted to scores from this share of the world's steps on."""
PAPER = {"accuracy": Reported("88.6 ± 0.4"), "mse": Reported("3.2 ± 0.03")}
"""Table 1: best scores after whole stages, identity averaged over moving Fashion and MNIST."""
_MEASURES: tuple[tuple[str, Metric, float], ...] = (("identity (%)", "accuracy", 1e2), ("position (1e-4)", "mse", 1e4))


@dataclass(frozen=True)
class Line:
    """A straight line through scores over the logarithm of the step; of errors, through their logarithms."""

    slope: float
    intercept: float
    logarithmic: bool

    @staticmethod
    def fit(points: Sequence[tuple[int, float]], *, logarithmic: bool) -> Line | None:
        """Least squares; None for fewer than three points, through which anything fits.

        >>> Line.fit([(10, 0.1), (100, 0.2), (1000, 0.3)], logarithmic=False).at(10_000)
        0.4
        """
        if len(points) < 3:
            return None
        steps, values = (np.array(column, float) for column in zip(*points, strict=True))
        slope, intercept = np.polyfit(np.log10(steps), np.log10(values) if logarithmic else values, 1)
        return Line(float(slope), float(intercept), logarithmic)

    def at(self, step: float) -> float:
        """The score that the line gives at a step."""
        value = self.slope * math.log10(step) + self.intercept
        return round(10**value if self.logarithmic else value, 9)


def scores(run: Result, world: str, metric: Metric) -> list[tuple[int, float]]:
    """(steps since the world began, score of a fresh probe), while it was trained on for the first time."""
    visit = run.timeline.visits(world)[0]
    series = probe_series(run.rows, metric, (world,), probes="frozen").get(world, [])
    return [(step - visit.start, value) for step, value in series if step in visit]


def late(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """The points to which a line is fitted."""
    return [point for point in points if point[0] >= LATE * max(step for step, _ in points)]


def line_of(run: Result, world: str, metric: Metric) -> Line | None:
    """Where the learning curve of a world points."""
    points = scores(run, world, metric)
    return Line.fit(late(points), logarithmic=metric != "accuracy") if points else None


def regime(results: Results) -> Table:
    """Scores of the first world along its stage, what a line through them gives for a whole one, and C."""
    runs = results.of(OURS)
    world = runs[0].timeline.worlds[0] if runs else ""
    rows = [_measured(runs, world, *measure) for measure in _MEASURES]
    rows += [_nats(runs, name, key) for name, key in (("KL (nats)", "kl"), ("C (nats)", "capacity"))]
    columns = ("measure", *(f"{place:,} steps" for place in PLACES), f"line at {WHOLE:,}", "paper")
    notes = (
        f"{title(world)}, the first world, {len(runs)} seed{'s' * (len(runs) != 1)}; fresh probes on the frozen "
        f"encoder. line: an extrapolation, by a straight line over the logarithm of the step through the scores from a "
        f"quarter of the world's steps on (of the error, of its logarithm); C is arithmetic. paper: its Table 1, "
        f"after {WHOLE:,} steps per stage, identity averaged over moving Fashion and MNIST.",
        f"Preset {results.preset}, nothing scaled to the shorter stages.",
    )
    return Table("The paper's regime, sampled", columns, tuple(rows), notes)


def _measured(runs: Sequence[Result], world: str, name: str, metric: Metric, scale: float) -> tuple[Entry, ...]:
    found = [dict(scores(run, world, metric)) for run in runs]
    at = (spread([one.get(place) for one in found], scale=scale) for place in PLACES)
    lines = [line for run in runs if (line := line_of(run, world, metric)) is not None]
    return (name, *at, spread([line.at(WHOLE) for line in lines], scale=scale), PAPER[metric])


def _nats(runs: Sequence[Result], name: str, key: str) -> tuple[Entry, ...]:
    found = [{int(row["step"]): row.get(key) for row in run.of("step")} for run in runs]
    end: Entry = NONE
    if key == "capacity" and runs:
        end = spread([_capacity(run) for run in runs])
    return (name, *(spread([one.get(place) for one in found]) for place in PLACES), end, NONE)


def _capacity(run: Result) -> float:
    """C after a whole stage, from the configuration."""
    capacity = run.content["config"]["capacity"]
    return float(min(1.0, WHOLE / capacity["ramp_steps"]) * capacity["c_max"])
