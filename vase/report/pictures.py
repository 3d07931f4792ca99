"""Pictures out of a learner: traversals (the paper's Figure 2, top), reconstructions and dreams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vase.report.latents import State, latent_states, state_box, state_legend
from vase.report.style import GREY, INK, new_figure, rgb, strip, styled, world_colour

if TYPE_CHECKING:
    from vase.learner import VASE

Images = Mapping[int, np.ndarray]
"""Environment -> images of it, (n, C, H, W)."""

_PER_LINE = 4
"""Environments side by side."""
_COLUMN = 2.8
"""Inches of one environment's strips."""
_GAP = 1


def traversals(
    model: VASE,
    images_by_environment: Images,
    labels: Mapping[int, str] | None = None,
    *,
    spare: int = 2,
    span: float = 2.0,
    points: int = 9,
    colours: Mapping[int, str] | None = None,
) -> Figure:
    """Each latent moved from -span to span, the others as encoded; one column of traversals per environment.

    Rows are latents that some environment uses, most shared and most effective first, and `spare` others; at most 16.
    """
    environments = _chosen(images_by_environment)
    latents = order_latents(model, images_by_environment, spare)
    columns = min(len(environments), _PER_LINE)
    lines = -(-len(environments) // columns)
    with styled():
        height = (len(latents) + 1) * _COLUMN / points * 1.09
        figure = new_figure(0.1 + columns * (_COLUMN + 0.65), 0.45 + lines * (height + 0.62))
        grid = figure.subplots(lines, columns, squeeze=False)
        for axis in grid.flat:
            axis.set_axis_off()
        for axis, environment in zip(grid.flat, environments, strict=False):
            seed = images_by_environment[environment][:1]
            colour = (colours or {}).get(environment)
            draw_traversals(axis, model, environment, seed, latents, span=span, points=points, colour=colour)
            axis.set_title(_heading(environment, labels))
        figure.legend(handles=state_legend(), loc="outside lower center", ncols=3)
    return figure


def order_latents(model: VASE, images_by_environment: Images, spare: int = 2, most: int = 16) -> list[int]:
    """Used latents, shared ones first and then by what they change in the image, and a few unused ones."""
    used = (latent_states(model) == State.USED).sum(axis=0)
    change = np.sum([_change(model, s, images) for s, images in images_by_environment.items()], axis=0)
    order = sorted(range(model.n_latents), key=lambda n: (-used[n], -change[n]))
    count = int((used > 0).sum())
    return order[: min(count + spare, most)]


def _change(model: VASE, environment: int, images: np.ndarray) -> Float[np.ndarray, " N"]:
    """Mean change of a pixel between the two ends of each latent's traversal."""
    frames = np.asarray(model.traverse(images[:4], points=2, environment=environment))
    return np.abs(frames[:, :, 1] - frames[:, :, 0]).mean(axis=(0, 2, 3, 4))


def draw_traversals(
    axis: Axes,
    model: VASE,
    environment: int,
    seed: np.ndarray,
    latents: list[int],
    *,
    span: float = 2.0,
    points: int = 9,
    header: bool = True,
    colour: str | None = None,
) -> None:
    """Traversals of one seed image on given axes, one strip per latent, marked as used, unused or masked."""
    colour = colour or world_colour(environment)
    states = latent_states(model)[environment]
    frames = np.asarray(model.traverse(seed, latents=latents, span=span, points=points, environment=environment))[0]
    height, width = frames.shape[-2:]
    pitch, total = height + 3 * _GAP, points * (width + _GAP) - _GAP
    rows = [strip(frame, _GAP) for frame in frames]
    if header:
        pair = np.stack([rgb(seed)[0], rgb(np.asarray(model.reconstruct(seed, environment=environment)))[0]])
        rows.insert(0, np.ones((height, total, 3)))
        rows[0][:, : 2 * width + _GAP] = strip(np.moveaxis(pair, -1, -3), _GAP)
    canvas = np.ones((len(rows) * pitch, total, 3))
    for i, row in enumerate(rows):
        faded = i >= header and states[latents[i - header]] == State.MASKED
        canvas[i * pitch : i * pitch + height] = 0.3 * row + 0.7 if faded else row
    axis.set_axis_on()
    axis.imshow(canvas, extent=(0, total, len(rows) * pitch, 0), aspect="equal")
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0, pad=9)
    for i, latent in enumerate(latents):
        top = (i + header) * pitch
        axis.add_patch(state_box(State(states[latent]), (-0.24 * width, top), 0.15 * width, height, colour))
    middles = [i * pitch + height / 2 for i in range(len(rows))]
    axis.set_yticks(middles, (["seed"] if header else []) + [f"z{n}" for n in latents])
    for text, latent in zip(axis.get_yticklabels()[header:], latents, strict=True):
        used = states[latent] == State.USED
        text.set(color=INK if used else GREY, fontweight="bold" if used else "normal")
    ends = (width / 2, total / 2, total - width / 2)
    axis.set_xticks(ends, [f"−{span:g}", "0", f"{span:g}"])
    axis.set_xlim(-0.3 * width, total)


