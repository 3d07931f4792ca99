"""A run on one page: stages, atypicality, probes, latent use, and a position latent in every world."""

from __future__ import annotations

from matplotlib.figure import Figure, SubFigure

from vase.learners.protocol import Decodes, InfersEnvironments, Learner
from vase.metrics.latents import axis_names, learner_states
from vase.metrics.record import Record
from vase.plots.curves import draw_atypicality, draw_scores, draw_stages, label_steps, score_metrics
from vase.plots.latents import draw_latent_use, state_legend
from vase.plots.pictures import DecodingLearner, Images, draw_traversals, order_latents, traversal_of
from vase.plots.style import blank_grid, new_figure, styled, world_colour
from vase.worlds.spec import title

_SHOWN = 6  # environments whose traversals fit on the page


def overview(learner: Learner, record: Record, images_by_environment: Images) -> Figure:
    """The README's figure: left, what happened through training; right, what was learnt."""
    with styled():
        figure = new_figure(16, 9)
        grid = figure.add_gridspec(1, 2, width_ratios=[1.35, 1])
        left, right = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
        _draw_training(left, record)
        states = learner_states(learner)
        parts = right.add_gridspec(2, 1, height_ratios=[1.3 + 0.35 * len(states), 6.4])
        if isinstance(learner, InfersEnvironments):
            top = right.add_subfigure(parts[0])
            labels, when = environment_labels(record), record.moment(learner.steps)
            draw_latent_use(top.subplots(), states, labels, environment_colours(record), when)
            top.legend(handles=state_legend(), loc="outside lower center", ncols=3)
        known = {s: images for s, images in sorted(images_by_environment.items())[:_SHOWN] if s < len(states)}
        if isinstance(learner, Decodes) and known:
            _draw_traversals(right.add_subfigure(parts[1]), learner, record, known, every=len(known) == len(states))
    return figure


def environment_labels(record: Record) -> dict[int, str]:
    """Each environment by the world it stood for."""
    return {s: title(world) for s, world in record.world_of.items()}


def environment_colours(record: Record) -> dict[int, str]:
    """Each environment in the colour of the world it stood for."""
    return {s: world_colour(record.worlds.index(world)) for s, world in record.world_of.items()}


def axis_labels(record: Record) -> dict[int, str]:
    """The position latents by their axis, as they were measured last."""
    return axis_names(record.position_row["position"]) if record.position_row else {}


def _draw_training(figure: SubFigure, record: Record) -> None:
    metrics = score_metrics(record)
    panel = 6.4 / (1 + len(metrics))
    axes = figure.subplots(2 + len(metrics), 1, sharex=True, height_ratios=[0.75] + [panel] * (1 + len(metrics)))
    draw_stages(axes[0], record, 6.3)
    draw_atypicality(axes[1], record)
    for axis, metric in zip(axes[2:], metrics, strict=True):
        draw_scores(axis, record, metric)
    label_steps(axes[-1], record)


def _draw_traversals(
    figure: SubFigure, learner: DecodingLearner, record: Record, images_by_environment: Images, *, every: bool
) -> None:
    """The position latents if there are any, else the two that are shared most, in each environment."""
    names, colours, labels = axis_labels(record), environment_colours(record), environment_labels(record)
    what = "The two most shared latents"
    if names and record.position_row:
        what = f"Position latents {record.moment(record.position_row['step'])}"
    latents = sorted(names, key=lambda n: names[n]) or order_latents(learner, images_by_environment)[:2]
    where = "every environment" if every else f"{len(images_by_environment)} environments"
    figure.suptitle(f"{what}, traversed in {where}", x=0.01, ha="left", weight="bold", size=10)
    columns = 1 if len(images_by_environment) <= 3 else 2
    axes = blank_grid(figure, len(images_by_environment), columns, least=3)
    for axis, (s, images) in zip(axes, images_by_environment.items(), strict=False):
        block = traversal_of(learner, s, images[:1], latents, colours.get(s))
        draw_traversals(axis, [block], header=False, names=names)
        axis.set_title(f"{s}  {labels.get(s, 'environment')}", weight="normal", size=9)
        axis.set_anchor("N")
