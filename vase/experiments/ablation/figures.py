"""Figure 2 of the paper, from saved results."""

from __future__ import annotations

from matplotlib.figure import Figure

from vase.experiments.common.conditions import BASELINE, OURS, heading
from vase.experiments.common.figures import (
    LATENT_KEY,
    draw_latents,
    draw_stream,
    figure_data,
    share_y,
    traversal_height,
)
from vase.experiments.results import Results
from vase.plots.curves import draw_atypicality, label_steps, score_metrics
from vase.plots.latents import state_legend
from vase.plots.style import new_figure, styled


def figure2(results: Results) -> Figure:
    """Figure 2: VASE beside CCI-VAE, traversals at the end above, probes and atypicality along the stream below."""
    conditions = (OURS, BASELINE)
    firsts = {condition: results.first(condition) for condition in conditions}
    data = {condition: figure_data(run) for condition, run in firsts.items()}
    latents = {condition: one.order(spare=2, most=12) for condition, one in data.items()}
    metrics = score_metrics(firsts[OURS].record)
    top = 1.6 + max(traversal_height(one, len(latents[condition]), 8.4) for condition, one in data.items())
    bottom = 1.5 + 2.0 * (1 + len(metrics))
    with styled():
        figure = new_figure(18, top + bottom)
        grid = figure.add_gridspec(2, 1, height_ratios=[top, bottom])
        above, below = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
        for axis, condition in zip(above.subplots(1, 2), conditions, strict=True):
            draw_latents(axis, firsts[condition], data[condition], latents[condition], heading(condition))
        above.legend(handles=state_legend(), loc="outside lower center", ncols=3, title=LATENT_KEY)
        heights = [0.8] + [2.0] * (1 + len(metrics))
        axes = below.subplots(2 + len(metrics), 2, sharex=True, height_ratios=heights)
        for column, condition in zip(axes.T, conditions, strict=True):
            draw_stream(column, results, condition, metrics, width=6.5)
            draw_atypicality(column[-1], firsts[condition].record)
            column[-1].set_title("Atypicality of each latent (first seed)")
            label_steps(column[-1], firsts[condition].record)
        for row in axes[1:-1]:
            share_y(row)
    return figure
