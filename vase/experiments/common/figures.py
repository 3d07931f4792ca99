"""Figures that experiments share, and their parts, from saved results. Each figure is a function of Results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Int
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from vase.experiments.common.conditions import BASELINE, ENTANGLED, OURS, heading
from vase.experiments.common.numbers import MEASURES, measure_of
from vase.experiments.common.seed_curves import draw_probes, seed_curve
from vase.experiments.results import Result, Results
from vase.files import read_arrays
from vase.metrics.forgetting import Metric
from vase.metrics.latents import axis_names, row_states
from vase.plots.curves import draw_stages
from vase.plots.figure_data import FigureData
from vase.plots.pictures import SPAN, draw_rows, draw_traversals, traversal_page
from vase.plots.style import GREY, INK, new_figure, styled, tint, world_colour
from vase.rows import Row
from vase.worlds.spec import title

LATENT_KEY = (
    "boxes 1, 2, ...: use of the latent as each stage ended, in the colour of the stage's world; "
    "bar beside a strip: its use in that environment at the end of training; "
    "x, y: the position latents at the end of training"
)
_QUALITY = {"reconstruction": "reconstruction\n(MSE per pixel) ↓", "samples": "dreams\n(Fréchet distance) ↓"}


def figure_data(run: Result) -> FigureData:
    """Traversals and reconstructions of a run; an error for conditions that save none."""
    return FigureData.load(run.path.with_suffix(".npz"))


def pictures(run: Result) -> dict[str, np.ndarray]:
    """The pictures of a run and of its analysis; an error for runs that save none."""
    path = run.path.with_suffix(".pictures.npz")
    if not path.exists():
        raise FileNotFoundError(
            f"{path} does not exist: restore it from a clone of the repository, or delete {run.path.name} beside "
            "it and run that condition again with: vase experiment run"
        )
    return read_arrays(path)


def traversal_height(data: FigureData, latents: int, width: float) -> float:
    """Height of traversals of every world side by side, for a given width."""
    worlds, _, points, _, height, wide = data.traversals.shape
    return width * (1 + latents) * (height + 3) / (worlds * (points + 0.7) * (wide + 1) + wide)


def draw_latents(axis: Axes, run: Result, data: FigureData, latents: Sequence[int], name: str) -> None:
    """Traversals of every world on one row per latent, with the latent's use stage by stage."""
    blocks = data.blocks(latents)
    ends = run.of("stage")
    worlds = run.timeline.worlds
    stages = [(stage_states(row)[list(latents)], world_colour(worlds.index(row["world"]))) for row in ends]
    lefts = draw_traversals(axis, blocks, span=SPAN, before=stages, names=meanings(run))
    height, width = blocks[0].seed.shape[-2:]
    for number, left in enumerate(lefts[: len(stages)], 1):
        axis.text(left + 0.15 * width, height, str(number), ha="center", va="bottom", fontsize=7)
    for block, left in zip(blocks, lefts[len(stages) :], strict=True):
        axis.annotate(block.heading, (left, 0), (0, 3), textcoords="offset points", va="bottom", fontsize=8.5)
    axis.text(lefts[0], 0.35 * height, "stage", va="bottom", fontsize=7)
    axis.text(lefts[len(stages)] + 2.2 * width, 0.5 * height, "and its reconstruction", va="center", fontsize=7)
    axis.set_title(f"{name}: latents in use, from −{SPAN:g} to {SPAN:g} at the end of training", pad=20)
    axis.set_anchor("NW")


def meanings(run: Result) -> dict[int, str]:
    """The position latents by their axis, "x" or "y", at the end of the run."""
    row = run.record.position_row
    return axis_names(row["position"]) if row else {}


def stage_states(row: Row) -> Int[np.ndarray, " N"]:
    """What the environment of a "stage" row did with each latent as its stage ended."""
    return row_states(row["environments"])[row["environment"]]


def draw_stream(
    axes: np.ndarray, results: Results, condition: str, metrics: Sequence[Metric], *, width: float, prefix: str = ""
) -> None:
    """The stages, and below them one panel of probes per metric; `width` of an axis in inches."""
    runs = results.of(condition)
    draw_stages(axes[0], results.first(condition).record, width)
    seeds = f"{len(runs)} seeds, mean ± standard deviation" if len(runs) > 1 else "1 seed"
    axes[0].set_title(f"{prefix}{heading(condition)}: {seeds}")
    for axis, metric in zip(axes[1:], metrics, strict=False):
        draw_probes(axis, runs, metric)


def share_y(row: Sequence[Axes]) -> None:
    """The same y axis for all panels of a row."""
    limits = [axis.get_ylim() for axis in row]
    for axis in row:
        axis.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


# ------------------------------------------------------------------------------------------------ whole figures


def traversals(results: Results, condition: str = OURS) -> Figure:
    """Large traversals of one condition, seeded by every world."""
    run = results.first(condition)
    data = figure_data(run)
    name = f"{heading(condition)}: latents in use, from −{SPAN:g} to {SPAN:g} at the end of training"
    return traversal_page(data.blocks(data.order()), span=SPAN, column=3.6, title=name, names=meanings(run))


