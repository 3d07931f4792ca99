"""Images by a learner: traversals (the paper's Figure 2, top), reconstructions and dreams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from vase.learners.protocol import Decodes, Dreams, Learner
from vase.metrics.latents import State, learner_states
from vase.plots.latents import heading, state_box, state_legend
from vase.plots.style import GREY, INK, blank_grid, faded, new_figure, rgb, strip, styled, world_colour

Images = Mapping[int, np.ndarray]  # environment -> images of it, (n, C, H, W)

_PER_LINE = 4  # environments side by side, at most
_COLUMN = 2.8  # inches of one environment's strips
_GAP = 1
SPAN = 2.0  # each latent is traversed from -SPAN to SPAN


class DecodingLearner(Learner, Decodes, Protocol):
    """A learner with a decoder. One without environments is asked for environment 0."""


@dataclass(frozen=True, eq=False)
class Traversal:
    """Traversals of some latents from one seed image, in one environment."""

    heading: str
    colour: str  # of the environment
    latents: tuple[int, ...]
    states: Int[np.ndarray, " L"]  # `State` of these latents in the environment
    seed: np.ndarray  # (C, H, W)
    reconstruction: np.ndarray
    frames: np.ndarray  # (L, P, C, H, W): each latent from -span to span


def traversals(
    learner: DecodingLearner,
    images_by_environment: Images,
    labels: Mapping[int, str] | None = None,
    *,
    spare: int = 2,
    colours: Mapping[int, str] | None = None,
    names: Mapping[int, str] | None = None,
) -> Figure:
    """Each latent moved from -SPAN to SPAN, the others as encoded; one column of traversals per environment.

    Rows are latents that some environment uses, most shared and most effective first, and `spare` others; at most 16.
    """
    environments = _chosen(images_by_environment)
    latents = order_latents(learner, images_by_environment, spare)
    blocks = [
        traversal_of(learner, s, images_by_environment[s][:1], latents, (colours or {}).get(s), heading(s, labels))
        for s in environments
    ]
    return traversal_page(blocks, names=names)


def traversal_page(
    blocks: Sequence[Traversal],
    *,
    span: float = SPAN,
    column: float = _COLUMN,
    title: str | None = None,
    names: Mapping[int, str] | None = None,
) -> Figure:
    """A page of traversals of the same latents; `column` is the width of one in inches, `names` say what they mean."""
    columns = 3 if len(blocks) in (5, 6) else min(len(blocks), _PER_LINE)
    lines = -(-len(blocks) // columns)
    rows, points = blocks[0].frames.shape[:2]
    with styled():
        height = (rows + 1) * column / points * 1.09
        figure = new_figure(0.1 + columns * (column + 0.65), 0.45 + lines * (height + 0.62) + 0.3 * bool(title))
        for axis, block in zip(blank_grid(figure, len(blocks), columns), blocks, strict=False):
            draw_traversals(axis, [block], span=span, names=names)
            axis.set_title(block.heading)
        figure.legend(handles=state_legend(), loc="outside lower center", ncols=3)
        if title:
            figure.suptitle(title, x=0.01, ha="left", weight="bold")
    return figure


def traverse(
    learner: DecodingLearner, images: np.ndarray, latents: Sequence[int], environment: int, points: int = 9
) -> Float[np.ndarray, "B L P C H W"]:
    """Images decoded while one latent at a time moves from -SPAN to SPAN, the others as encoded."""
    z = np.tile(np.asarray(learner.posterior(images)[0], np.float32)[:, None, None], (1, len(latents), points, 1))
    for i, latent in enumerate(latents):
        z[:, i, :, latent] = np.linspace(-SPAN, SPAN, points)
    frames = np.asarray(learner.decode(z.reshape(-1, z.shape[-1]), environment=environment))
    return frames.reshape(*z.shape[:3], *frames.shape[1:])


def order_latents(learner: DecodingLearner, images_by_environment: Images, spare: int = 2, most: int = 16) -> list[int]:
    """Used latents, shared ones first and then by what they change in the image, and a few unused ones."""
    every = range(learner.n_latents)
    ends = [traverse(learner, images[:4], every, s, points=2) for s, images in images_by_environment.items()]
    change = [np.abs(pair[:, :, 1] - pair[:, :, 0]).mean(axis=(0, 2, 3, 4)) for pair in ends]
    return rank_latents(learner_states(learner), np.sum(change, axis=0), spare, most)


def rank_latents(
    states: Int[np.ndarray, "E N"], change: Float[np.ndarray, " N"], spare: int = 2, most: int = 16
) -> list[int]:
    """Used latents, shared ones first and then by their `change` of the image, and a few unused ones."""
    used = (states == State.USED).sum(axis=0)
    order = sorted(range(len(used)), key=lambda n: (-used[n], -change[n]))
    return order[: min(int(np.count_nonzero(used)) + spare, most)]


def traversal_of(
    learner: DecodingLearner,
    environment: int,
    seed: np.ndarray,
    latents: Sequence[int],
    colour: str | None = None,
    heading: str = "",
) -> Traversal:
    """Traversals of one seed image, (1, C, H, W), by a learner."""
    return Traversal(
        heading=heading,
        colour=colour or world_colour(environment),
        latents=tuple(latents),
        states=learner_states(learner)[environment][list(latents)],
        seed=np.asarray(seed)[0],
        reconstruction=np.asarray(learner.reconstruct(seed, environment=environment))[0],
        frames=traverse(learner, seed, latents, environment)[0],
    )


def draw_traversals(
    axis: Axes,
    blocks: Sequence[Traversal],
    *,
    header: bool = True,
    span: float = SPAN,
    before: Sequence[tuple[Int[np.ndarray, " L"], str]] = (),
    names: Mapping[int, str] | None = None,
) -> list[float]:
    """Traversals of the same latents side by side, one strip per latent, marked as used, unused or masked.

    `before` puts more marks on the left, a column per (states, colour); `names` say what a latent means. Returns where
    columns begin on the x axis, in pixels: first these, then the blocks.
    """
    latents, (points, _, height, width) = blocks[0].latents, blocks[0].frames.shape[1:]
    pitch, total = height + 3 * _GAP, points * (width + _GAP) - _GAP
    lefts = [i * (total + 0.5 * width) for i in range(len(blocks))]
    columns = [-0.4 * width - 0.36 * width * (len(before) - i) for i in range(len(before))]
    rows = len(latents) + header
    axis.set_axis_on()
    for left, block in zip(lefts, blocks, strict=True):
        extent = (left, left + total, rows * pitch, 0)
        axis.imshow(_canvas(block, header), extent=extent, aspect="equal")
        for row in np.flatnonzero(block.states == State.MASKED).tolist():
            corner = (left, (row + header) * pitch)
            axis.add_patch(Rectangle(corner, total, height, fill=False, edgecolor=GREY, linewidth=0, hatch="////"))
    marks = [(left - 0.24 * width, 0.15 * width, b.states, b.colour) for left, b in zip(lefts, blocks, strict=True)]
    marks += [(left, 0.3 * width, *column) for left, column in zip(columns, before, strict=True)]
    for left, thick, states, colour in marks:
        for i, state in enumerate(states):
            axis.add_patch(state_box(State(state), (left, (i + header) * pitch), thick, height, colour))
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0, pad=9)
    middles = [i * pitch + height / 2 for i in range(rows)]
    labels = [f"{(names or {}).get(n, '')}  z{n}".strip() for n in latents]
    axis.set_yticks(middles, ["seed", *labels] if header else labels)
    used = np.any([block.states == State.USED for block in blocks], axis=0)
    for text, bold in zip(axis.get_yticklabels()[header:], used, strict=True):
        text.set(color=INK if bold else GREY, fontweight="bold" if bold else "normal")
    ends = [left + place for left in lefts for place in (width / 2, total / 2, total - width / 2)]
    axis.set_xticks(ends, [f"−{span:g}", "0", f"{span:g}"] * len(lefts))
    axis.set_xlim(min([-0.3 * width, *columns]), lefts[-1] + total)
    axis.set_ylim(rows * pitch, 0)
    return [*columns, *lefts]


def _canvas(block: Traversal, header: bool) -> Float[np.ndarray, "H W 3"]:
    """The strips of a traversal below each other, masked ones grey; on top the seed and its reconstruction."""
    rows = [strip(frames, _GAP) for frames in block.frames]
    rows = [faded(row) if state == State.MASKED else row for row, state in zip(rows, block.states, strict=True)]
    height, total = rows[0].shape[:2]
    if header:
        pair = strip(np.moveaxis(np.stack([rgb(block.seed), rgb(block.reconstruction)]), -1, -3), _GAP)
        rows.insert(0, np.ones((height, total, 3)))
        rows[0][:, : pair.shape[1]] = pair
    return _stacked(rows)


def _stacked(rows: Sequence[np.ndarray]) -> Float[np.ndarray, "H W 3"]:
    """Strips of one size below each other."""
    return np.concatenate([np.pad(row, ((0, 3 * _GAP), (0, 0), (0, 0)), constant_values=1.0) for row in rows])


def reconstructions(
    learner: DecodingLearner, images_by_environment: Images, labels: Mapping[int, str] | None = None, *, n: int = 8
) -> Figure:
    """Per environment: images, their reconstructions, and dreams of it from nothing but the prior."""
    environments = _chosen(images_by_environment)
    columns = 3 if len(environments) in (3, 5, 6) else min(len(environments), 2)
    lines = -(-len(environments) // columns)
    with styled():
        figure = new_figure(0.1 + columns * (3.4 + 1.05), 0.1 + lines * (3 * 3.4 / n * 1.09 + 0.40))
        for axis, environment in zip(blank_grid(figure, len(environments), columns), environments, strict=False):
            images = images_by_environment[environment][:n]
            rows = {"image": images, "reconstruction": learner.reconstruct(images, environment=environment)}
            if isinstance(learner, Dreams):
                rows["dream"] = learner.dream(len(images), environment=environment, seed=0)
            draw_rows(axis, rows)
            axis.set_title(heading(environment, labels))
    return figure


def draw_rows(axis: Axes, rows: Mapping[str, np.ndarray]) -> None:
    """Images below each other, (n, C, H, W) per row, with the names of the rows."""
    canvas = _stacked([strip(row, _GAP) for row in rows.values()])
    height, width = canvas.shape[:2]
    pitch = height // len(rows)
    axis.set_axis_on()
    axis.imshow(canvas, extent=(0, width, height, 0), aspect="equal")
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    axis.set_xticks([])
    axis.set_yticks([i * pitch + (pitch - 3 * _GAP) / 2 for i in range(len(rows))], list(rows))


def _chosen(images_by_environment: Images) -> list[int]:
    if not images_by_environment:
        raise ValueError("no images to draw; give environment -> images, at least one environment")
    return sorted(images_by_environment)
