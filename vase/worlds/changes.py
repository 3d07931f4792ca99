"""Changes of the way a world is seen: light, texture, colour and geometry, each with a strength.

A change maps images (B, C, H, W) in [0, 1] to images of the same shape in [0, 1]; strength 0 leaves them as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Float32

from vase.images import as_bytes, as_floats
from vase.spelling import did_you_mean
from vase.worlds.world import Batch, World

Images = Float32[np.ndarray, "B C H W"]
Kind = Literal["light", "texture", "colour", "geometry"]
LUMA = np.array([0.299, 0.587, 0.114], np.float32)
"""Weights of red, green and blue in the brightness of a pixel (ITU-R BT.601)."""
FOG, DIRT = 0.8, 0.25
"""Grey levels of fog and of dirt on the lens."""
SPOTS = ((0.2, 0.3, 0.12), (0.45, 0.7, 0.16), (0.75, 0.25, 0.1), (0.8, 0.8, 0.12), (0.5, 0.4, 0.08))
"""Dirt on the lens: row, column and radius of each spot, in shares of the image's side."""
BLOCK = 4
"""Side of the blocks of `pixelate`, in pixels."""


def dim(images: Images, strength: float) -> Images:
    """Darken: multiply by 1 − strength. Night is 0.65."""
    return images * np.float32(1 - strength)


def contrast(images: Images, strength: float) -> Images:
    """Reduce the contrast about mid-grey to 1 − strength of what it was."""
    return 0.5 + (images - 0.5) * np.float32(1 - strength)


def fog(images: Images, strength: float) -> Images:
    """Mix with a light grey: strength is the share of the fog."""
    return _mix(images, np.full_like(images, FOG), strength)


def inverse(images: Images, strength: float) -> Images:
    """Mix with the negative; strength 1 is the negative itself."""
    return _mix(images, 1 - images, strength)


def blur(images: Images, strength: float) -> Images:
    """Smooth with a Gaussian whose standard deviation is `strength` pixels; edges are extended."""
    if strength <= 0:
        return images
    reach = int(np.ceil(3 * strength))
    taps = np.exp(-0.5 * (np.arange(-reach, reach + 1) / strength) ** 2)
    rows, columns = (_smoothing(side, taps / taps.sum()) for side in images.shape[2:])
    return rows @ images @ columns.T


def noise(images: Images, strength: float, rng: np.random.Generator) -> Images:
    """Add Gaussian noise of standard deviation `strength` to every value, and clip."""
    return np.clip(images + np.float32(strength) * rng.standard_normal(images.shape, np.float32), 0, 1)


def dirt(images: Images, strength: float) -> Images:
    """Put dark spots on the lens, always the same; strength is their opacity."""
    height, width = images.shape[2:]
    y, x = (np.arange(height) + 0.5)[:, None] / height, (np.arange(width) + 0.5)[None, :] / width
    covered = np.zeros((height, width), bool)
    for row, column, radius in SPOTS:
        covered |= (y - row) ** 2 + (x - column) ** 2 <= radius**2
    return np.where(covered, _mix(images, np.full_like(images, DIRT), strength), images)