def cross_domain(results: Results, conditions: Sequence[str] = (OURS, ENTANGLED)) -> Figure:
    """Images of each world, encoded and decoded as every environment; those of the conditions it has side by side."""
    known = [condition for condition in results.experiment.conditions if condition.name in conditions]
    shown = {condition.name: figure_data(results.first(condition.name)) for condition in known}
    pages = {condition: [_decoded(data, w) for w in range(len(data.worlds))] for condition, data in shown.items()}
    lines = max(map(len, pages.values()))
    names = [name for page in pages.values() for rows in page for name in rows]
    rows = max(len(rows) for page in pages.values() for rows in page)
    with styled():
        width = 3.5 + 0.075 * max(map(len, names))
        figure = new_figure(0.1 + width * len(pages), 0.1 + lines * (0.35 + 0.45 * rows))
        grid = figure.subplots(lines, len(pages), squeeze=False)
        for axis in grid.flat:
            axis.set_axis_off()
        for column, (condition, page) in zip(grid.T, pages.items(), strict=True):
            for axis, decoded, world in zip(column, page, shown[condition].worlds, strict=False):
                draw_rows(axis, decoded)
                axis.set_title(f"{heading(condition)}: {title(world)}")
                axis.set_anchor("NW")
    return figure


def _decoded(data: FigureData, w: int) -> dict[str, np.ndarray]:
    """Rows of one world: its images, and them as every environment; its own is marked."""
    rows = {"image": data.images[w]}
    for e, name in enumerate(data.names()):
        own = " (own)" if e == data.environment[w] else ""
        rows[f"as {e}  {name}{own}"] = data.cross[w, e]
    return rows


def disentanglement(results: Results) -> Figure:
    """Measures of every world at the end of each stage, over the seeds: VASE against a baseline."""
    known = {condition.name for condition in results.experiment.conditions}
    record = results.first(OURS).record
    others = [name for name in (BASELINE, ENTANGLED) if name in known and results.of(name)]
    runs = {name: results.of(name) for name in (OURS, *others[:1])}
    measures = [*MEASURES, *_QUALITY]
    with styled():
        figure = new_figure(1.2 + 2.6 * len(record.worlds), 1.2 + 1.35 * len(measures))
        axes = figure.subplots(len(measures), len(record.worlds), sharex=True, sharey="row", squeeze=False)
        for line, measure in zip(axes, measures, strict=True):
            line[0].set_ylabel(_QUALITY.get(measure, measure.replace(" ", "\n") + " ↑"))
            for axis, world in zip(line, record.worlds, strict=True):
                _draw_measure(axis, runs, measure, world)
            low, high = line[0].get_ylim()
            line[0].set_ylim(min(0.0, low), high + 0.1 * (high - min(0.0, low)))
        for axis, world in zip(axes[0], record.worlds, strict=True):
            axis.set_title(title(world))
        for axis in axes[-1]:
            stages = range(1, 1 + len(record.stages))
            axis.set_xticks(stages, [f"{i} {title(record.stages[i - 1][0])}" for i in stages], rotation=35, ha="right")
            axis.set_xlim(0.5, len(record.stages) + 0.5)
        figure.supxlabel("at the end of stage", fontsize=9)
        figure.legend(handles=_measure_legend(runs), loc="outside upper center", ncols=3)
    return figure


_LINES: tuple[dict[str, Any], ...] = (
    {"color": INK, "marker": "o"},
    {"color": GREY, "marker": "s", "linestyle": "--", "markerfacecolor": "white"},
)


def _draw_measure(axis: Axes, runs: dict[str, list[Result]], measure: str, world: str) -> None:
    """One measure of one world, from the end of its first stage on; stages tinted in the colour of their world."""
    record = next(iter(runs.values()))[0].record
    for stage, (name, _) in enumerate(record.stages, 1):
        colour = world_colour(record.worlds.index(name))
        axis.axvspan(stage - 0.5, stage + 0.5, color=tint(colour, 0.10), linewidth=0, zorder=0)
    for number, found in enumerate(runs.values()):
        points = seed_curve([_series(run, measure, world) for run in found])
        place = points.steps + 0.08 * (2 * number - 1)
        if len(place):
            axis.errorbar(place, points.mean, points.std, capsize=2, linewidth=1.2, markersize=4, **_LINES[number])
    if measure == "samples":
        floor = seed_curve([_series(run, "samples_floor", world) for run in next(iter(runs.values()))])
        axis.plot(floor.steps, floor.mean, color=INK, linestyle=":", linewidth=1.0, marker="_")
    if not axis.lines:
        axis.text(0.5, 0.5, "not defined", transform=axis.transAxes, ha="center", va="center", color=GREY, fontsize=8)


def _series(run: Result, measure: str, world: str) -> tuple[list[int], list[float]]:
    """(number of the stage, value) at the ends of stages, where there is a value."""
    rows = [row for row in run.of("measures") if row["world"] == world]
    pairs = [(row["stage"] + 1, measure_of(row, measure) if measure in MEASURES else row[measure]) for row in rows]
    kept = [(stage, value) for stage, value in pairs if value is not None]
    return [stage for stage, _ in kept], [float(value) for _, value in kept]


def _measure_legend(runs: dict[str, list[Result]]) -> list[Line2D]:
    lines = [
        Line2D([], [], label=f"{heading(name)}, {len(found)} seed{'s' * (len(found) > 1)}", **look)
        for (name, found), look in zip(runs.items(), _LINES, strict=False)
    ]
    return [*lines, Line2D([], [], color=INK, linestyle=":", label="dreams: distance between two halves of the images")]
