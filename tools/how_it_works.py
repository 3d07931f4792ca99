"""Draw the pictures of docs/how-it-works.md: `python tools/how_it_works.py`.

The diagram, and what the shipped model `three-worlds` dreams: no data is needed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle
from PIL import Image

from vase import VASE
from vase.training.pictures import grid

OUT = Path(__file__).parents[1] / "docs" / "pictures"
GREY, BLUE = ("#ffffff", "#777777"), ("#eef3f8", "#4a6a8a")
ORANGE, GREEN = ("#fdf1e4", "#d07a20"), ("#e9f6ee", "#3a8f5c")
LATENTS = "uusmmuuusuuss"
"""One row of latents: used, masked, spare."""


def box(axes: Axes, x: float, y: float, width: float, height: float, text: str, colours: tuple[str, str]) -> None:
    """A box; the first line of its text is the title."""
    title, *lines = text.split("\n")
    fill, edge = colours
    axes.add_patch(FancyBboxPatch((x, y), width, height, "round,pad=0,rounding_size=8", facecolor=fill, edgecolor=edge))
    axes.text(x + width / 2, y + 22, title, ha="center", va="center", fontsize=10, fontweight="bold")
    axes.text(x + width / 2, y + 34, "\n".join(lines), ha="center", va="top", fontsize=8.5, linespacing=1.4)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], bend: str = "arc3") -> None:
    """An arrow, straight or with a corner."""
    style = {"arrowstyle": "-|>", "color": "#333333", "connectionstyle": bend, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", end, start, arrowprops=style)


def diagram() -> Figure:
    """A batch on its way through the learner."""
    figure = Figure(figsize=(9.8, 4.3))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 980), ylim=(430, 0))
    axes.axis("off")
    box(axes, 20, 36, 130, 90, "batch\nimages, without the\nname of their world", GREY)
    detector = "shift detector\nfits the current environment?\nelse a known one?\nelse: a new one"
    box(axes, 220, 26, 250, 110, detector, ORANGE)
    memory = "environment memory\nfor each environment: how its images look,\nwhich latents it uses, which are masked"
    box(axes, 570, 26, 390, 110, memory, ORANGE)
    box(axes, 20, 210, 130, 66, "encoder\nq(z|x)", BLUE)
    box(axes, 220, 196, 250, 96, "latents", BLUE)
    for i, kind in enumerate(LATENTS):
        fill, hatch = ("#2a86c0" if kind == "u" else "#ffffff"), ("/////" if kind == "m" else None)
        axes.add_patch(Rectangle((236 + 17 * i, 232), 14, 18, facecolor=fill, edgecolor="#4a6a8a", hatch=hatch))
    axes.text(345, 272, "used · masked (hatched) · spare (white)", ha="center", va="center", fontsize=8.5)
    box(axes, 570, 210, 150, 66, "decoder\nof the environment", BLUE)
    box(axes, 810, 210, 150, 66, "reconstruction\nagainst the batch", GREY)
    dreams = (
        "dreams\nimages of past environments, drawn by a snapshot of the networks;\n"
        "the live networks must still encode and decode them as the snapshot did"
    )
    box(axes, 220, 340, 500, 76, dreams, GREEN)
    for start, end in (
        ((150, 81), (220, 81)),
        ((470, 81), (570, 81)),
        ((85, 126), (85, 210)),
        ((150, 243), (220, 243)),
        ((470, 243), (570, 243)),
        ((720, 243), (810, 243)),
        ((645, 136), (645, 210)),
        ((645, 340), (645, 276)),
    ):
        arrow(axes, start, end)
    arrow(axes, (220, 378), (85, 276), "angle,angleA=0,angleB=90,rad=8")
    arrow(axes, (600, 136), (430, 196))
    axes.text(520, 72, "environment", ha="center", fontsize=8.5, color="#555555")
    axes.text(490, 160, "mask", ha="center", fontsize=8.5, color="#555555")
    return figure


def rows_of_images(images: np.ndarray) -> Image.Image:
    """Images (rows, columns, C, H, W) in [0, 1] as a picture, every pixel twice."""
    picture = Image.fromarray(grid((255 * images).astype(np.uint8))).convert("L")
    return picture.resize((2 * picture.width, 2 * picture.height), Image.Resampling.NEAREST)


def main(out: Path = OUT) -> None:
    """Draw all pictures."""
    out.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context({"font.family": "DejaVu Sans"}):
        diagram().savefig(out / "learner.png", dpi=150)
    model = VASE.from_pretrained("three-worlds", device="cpu")
    codes = np.random.default_rng(0).standard_normal((12, model.n_latents)).astype(np.float32)
    kinds = range(len(model.environments))
    rows_of_images(np.stack([model.dream(12, environment=s, seed=0) for s in kinds])).save(out / "dreams.png")
    rows_of_images(np.stack([model.decode(codes, environment=s) for s in kinds])).save(out / "same-code.png")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
