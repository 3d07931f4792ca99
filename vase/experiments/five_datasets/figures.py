"""Figure 3 of the paper, and reconstructions of every class, from saved results."""

from __future__ import annotations

from matplotlib.figure import Figure

from vase.experiments.common.conditions import OURS, heading
from vase.experiments.common.figures import (
    LATENT_KEY,
    draw_latents,
    draw_stream,
    figure_data,
    pictures,
    traversal_height,
)
from vase.experiments.results import Results
from vase.plots.curves import label_steps
from vase.plots.latents import state_legend
from vase.plots.pictures import draw_rows
from vase.plots.style import new_figure, styled
from vase.worlds.spec import title


def figure3(results: Results) -> Figure:
    """Figure 3: A, traversals of five worlds at the end of training; B, accuracy along the stream."""
    first = results.first(OURS)
    data = figure_data(first)
    latents = data.order(spare=2, most=14)
    top, bottom = 1.6 + traversal_height(data, len(latents), 17.2), 4.2
    with styled():
        figure = new_figure(18, top + bottom)
        grid = figure.add_gridspec(2, 1, height_ratios=[top, bottom])
        above, below = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
        draw_latents(above.subplots(), first, data, latents, f"A  {heading(OURS)}")
        above.legend(handles=state_legend(), loc="outside lower center", ncols=3, title=LATENT_KEY)
        axes = below.subplots(2, 1, sharex=True, height_ratios=[0.8, 3])
        draw_stream(axes, results, OURS, ["accuracy"], width=14, prefix="B  ")
        label_steps(axes[-1], first.record)
    return figure


def reconstructions(results: Results) -> Figure:
    """The first held-out image of each class of every world, above its reconstruction at the end of the stream."""
    run = results.first(OURS)
    images, worlds = pictures(run), run.timeline.worlds
    with styled():
        rows = (len(worlds) + 1) // 2
        figure = new_figure(11, 1.3 * rows)
        axes = figure.subplots(rows, 2, squeeze=False).flatten()
        for axis in axes:
            axis.set_axis_off()
        for axis, world in zip(axes, worlds, strict=False):
            real, again = images[f"reconstructions-{world}"]
            draw_rows(axis, {"image": real, "reconstruction": again})
            axis.set_title(title(world), fontsize=9)
    return figure
