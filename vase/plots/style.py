"""One look for all figures: colour-blind-safe colours, small helpers for images, saving. No global state is changed."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure, SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from vase.files import Guard, replacing, unguarded

WORLD_COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"),  # Okabe and Ito
    *("#332288", "#882255", "#999933", "#44AA99", "#661100", "#6699CC"),  # Tol, muted
)
LATENT_COLOURS = ("#332288", "#CC6677", "#117733", "#AA4499", "#88CCEE", "#882255", "#999933", "#44AA99")
INK, GREY, PALE, EMPTY = "#222222", "#8C8C8C", "#DDDDDD", "#F4F4F4"

_RC: dict[Any, Any] = {
    **dict.fromkeys(("font.size", "axes.labelsize"), 9),
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), 8),
    **dict.fromkeys(("axes.labelcolor", "xtick.color", "ytick.color", "text.color"), INK),
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.edgecolor": GREY,
    "hatch.linewidth": 0.6,
    "image.interpolation": "nearest",
}


@contextmanager
def styled() -> Iterator[None]:
    """Draw inside with our settings; matplotlib's own are back afterwards."""
    with mpl.rc_context(_RC):
        yield


class NotebookFigure(Figure):
    """A figure that a notebook shows when a cell returns it, without pyplot."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        with styled():
            self.savefig(file, dpi=100, format="png")
        return file.getvalue()


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches, that keeps its parts from overlapping."""
    layout = ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.06)
    return NotebookFigure(figsize=(width, height), layout=layout, facecolor="white")


def blank_grid(figure: Figure | SubFigure, count: int, columns: int, least: int = 1) -> list[Axes]:
    """Room for `count` pictures, line by line, in at least `least` lines; axes are invisible until drawn on."""
    axes = figure.subplots(max(least, -(-count // columns)), columns, squeeze=False).flatten().tolist()
    for axis in axes:
        axis.set_axis_off()
    return axes


def save(figure: Figure, path: Path, dpi: int = 150, guard: Guard = unguarded) -> Path:
    """Write a PNG, replacing an older one in a single move."""
    with styled(), replacing(path, guard) as file:
        figure.savefig(file, dpi=dpi, format="png", metadata={"Software": None})
    return path


def world_colour(index: int) -> str:
    """Colour of the world (or environment) with this number."""
    return WORLD_COLOURS[index % len(WORLD_COLOURS)]


def tint(colour: str, strength: float) -> tuple[float, float, float]:
    """A colour mixed with white: strength 1 is the colour, 0 is white."""
    red, green, blue = (1 - strength * (1 - channel) for channel in to_rgb(colour))
    return red, green, blue


def rgb(images: np.ndarray) -> Float[np.ndarray, "... H W 3"]:
    """(..., C, H, W) images, uint8 or in [0, 1], as RGB for matplotlib."""
    array = np.asarray(images)
    array = array.astype(np.float64) / 255 if array.dtype == np.uint8 else array.astype(np.float64)
    array = np.moveaxis(np.clip(array, 0, 1), -3, -1)
    return np.repeat(array, 3, axis=-1) if array.shape[-1] == 1 else array[..., :3]


def faded(image: Float[np.ndarray, "H W 3"]) -> Float[np.ndarray, "H W 3"]:
    """An image that nobody takes for a bright or a dark one: flat, colourless and in the middle of the greys."""
    grey = image @ np.array([0.299, 0.587, 0.114])
    return np.repeat(0.75 + 0.15 * (grey[..., None] - 0.5), 3, axis=-1)


def strip(images: np.ndarray, gap: int = 1) -> Float[np.ndarray, "H W 3"]:
    """(n, C, H, W) images side by side, with white gaps."""
    tiles = np.pad(rgb(images), ((0, 0), (0, 0), (0, gap), (0, 0)), constant_values=1.0)
    return np.concatenate(tiles, axis=1)[:, : -gap or None]
