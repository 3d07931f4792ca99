"""Figure 4C from saved results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from vase.experiments.common.figures import pictures
from vase.experiments.common.seed_curves import draw_band, seed_curve
from vase.experiments.imagination.analysis import IMAGINATION, PASSIVE, looks_ahead, ordered
from vase.experiments.results import Result, Results
from vase.plots.curves import label_steps, shade
from vase.plots.pictures import draw_rows
from vase.plots.style import GREY, INK, LATENT_COLOURS, new_figure, styled
from vase.rows import Row
from vase.worlds.spec import title

_COLOURS = {IMAGINATION: INK, PASSIVE: GREY}


def figure4c(results: Results) -> Figure:
    """Accuracy on moving MNIST through training, of all conditions with results, and what is imagined."""
    panels = _panels({name: results.first(name) for name in _shown(results)})
    with styled():
        heights = [3.6, 0.5 + 0.55 * max(map(len, panels.values()))]
        figure = new_figure(13, sum(heights))
        grid = figure.add_gridspec(2, 1, height_ratios=heights)
        above, below = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
        left, right = above.subplots(1, 2, width_ratios=[1, 1.35])
        _draw_look_ahead(left, results)
        _draw_probe(right, results)
        for axis in (left, right):
            axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f}"))
            axis.set_ylim(bottom=0)
        left.set_ylabel("accuracy on moving MNIST (%)")
        for axis, (name, rows) in zip(
            np.ravel(below.subplots(1, len(panels), squeeze=False)), panels.items(), strict=True
        ):
            draw_rows(axis, rows)
            axis.set_title(name)
            axis.set_anchor("NW")
    return figure


def _shown(results: Results) -> list[str]:
    """Conditions with pictures: imagination and passive, and others whose first seed is finished."""
    done = [c.name for c, runs in results.finished if c.shown and runs[0].seed == c.seeds[0]]
    return [*_COLOURS, *(name for name in done if name not in _COLOURS)]


def _colours(results: Results) -> dict[str, str]:
    """Colour of each condition that has results; that of others than passive and imagination depends on its name."""
    others = [c.name for c in results.experiment.conditions if c.name not in _COLOURS]
    found = {name: LATENT_COLOURS[number % len(LATENT_COLOURS)] for number, name in enumerate(others)} | _COLOURS
    finished = ordered(results)
    return {name: found[name] for name in (*_COLOURS, *finished) if name in finished}


def _draw_look_ahead(axis: Axes, results: Results) -> None:
    """Measure (ii): during the static stage, from what was met (bold) and from the world to come (dotted)."""
    record = results.first(IMAGINATION).record
    shade(axis, record)
    handles = []
    for condition, colour in _colours(results).items():
        runs = [run for run in results.of(condition) if looks_ahead(run)]
        if not runs:
            continue
        now, then = ([_series(looks_ahead(run), name) for run in runs] for name in ("accuracy", "ceiling"))
        _draw_curve(axis, now, color=colour, linewidth=2.2)
        _draw_curve(axis, then, color=colour, linewidth=1.1, linestyle=":")
        text = f"{condition}, {len(runs)} seed{'s' * (len(runs) != 1)}"
        handles.append(Line2D([], [], color=colour, linewidth=2.2, label=text))
    handles.append(Line2D([], [], color=INK, linewidth=1.1, linestyle=":", label="trained on real moving MNIST"))
    label_steps(axis, record)
    axis.set_xlim(record.visits[1].start, record.visits[1].end)
    axis.set_title(f"A  Classifier trained on what was met in {title(record.stages[1][0])}")
    axis.legend(handles=handles, loc="best")


def _draw_probe(axis: Axes, results: Results) -> None:
    """Measure (i): the appendix's probe of the moving digits along the whole stream."""
    record = results.first(IMAGINATION).record
    shade(axis, record)
    world = record.stages[2][0]
    for condition, colour in _colours(results).items():
        scores = [run.record.scores("accuracy") for run in results.of(condition)]
        _draw_curve(axis, [one[world] for one in scores if world in one], color=colour, linewidth=1.6)
    label_steps(axis, record)
    axis.set_title(f"B  The appendix's probe, trained on {title(world)}")
    for span in record.visits:
        where = ((span.start + span.end) / 2, 0.02)
        axis.text(*where, title(span.name), ha="center", va="bottom", fontsize=8, transform=axis.get_xaxis_transform())


def _series(rows: Sequence[Row], name: str) -> tuple[list[int], list[float]]:
    return [row["step"] for row in rows], [row[name] for row in rows]


def _draw_curve(axis: Axes, series: Sequence[tuple[Any, Any]], *, color: str, **look: Any) -> None:
    """Mean over seeds, with one standard deviation around it."""
    found = seed_curve(series)
    draw_band(axis, found, color)
    axis.plot(found.steps, found.mean, color=color, zorder=3, **look)


def _panels(firsts: Mapping[str, Result]) -> dict[str, dict[str, np.ndarray]]:
    """Panels of rows of pictures: what was imagined, and what is made of digits that really move."""
    met, unmet = (span.name for span in firsts[PASSIVE].timeline.spans[1:3])
    found = {condition: pictures(run) for condition, run in firsts.items()}
    return {
        "C  Imagination at the end of the static stage": {
            "digit": found[IMAGINATION][f"{met}: met"],
            "imagined: its z, moved to z*": found[IMAGINATION][f"{met}: imagined"],
            "what the action makes of it": found[IMAGINATION][f"{met}: acted"],
        },
        f"D  {title(unmet)}, before any of it is met": {
            "held-out image": found[PASSIVE][f"{met}: {unmet}"],
            **{
                f"reconstructed, {condition}": images[f"{met}: {unmet} reconstructed"]
                for condition, images in found.items()
            },
        },
    }