def pixelate(images: Images, strength: float) -> Images:
    """Mix with the means of blocks of 4×4 pixels; strength is the share of the means. Blockiness, as of strong JPEG."""
    b, c, height, width = images.shape
    if height % BLOCK or width % BLOCK:
        raise ValueError(f"images of {height}×{width}: pixelate needs sides divisible by {BLOCK}; crop or resize them")
    blocks = images.reshape(b, c, height // BLOCK, BLOCK, width // BLOCK, BLOCK)
    means = np.broadcast_to(blocks.mean((3, 5), keepdims=True), blocks.shape).reshape(images.shape)
    return _mix(images, means, strength)


def grey(images: Images, strength: float) -> Images:
    """Remove colour: mix with the brightness. Colour only."""
    luma = np.einsum("c,bchw->bhw", LUMA, images)[:, None]
    return _mix(images, np.repeat(luma, 3, 1), strength)


def white_balance(images: Images, strength: float) -> Images:
    """Warm up the light: blue loses `strength` of its intensity, green half as much. Colour only."""
    return images * np.array([1, 1 - strength / 2, 1 - strength], np.float32)[:, None, None]


def mirrored(images: Images, strength: float) -> Images:
    """Exchange left and right."""
    return images[:, :, :, ::-1] if strength else images


def rotate(images: Images, strength: float) -> Images:
    """Turn by `strength` quarters of a turn, anticlockwise."""
    return np.rot90(images, round(strength), (2, 3))


def shift(images: Images, strength: float) -> Images:
    """Move by `strength` whole pixels to the right; the left edge is extended."""
    by = round(strength)
    return np.pad(images, ((0, 0), (0, 0), (0, 0), (by, 0)), "edge")[..., : images.shape[3]]


def squeeze(images: Images, strength: float) -> Images:
    """Make everything narrower by the factor 1 + strength about the middle; the edges are extended."""
    return images @ _scaling(images.shape[3], 1 + strength).T


def upside_down(images: Images, strength: float) -> Images:
    """Exchange top and bottom."""
    return images[:, :, ::-1] if strength else images


def zoom(images: Images, strength: float) -> Images:
    """Enlarge by the factor 1 + strength about the middle."""
    rows, columns = (_scaling(side, 1 / (1 + strength)) for side in images.shape[2:])
    return rows @ images @ columns.T


def _mix(images: Images, other: Images, share: float) -> Images:
    return images * np.float32(1 - share) + other * np.float32(share)


def _smoothing(side: int, taps: np.ndarray) -> Float32[np.ndarray, "side side"]:
    """The matrix that convolves one axis with some taps, edges extended."""
    reach = len(taps) // 2
    matrix = np.zeros((side, side), np.float32)
    for offset, tap in zip(range(-reach, reach + 1), taps, strict=True):
        np.add.at(matrix, (np.arange(side), np.clip(np.arange(side) + offset, 0, side - 1)), tap)
    return matrix


def _scaling(side: int, step: float) -> Float32[np.ndarray, "side side"]:
    """The matrix that samples one axis at distances of `step` pixels about its middle, linearly."""
    centres = np.clip((np.arange(side) - (side - 1) / 2) * step + (side - 1) / 2, 0, side - 1)
    matrix = np.maximum(0, 1 - np.abs(centres[:, None] - np.arange(side)[None, :]))
    return (matrix / matrix.sum(1, keepdims=True)).astype(np.float32)


@dataclass(frozen=True)
class Change:
    """A change by its name: what it does, at which strengths it is used, and where it makes sense."""

    name: str
    kind: Kind
    function: Callable[..., Images] = field(repr=False)
    strengths: tuple[float, ...]
    gradual: bool = True
    """Strengths in between make sense, so that it can come gradually."""
    colour: bool = False
    """Needs images in colour."""
    random: bool = False
    """Needs a generator."""

    def __call__(self, images: Images, strength: float, rng: np.random.Generator | None = None) -> Images:
        """The changed images; `rng` decides what is random in it."""
        if strength < 0:
            raise ValueError(f"strength = {strength}: must not be negative; 0 changes nothing")
        if self.colour and images.shape[1] != 3:
            raise ValueError(f"{self.name}: needs images with 3 channels, not {images.shape[1]}; use another change")
        if self.random and rng is None:
            raise ValueError(f"{self.name}: is random; pass rng=np.random.default_rng(seed)")
        changed = self.function(images, strength, *([rng] if self.random else []))
        return np.ascontiguousarray(changed, dtype=np.float32)


CHANGES: dict[str, Change] = {
    change.name: change
    for change in (
        Change("contrast", "light", contrast, (0.3, 0.6)),
        Change("dim", "light", dim, (0.3, 0.65)),
        Change("fog", "light", fog, (0.25, 0.5)),
        Change("inverse", "light", inverse, (1.0,)),
        Change("blur", "texture", blur, (0.8, 1.5)),
        Change("dirt", "texture", dirt, (0.5, 1.0)),
        Change("noise", "texture", noise, (0.08, 0.2), random=True),
        Change("pixelate", "texture", pixelate, (0.5, 1.0)),
        Change("grey", "colour", grey, (0.6, 1.0), colour=True),
        Change("white-balance", "colour", white_balance, (0.25, 0.5), colour=True),
        Change("mirrored", "geometry", mirrored, (1,), gradual=False),
        Change("rotate", "geometry", rotate, (1,), gradual=False),
        Change("shift", "geometry", shift, (2, 4), gradual=False),
        Change("squeeze", "geometry", squeeze, (0.25, 0.5)),
        Change("upside-down", "geometry", upside_down, (1,), gradual=False),
        Change("zoom", "geometry", zoom, (0.25, 0.5)),
    )
}
"""Every change by its name."""


def find_change(name: str) -> Change:
    """A change by its name."""
    if name not in CHANGES:
        raise ValueError(f"change {name!r} is unknown{did_you_mean(name, CHANGES)} Known: {', '.join(CHANGES)}.")
    return CHANGES[name]


@dataclass(frozen=True)
class ChangedWorld:
    """A world seen through a change."""

    inner: World
    change: str
    strength: float

    @property
    def name(self) -> str:
        """WORLD+CHANGE:STRENGTH."""
        return f"{self.inner.name}+{self.change}:{self.strength:g}"

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of every image."""
        return self.inner.image_shape

    def sample(self, n: int, rng: np.random.Generator) -> Batch:
        """Draw ``n`` images of the other world and change them."""
        batch = self.inner.sample(n, rng)
        changed = find_change(self.change)(as_floats(batch.images), self.strength, rng)
        return Batch(as_bytes(changed), batch.factors)
