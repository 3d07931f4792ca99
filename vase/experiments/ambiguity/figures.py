"""Figure 4A from saved results: mixtures, their posteriors and reconstructions, and the effect of context."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

from vase.experiments.ambiguity.analysis import boundaries, crossing, curves
from vase.experiments.ambiguity.doubt import NAMES, SIGMAS, curve
from vase.experiments.common.figures import pictures
from vase.experiments.results import Results
from vase.plots.pictures import draw_rows
from vase.plots.style import GREY, INK, new_figure, strip, styled, tint, world_colour
from vase.worlds.spec import WorldSpec

FIRST, SECOND, BOTH = world_colour(0), world_colour(1), GREY
"""Latents that only the first world uses (blue), only the second one (red), and both."""
COLUMNS = 6
"""Latents side by side."""
BLOCKS = 4
"""Pairs whose reconstructions are shown."""
WIDTH = 11.0


def figure4a(results: Results) -> Figure:
    """Figure 4A: mixtures with their posteriors, reconstructions under either world, and maps of q(s = first)."""
    run = results.first(results.shown().experiment.conditions[0].name)
    found, images = run.analysis, pictures(run)
    latents = used_latents(found)
    pairs = min(BLOCKS, len(images["mixed"]))
    heights = [1.4, 0.8 + 1.15 * max(1, -(-len(latents) // COLUMNS)), 0.3 + 1.45 * -(-pairs // 2), 3.4]
    with styled():
        figure = new_figure(WIDTH, sum(heights))
        grid = figure.add_gridspec(len(heights), 1, height_ratios=heights)
        parts = [figure.add_subfigure(grid[i]) for i in range(len(heights))]
        _draw_mixtures(parts[0].subplots(), found, images["mixed"][0])
        _draw_inferred(parts[1], found, latents)
        _draw_reconstructions(parts[2], found, images, pairs)
        _draw_maps(parts[3], found)
    return figure


def label(world: str) -> str:
    """A world for readers, without size and contrast.

    >>> label("soft-inverse-fashion:32")
    'inverse Fashion'
    """
    return replace(WorldSpec.parse(world), soft=False, sprite=None).title


def used_latents(found: dict[str, Any]) -> list[tuple[int, str]]:
    """The latents that a world uses, with their colour: those of the first world, of both, of the second."""
    first, second = (np.asarray(used, bool) for used in found["used"])
    groups = ((first & ~second, FIRST), (first & second, BOTH), (second & ~first, SECOND))
    return [(int(latent), colour) for mine, colour in groups for latent in np.flatnonzero(mine)]


def _names(found: dict[str, Any]) -> list[str]:
    return [label(world) for world in found["worlds"]]


def _draw_mixtures(axis: Axes, found: dict[str, Any], mixed: np.ndarray) -> None:
    """One pair of images along the mixing weight."""
    first, second = _names(found)
    row, side = strip(mixed), mixed.shape[-1]
    axis.imshow(row, extent=(0, row.shape[1], row.shape[0], 0), aspect="equal")
    steps = np.linspace(found["weights"][0], found["weights"][-1], len(mixed))
    axis.set_xticks([i * (side + 1) + side / 2 for i in range(len(mixed))], [f"{100 * w:.0f} %" for w in steps])
    axis.set_yticks([])
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    axis.set_title(f"Mixtures of an image of {first} (0 %) and one of {second} (100 %)")


def _draw_inferred(part: SubFigure, found: dict[str, Any], latents: list[tuple[int, str]]) -> None:
    """Mean ± standard deviation of every used latent for this pair; beside them doubt over all pairs."""
    if not latents:
        axis = part.subplots()
        axis.set_axis_off()
        axis.text(0.5, 0.5, "no latent is used", transform=axis.transAxes, ha="center", va="center", color=GREY)
        return
    grid = part.add_gridspec(1, 2, width_ratios=[COLUMNS, 2])
    left, right = part.add_subfigure(grid[0]), part.add_subfigure(grid[1])
    rows = -(-len(latents) // COLUMNS)
    axes = left.subplots(rows, COLUMNS, sharex=True, sharey=True, squeeze=False)
    for axis in axes.flat[len(latents) :]:
        axis.set_axis_off()
    for axis, (latent, colour) in zip(axes.flat, latents, strict=False):
        _draw_latent(axis, found, latent, colour)
    text = "Their posterior along the mixing weight: mean ± standard deviation of each used latent"
    left.suptitle(text, x=0.01, ha="left", fontsize=10, fontweight="bold")
    _draw_doubt(right, found)
    first, second = _names(found)
    texts = {FIRST: f"only {first} uses it", BOTH: "both use it", SECOND: f"only {second} uses it"}
    lines = [Line2D([], [], color=colour, linewidth=2.2, label=text) for colour, text in texts.items()]
    left.legend(handles=lines, loc="outside lower center", ncols=3)


def _draw_latent(axis: Axes, found: dict[str, Any], latent: int, colour: str) -> None:
    weights = np.asarray(found["weights"])
    mean, std = (np.asarray(found["example"][name])[:, latent] for name in ("mean", "std"))
    axis.fill_between(weights, mean - std, mean + std, color=tint(colour, 0.35), linewidth=0)
    axis.plot(weights, mean, color=colour, linewidth=1.6)
    axis.set_title(f"z{latent}", fontsize=8, color=colour, pad=2)
    axis.set_xticks([0, 0.5, 1], ["0", "½", "1"])
    axis.set_xlim(weights[0], weights[-1])


def _draw_doubt(part: SubFigure, found: dict[str, Any]) -> None:
    """Along the weight: mean standard deviation of each world's latents, and the entropy of q(s|x)."""
    upper, lower = part.subplots(2, 1, sharex=True)
    for key, name, colour in zip(SIGMAS, _names(found), (FIRST, SECOND), strict=True):
        if (level := curve(found, key)) is not None:
            upper.plot(found["weights"], level, color=colour, linewidth=1.6, label=f"latents of {name}")
    lower.plot(found["weights"], curve(found, "entropy"), color=INK, linewidth=1.6)
    upper.set_title("σ, mean over pairs")
    lower.set_title(NAMES["entropy"])
    lower.set_xticks([0, 0.5, 1], ["0", "½", "1"])
    lower.set_xlim(found["weights"][0], found["weights"][-1])
    for axis in (upper, lower):
        axis.set_ylim(bottom=0)
    part.legend(loc="outside lower center")


