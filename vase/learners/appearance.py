"""Appearance of images: brightness, contrast, colour, sharpness, noise and place, one number per image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

Array = np.ndarray

CELLS = 3
"""The picture is divided into CELLS × CELLS regions."""
FINE_IMAGES = 64
"""Noise and fine detail are measured on at most so many images, evenly spaced over the batch."""
FEW_IMAGES = 16
"""With fewer images, variances are not trusted, and finding nothing does not say that nothing changed."""

_BLACK = 1 / 255  # ratios to brightness or contrast below one grey level say nothing
_BLOCKS = 4  # saturation is measured on so many blocks per side, in which noise averages out
_MEDIAN_OF_NORMAL = 0.6745  # median |x| of N(0, 1)
_SECOND_DIFFERENCE_GAIN = 6.0  # standard deviation of [1 -2 1]ᵀ[1 -2 1] applied to N(0, 1)
_FINE_GAIN = 0.640625  # variance of the image minus its binomial blur, applied to N(0, 1): 1 - 2/4 + (6/16)²


@dataclass(frozen=True, eq=False)
class Colour:
    """Colour of each of B images."""

    tint: Float[np.ndarray, "B 3"]
    """Mean of each channel relative to grey: 0 is neutral."""
    saturation: Float[np.ndarray, " B"]
    """Spread of the channels after grey-world white balance, relative to brightness."""


@dataclass(frozen=True, eq=False)
class Regions:
    """Each region of B images, and its fine detail in F of them."""

    brightness: Float[np.ndarray, "B 3 3"]
    relative_brightness: Float[np.ndarray, "B 3 3"]
    """Brightness less that of the picture, over its contrast."""
    detail: Float[np.ndarray, "F 3 3"]
    """Root of the energy in the finest scale."""
    relative_detail: Float[np.ndarray, "F 3 3"]
    """Detail over the mean of all regions, less one."""


@dataclass(frozen=True, eq=False)
class Appearance:
    """Statistics of each of B images; those of fine structure of at most `FINE_IMAGES` of them, F."""

    brightness: Float[np.ndarray, " B"]
    """Mean of all pixels."""
    contrast: Float[np.ndarray, " B"]
    """Standard deviation of the grey pixels."""
    relative_contrast: Float[np.ndarray, " B"]
    """Contrast over brightness: a change of exposure does not change it."""
    noise: Float[np.ndarray, " F"]
    """Standard deviation of the noise, mean over channels."""
    relative_noise: Float[np.ndarray, " F"]
    """Noise over contrast: a change of exposure does not change it."""
    noise_share: Float[np.ndarray, " F"]
    """Energy of the noise in the finest scale over the variance of the picture."""
    sharpness: Float[np.ndarray, " F"]
    """Energy in the finest scale over the variance of the picture, less the noise's share."""
    colour: Colour | None
    """None unless there are three channels."""
    regions: Regions | None
    """None for pictures of fewer than eight pixels per side."""


def appearance(images: Float[np.ndarray, "B C H W"]) -> Appearance:
    """Measure images in [0, 1]."""
    count, channels, height, width = images.shape
    grey = images[:, 0] if channels == 1 else np.einsum("bchw->bhw", images) / channels
    brightness = grey.mean(axis=(1, 2))
    variance = np.maximum(np.einsum("bhw,bhw->b", grey, grey) / (height * width) - brightness**2, 0)
    contrast = np.sqrt(variance)
    floored = np.maximum(contrast, _BLACK)
    fine = np.linspace(0, count - 1, min(count, FINE_IMAGES)).astype(int)
    response = _second_difference(images[fine])
    noise = _noise_sigma(response).mean(axis=1)
    grey_noise = noise if channels == 1 else _noise_sigma(response.mean(axis=1))
    energy = np.square(_finest_scale(grey[fine]))
    noise_share = _FINE_GAIN * np.square(grey_noise / floored[fine])
    return Appearance(
        brightness=brightness,
        contrast=contrast,
        relative_contrast=contrast / np.maximum(brightness, _BLACK),
        noise=noise,
        relative_noise=noise / floored[fine],
        noise_share=noise_share,
        sharpness=np.maximum(energy.mean(axis=(1, 2)) / np.square(floored[fine]) - noise_share, 0),
        colour=_colour(images, brightness) if channels == 3 else None,
        regions=_regions(grey, brightness, floored, energy) if min(height, width) >= 2 * CELLS + 2 else None,
    )


def cell_edges(side: int, cells: int = CELLS) -> np.ndarray:
    """Where the regions begin along one side, and where the last one ends."""
    return np.rint(np.linspace(0, side, min(cells, side) + 1)).astype(int)


def _second_difference(images: Array) -> Array:
    """The images filtered with [1 -2 1]ᵀ[1 -2 1], which removes planes and straight edges along the axes."""
    if min(images.shape[-2:]) < 3:
        return np.zeros_like(images)
    rows = images[..., 2:, :] + images[..., :-2, :] - 2 * images[..., 1:-1, :]
    return rows[..., 2:] + rows[..., :-2] - 2 * rows[..., 1:-1]