def reconstructions(
    model: VASE,
    images_by_environment: Images,
    labels: Mapping[int, str] | None = None,
    *,
    n: int = 8,
) -> Figure:
    """Per environment: images, their reconstructions, and dreams of it from nothing but the prior."""
    environments = _chosen(images_by_environment)
    columns = 3 if len(environments) in (3, 5, 6) else min(len(environments), 2)
    lines = -(-len(environments) // columns)
    with styled():
        figure = new_figure(0.1 + columns * (3.4 + 1.05), 0.1 + lines * (3 * 3.4 / n * 1.09 + 0.40))
        grid = figure.subplots(lines, columns, squeeze=False)
        for axis in grid.flat:
            axis.set_axis_off()
        for axis, environment in zip(grid.flat, environments, strict=False):
            images = images_by_environment[environment][:n]
            rows = {
                "image": images,
                "reconstruction": model.reconstruct(images, environment=environment),
                "dream": model.dream(len(images), environment=environment, seed=0),
            }
            _draw_rows(axis, {name: np.asarray(row) for name, row in rows.items()})
            axis.set_title(_heading(environment, labels))
    return figure


def _draw_rows(axis: Axes, rows: Mapping[str, np.ndarray]) -> None:
    strips = [strip(row, _GAP) for row in rows.values()]
    height, width = strips[0].shape[:2]
    pitch = height + 3 * _GAP
    canvas = np.ones((len(strips) * pitch, width, 3))
    for i, row in enumerate(strips):
        canvas[i * pitch : i * pitch + height] = row
    axis.set_axis_on()
    axis.imshow(canvas, extent=(0, width, len(strips) * pitch, 0), aspect="equal")
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    axis.set_xticks([])
    axis.set_yticks([i * pitch + height / 2 for i in range(len(strips))], list(rows))


def position_latents(model: VASE, images: np.ndarray, environment: int, points: int = 5) -> tuple[int, int]:
    """The two latents that move the object farthest, by the centre of what is drawn; the more sideways one first.

    The axes need not be horizontal and vertical: any two directions span the plane.
    """
    frames = rgb(np.asarray(model.traverse(images[:8], points=points, environment=environment))).mean(axis=-1)
    background = np.median(frames, axis=(-2, -1), keepdims=True)
    weight = np.abs(frames - background) + 1e-9
    rows, columns = np.arange(frames.shape[-2])[:, None], np.arange(frames.shape[-1])
    mass = weight.sum(axis=(-2, -1))
    x, y = ((weight * place).sum(axis=(-2, -1)) / mass for place in (columns, rows))
    sideways, vertical = (np.abs((place[:, :, -1] - place[:, :, 0]).mean(axis=0)) for place in (x, y))
    a, b = np.argsort(-np.hypot(sideways, vertical), kind="stable")[:2]
    first, second = sorted((int(a), int(b)), key=lambda n: vertical[n] - sideways[n])
    return first, second


def _heading(environment: int, labels: Mapping[int, str] | None) -> str:
    name = (labels or {}).get(environment)
    return f"{environment}  {name}" if name else f"environment {environment}"


def _chosen(images_by_environment: Images) -> list[int]:
    if not images_by_environment:
        raise ValueError("no images to draw; give environment -> images, at least one environment")
    return sorted(images_by_environment)
