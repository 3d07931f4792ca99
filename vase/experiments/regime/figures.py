"""Learning curves of the paper's regime beside those of the laptop preset."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vase.experiments.ablation.settings import ABLATION
from vase.experiments.common.conditions import OURS
from vase.experiments.regime.analysis import WHOLE, late, line_of, scores
from vase.experiments.results import Result, Results
from vase.metrics.forgetting import Metric
from vase.plots.style import GREY, new_figure, styled, world_colour
from vase.worlds.spec import title

_PANELS: tuple[tuple[Metric, str, float], ...] = (
    ("accuracy", "identity (%)", 1e2),
    ("mse", "position, squared error (1e-4)", 1e4),
)


def curves(results: Results) -> Figure:
    """Scores of the first world against its steps: this preset, where its line points, and the laptop's."""
    laptop = Results(ABLATION, "laptop", results.folder.parents[1] / ABLATION.name / "laptop").of(OURS)
    runs = results.of(OURS) or [results.first(OURS)]
    with styled():
        figure = new_figure(9.0, 3.4)
        for axis, (metric, name, scale) in zip(figure.subplots(1, 2), _PANELS, strict=True):
            _draw(axis, runs, laptop, metric, scale)
            axis.set_ylabel(name)
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def _draw(axis: Axes, runs: list[Result], laptop: list[Result], metric: Metric, scale: float) -> None:
    world = runs[0].timeline.worlds[0]
    for number, run in enumerate(laptop):
        _draw_scores(axis, run, world, metric, scale, GREY, "preset laptop" if number == 0 else None)
    for number, run in enumerate(runs):
        label = None if number else "preset paper"
        _draw_scores(axis, run, world, metric, scale, world_colour(0), label)
        if (line := line_of(run, world, metric)) is not None:
            begin = late(scores(run, world, metric))[0][0]
            steps = np.geomspace(begin, WHOLE, 50)
            label = None if number else "extrapolated"
            values = [scale * line.at(step) for step in steps]
            axis.plot(steps, values, color=world_colour(0), linewidth=1.2, linestyle=":", label=label)
    axis.set_xscale("log")
    axis.set_xlabel(f"steps of {title(world)}")
    if metric != "accuracy":
        axis.set_yscale("log")


def _draw_scores(
    axis: Axes, run: Result, world: str, metric: Metric, scale: float, colour: str, label: str | None
) -> None:
    points = np.array(scores(run, world, metric))
    if len(points):
        axis.plot(
            points[:, 0], scale * points[:, 1], color=colour, linewidth=1.6, marker="o", markersize=3, label=label
        )