def _draw_reconstructions(part: SubFigure, found: dict[str, Any], images: dict[str, np.ndarray], pairs: int) -> None:
    """Pairs along the weight, and what the decoder makes of them in either world."""
    first, second = _names(found)
    names = {"mixture": "mixed", f"as {first}": "first", f"as {second}": "second"}
    axes = part.subplots(-(-pairs // 2), 2, squeeze=False)
    for axis in axes.flat:
        axis.set_axis_off()
    for number, axis in enumerate(axes.flat[:pairs]):
        draw_rows(axis, {name: images[key][number] for name, key in names.items()})
    axes[0, 0].set_title("Mixtures and their reconstructions under either world")


def _draw_maps(part: SubFigure, found: dict[str, Any]) -> None:
    """The probability of the first world by mixing weight and number of ambiguous images, in either context."""
    names, weights, counts = _names(found), np.asarray(found["weights"]), found["ambiguous"]
    colours = LinearSegmentedColormap.from_list("worlds", [SECOND, "white", FIRST])
    alone = crossing(weights, np.asarray(found["alone"]), 0.5)
    axes = part.subplots(1, 2, sharex=True, sharey=True)
    for world, (axis, name) in enumerate(zip(axes, names, strict=True)):
        probabilities = curves(found, world, counts)
        look: dict[str, Any] = {"cmap": colours, "vmin": 0, "vmax": 1, "shading": "nearest", "rasterized": True}
        drawn = axis.pcolormesh(weights, counts, probabilities, **look)
        places = [np.nan if place is None else place for place in boundaries(found, world, counts)]
        axis.plot(places, counts, color=INK, linewidth=1.8, label="one half")
        if alone is not None:
            axis.axvline(alone, color=INK, linewidth=1.0, linestyle=":", label="one half without context")
        axis.set_title(f"Among real images of {name}")
        axis.set_xlabel(f"mixing weight, from {names[0]} to {names[1]}")
        axis.set_xlim(weights[0], weights[-1])
    axes[0].set_ylabel(f"ambiguous images in a batch of {found['batch']}")
    part.colorbar(drawn, ax=list(axes), label=f"q(s = {names[0]})", ticks=[0, 0.5, 1], pad=0.01)
    part.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
