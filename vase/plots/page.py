"""A run on one page: stages, atypicality, probes, latent use, and a position latent in every world."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure, SubFigure

from vase.metrics.record import Record, title
from vase.plots.curves import draw_atypicality, draw_scores, draw_stages, label_steps, score_metrics
from vase.plots.latents import draw_latent_use, state_legend
from vase.plots.pictures import Images, draw_traversals, order_latents, position_latents, traversal_of
from vase.plots.style import new_figure, styled, world_colour

if TYPE_CHECKING:
    from vase.learners.vase import VASE

_SHOWN = 6


def overview(model: VASE, record: Record, images_by_environment: Images) -> Figure:
    """The README's figure: left, what happened through training; right, what was learnt."""
    with styled():
        figure = new_figure(16, 9)
        grid = figure.add_gridspec(1, 2, width_ratios=[1.35, 1])
        left, right = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
        _draw_training(left, record)
        _draw_result(right, model, record, images_by_environment)
    return figure


def environment_colours(record: Record) -> dict[int, str]:
    """Each environment in the colour of the world it stood for."""
    return {s: world_colour(record.worlds.index(world)) for s, world in record.world_of.items()}


def _draw_training(figure: SubFigure, record: Record) -> None:
    metrics = score_metrics(record)
    panel = 6.4 / (1 + len(metrics))
    axes = figure.subplots(2 + len(metrics), 1, sharex=True, height_ratios=[0.75] + [panel] * (1 + len(metrics)))
    draw_stages(axes[0], record, 6.3)
    draw_atypicality(axes[1], record)
    for axis, metric in zip(axes[2:], metrics, strict=True):
        draw_scores(axis, record, metric)
    label_steps(axes[-1], record)


def _draw_result(figure: SubFigure, model: VASE, record: Record, images_by_environment: Images) -> None:
    colours = environment_colours(record)
    names = {s: title(world) for s, world in record.world_of.items()}
    environments = [s for s in sorted(images_by_environment) if s < len(model.environments)][:_SHOWN]
    parts = figure.add_gridspec(2, 1, height_ratios=[1.3 + 0.35 * len(model.environments), 6.4])
    top, bottom = figure.add_subfigure(parts[0]), figure.add_subfigure(parts[1])
    draw_latent_use(top.subplots(), model, names, colours)
    top.legend(handles=state_legend(), loc="outside lower center", ncols=3)
    if not environments:
        return
    latents, what = _telling_latents(model, record, {s: images_by_environment[s] for s in environments})
    columns = 1 if len(environments) <= 3 else 2
    axes = bottom.subplots(max(3, -(-len(environments) // columns)), columns, squeeze=False)
    where = "every environment" if len(environments) == len(model.environments) else f"{len(environments)} environments"
    bottom.suptitle(f"{what}, traversed in {where}", x=0.01, ha="left", weight="bold", size=10)
    for axis in axes.flat:
        axis.set_axis_off()
    for axis, s in zip(axes.flat, environments, strict=False):
        seed = images_by_environment[s][:1]
        draw_traversals(axis, [traversal_of(model, s, seed, latents, colour=colours.get(s))], header=False)
        axis.set_title(f"{s}  {names.get(s, 'environment')}", weight="normal", size=9)
        axis.set_anchor("N")


def _telling_latents(model: VASE, record: Record, images_by_environment: Images) -> tuple[list[int], str]:
    """The position latents if some world moves, else the two that are shared most; and what they are."""
    moving = [s for s in images_by_environment if record.world_of.get(s, "").startswith("moving")]
    if moving:
        return list(position_latents(model, images_by_environment[moving[0]], moving[0])), "The latents of position"
    return order_latents(model, images_by_environment)[:2], "The two most shared latents"
