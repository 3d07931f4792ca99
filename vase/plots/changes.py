"""Switches of environment: example images before and after each, and what changed in words."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from vase.learners.change import EXAMPLES, Change
from vase.plots.style import INK, blank_grid, new_figure, strip, styled, world_colour

_WIDTH = 7.6  # inches
_LETTERS = 104  # of a line under the images
_GAP = 1
_LINE, _TITLE = 0.17, 0.42  # inches of one line of text, and of a title with its margins


def change_figure(changes: Sequence[Change]) -> Figure:
    """One row per change: images before, images after, and the sentence below."""
    if not changes:
        raise ValueError("no changes to draw; give at least one (`Step.change` of a step that switched)")
    sentences = [textwrap.fill(change.sentence, _LETTERS, break_on_hyphens=False) for change in changes]
    heights = [_WIDTH * _aspect(change) for change in changes]
    texts = [_TITLE + _LINE * (1 + sentence.count("\n")) for sentence in sentences]
    with styled():
        figure = new_figure(_WIDTH + 0.2, 0.1 + sum(heights) + sum(texts))
        axes = blank_grid(figure, len(changes), 1)
        for axis, change, sentence in zip(axes, changes, sentences, strict=True):
            draw_change(axis, change)
            axis.set_xlabel(sentence, loc="left", labelpad=4)
    return figure


def draw_change(axis: Axes, change: Change) -> None:
    """Images before and after side by side, each group framed in the colour of its environment."""
    side, width = _canvas(change.before), change.before.shape[3]
    height, total = side.shape[:2]
    start = total + width // 2
    axis.set_axis_on()
    groups = ((0, change.before, change.previous), (start, change.after, change.environment))
    for left, images, environment in groups:
        axis.imshow(_canvas(images), extent=(left, left + total, height, 0), aspect="equal")
        shown = len(images) * (width + _GAP) - _GAP
        colour = world_colour(environment)
        axis.add_patch(Rectangle((left, 0), shown, height, fill=False, edgecolor=colour, linewidth=2, clip_on=False))
    axis.annotate(
        "",
        (start - 0.12 * width, height / 2),
        (total + 0.12 * width, height / 2),
        arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0},
    )
    axis.spines[:].set_visible(False)
    axis.set(xticks=[], yticks=[], xlim=(0, start + total), ylim=(height, 0))
    axis.set_title(change.heading[0].upper() + change.heading[1:])


def _canvas(images: np.ndarray) -> Float[np.ndarray, "H W 3"]:
    """Images side by side, white where there are fewer than the largest number."""
    row = strip(images, _GAP)
    missing = (EXAMPLES - len(images)) * (images.shape[3] + _GAP)
    return np.pad(row, ((0, 0), (0, missing), (0, 0)), constant_values=1.0)


def _aspect(change: Change) -> float:
    """Height over width of a row of images."""
    height, width = change.before.shape[2:]
    return height / (2 * (EXAMPLES * (width + _GAP) - _GAP) + width // 2)
