"""Curves over several seeds: the mean with a band of one standard deviation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int64
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from vase.experiments.common.numbers import best, change
from vase.experiments.results import Result
from vase.experiments.tables import spread
from vase.metrics.forgetting import Metric
from vase.metrics.record import Record
from vase.plots.curves import shade
from vase.plots.style import INK, world_colour
from vase.worlds.spec import title

SHADE = 0.18
"""Opacity of a band."""


@dataclass(frozen=True, eq=False)
class SeedCurve:
    """Mean and sample standard deviation over seeds; the latter is zero for one seed."""

    steps: Int64[np.ndarray, " T"]
    mean: Float[np.ndarray, " T"]
    std: Float[np.ndarray, " T"]


def seed_curve(series: Iterable[tuple[Iterable[int], Iterable[float]]]) -> SeedCurve:
    """(steps, values) of each seed; a step is averaged over the seeds that have it."""
    found: dict[int, list[float]] = {}
    for steps, values in series:
        for step, value in zip(steps, values, strict=True):
            found.setdefault(int(step), []).append(float(value))
    order = sorted(found)
    return SeedCurve(
        np.array(order, np.int64),
        np.array([np.mean(found[step]) for step in order]),
        np.array([np.std(found[step], ddof=1) if len(found[step]) > 1 else 0.0 for step in order]),
    )


def draw_band(axis: Axes, found: SeedCurve, colour: str) -> None:
    """One standard deviation around the mean."""
    low, high = found.mean - found.std, found.mean + found.std
    axis.fill_between(found.steps, low, high, color=colour, alpha=SHADE, linewidth=0, zorder=2)


def probe_curves(records: Sequence[Record], metric: Metric) -> dict[str, SeedCurve]:
    """World -> curve of one metric of its probes."""
    scores = [record.scores(metric) for record in records]
    return {
        world: seed_curve([one[world] for one in scores if world in one]) for world in (scores[0] if scores else ())
    }


def draw_probes(axis: Axes, runs: Sequence[Result], metric: Metric) -> None:
    """Scores of each world's probe: bold while its world is trained on, dotted before; switches of all seeds on top.

    The legend gives best and change as the tables do.
    """
    records = [run.record for run in runs]
    shade(axis, records[0])
    handles = []
    for world, found in probe_curves(records, metric).items():
        colour = world_colour(records[0].worlds.index(world))
        _draw_world(axis, found, [(v.start, v.end) for v in records[0].visits if v.name == world], colour)
        text = f"{title(world)}\n{_numbers(runs, metric, world)}"
        handles.append(Line2D([], [], color=colour, linewidth=2.2, label=text))
    handles += _draw_announced(axis, records)
    name, axis_name, scale, _ = _LOOKS[metric]
    axis.set_title(name)
    axis.set_ylabel(axis_name)
    if metric != "accuracy":
        axis.set_ylim(bottom=0)
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{scale * value:.4g}"))
    axis.legend(handles=handles, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.2, labelspacing=0.8)


_LOOKS: dict[Metric, tuple[str, str, float, int]] = {
    "accuracy": ("Object identity", "accuracy (%)", 100, 1),
    "pixels": ("Object position", "error (pixels, RMS)", 1, 2),
    "mse": ("Object position", "squared error (1e-4)", 1e4, 1),
}
"""Metric -> title, name of the axis, and factor and digits of the numbers in the legend."""


def _numbers(runs: Sequence[Result], metric: Metric, world: str) -> str:
    """Best score during, and change afterwards, over the seeds."""
    _, _, scale, digits = _LOOKS[metric]
    highest, after = (spread(f(runs, metric, [world]), scale=scale, digits=digits) for f in (best, change))
    return f"best {highest}" + (f", change {after}" if after.values else "")


def _draw_world(axis: Axes, found: SeedCurve, visits: list[tuple[int, int]], colour: str) -> None:
    """One world: a dotted line before its first visit, then a solid one, bold during its visits."""
    steps, mean = found.steps, found.mean
    first = visits[0][0] if visits else 0
    before = steps <= first
    later = steps >= max(steps[before], default=first)
    draw_band(axis, found, colour)
    axis.plot(steps[before], mean[before], color=colour, linewidth=1.2, alpha=0.7, linestyle=":", zorder=3)
    axis.plot(steps[later], mean[later], color=colour, linewidth=1.1, zorder=3)
    for start, end in visits:
        during = (steps >= start) & (steps <= end)
        axis.plot(steps[during], mean[during], color=colour, linewidth=2.4, solid_capstyle="round", zorder=4)


def _draw_announced(axis: Axes, records: Sequence[Record]) -> list[Line2D]:
    """Ticks along the upper edge where a seed announced a switch; lines are where the world really changed."""
    handles = [Line2D([], [], color=INK, linewidth=0.7, label="true switch")]
    steps = [int(row["step"]) for record in records for row in record.switches]
    if steps:
        label = f"announced ({len(records)} seed{'s' * (len(records) > 1)})"
        look: dict[str, Any] = {"markersize": 9, "markeredgewidth": 1.2, "transform": axis.get_xaxis_transform()}
        handles += axis.plot(steps, [0.96] * len(steps), "|", color=INK, zorder=5, label=label, **look)
    return handles