def _noise_sigma(response: Float[np.ndarray, "*batch H W"]) -> Float[np.ndarray, "*batch"]:
    """σ of white noise from the filter's responses (Immerkær 1996), by their median, so that texture counts little."""
    flat = np.abs(response).reshape(*response.shape[:-2], -1)
    middle = flat.shape[-1] // 2
    return np.partition(flat, middle, axis=-1)[..., middle] / (_MEDIAN_OF_NORMAL * _SECOND_DIFFERENCE_GAIN)


def _finest_scale(grey: Float[np.ndarray, "B H W"]) -> Float[np.ndarray, "B h w"]:
    """The pictures minus their 3×3 binomial blur."""
    if min(grey.shape[1:]) < 3:
        return np.zeros_like(grey)
    rows = grey[:, 2:] + grey[:, :-2] + 2 * grey[:, 1:-1]
    return grey[:, 1:-1, 1:-1] - (rows[..., 2:] + rows[..., :-2] + 2 * rows[..., 1:-1]) / 16


def _colour(images: Array, brightness: Array) -> Colour:
    blocks = _block_means(images, _BLOCKS)
    channels, grey = images.mean(axis=(2, 3)), np.maximum(brightness, _BLACK)[:, None]
    balanced = blocks * (grey / np.maximum(channels, _BLACK))[:, :, None, None]
    spread = balanced.max(axis=1) - balanced.min(axis=1)
    return Colour(tint=channels / grey - 1, saturation=spread.mean(axis=(1, 2)) / grey[:, 0])


def _regions(grey: Array, brightness: Array, contrast: Array, energy: Array) -> Regions:
    cells, detail = _block_means(grey, CELLS), np.sqrt(_block_means(energy, CELLS))
    average = np.maximum(detail.mean(axis=(1, 2), keepdims=True), 0.1 * _BLACK)
    return Regions(
        brightness=cells,
        relative_brightness=(cells - brightness[:, None, None]) / contrast[:, None, None],
        detail=detail,
        relative_detail=detail / average - 1,
    )


def _block_means(images: Float[np.ndarray, "*batch H W"], blocks: int) -> Float[np.ndarray, "*batch h w"]:
    """Means over a grid of blocks of about equal size, at most one per pixel."""
    down, across = (_averaging(cell_edges(side, blocks)).astype(images.dtype) for side in images.shape[-2:])
    return down @ (images @ across.T)


def _averaging(edges: np.ndarray) -> Float[np.ndarray, "blocks side"]:
    """The matrix that averages over the intervals between edges."""
    places = np.arange(edges[-1])
    inside = (places >= edges[:-1, None]) & (places < edges[1:, None])
    return inside / np.diff(edges)[:, None]


@dataclass(frozen=True, eq=False)
class Difference:
    """Means of a statistic before and after, and how far their difference is beyond sampling noise."""

    before: Float[np.ndarray, "*shape"]
    after: Float[np.ndarray, "*shape"]
    score: Float[np.ndarray, "*shape"]
    """Welch's |t| as a standard normal score."""

    @property
    def change(self) -> Float[np.ndarray, "*shape"]:
        """After minus before."""
        return self.after - self.before

    @property
    def relative(self) -> float:
        """After over before, less one; a value below a thousandth before counts as a thousandth."""
        return float(self.change) / max(float(self.before), 1e-3)


def difference(before: Float[np.ndarray, "B *shape"], after: Float[np.ndarray, "K *shape"]) -> Difference:
    """Compare the means of two batches by Welch's t, as a normal score (Wallace 1959), which is fair to few images.

    Fewer than `FEW_IMAGES` may be alike by chance: they count with the larger variance of both batches. Between two
    single images nothing is beyond noise.
    """
    before, after = before.astype(np.float64), after.astype(np.float64)
    means = before.mean(axis=0), after.mean(axis=0)
    if len(before) == len(after) == 1:
        return Difference(*means, score=np.zeros_like(means[0]))
    spreads = [x.var(axis=0, ddof=min(1, len(x) - 1)) for x in (before, after)]
    larger = np.maximum(*spreads)
    one, two = (
        (larger if len(x) < FEW_IMAGES else own) / len(x) for x, own in zip((before, after), spreads, strict=True)
    )
    change = means[1] - means[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = (one + two) ** 2 / (one**2 / max(1, len(before) - 1) + two**2 / max(1, len(after) - 1))
        freedom = np.where(one + two > 0, freedom, 1.0)
        squared_t = np.where(change == 0, 0.0, change**2 / (one + two))
    score = (8 * freedom + 1) / (8 * freedom + 3) * np.sqrt(freedom * np.log1p(squared_t / freedom))
    return Difference(*means, score=score)
