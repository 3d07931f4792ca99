"""Sprite worlds of the paper's Section 4: a small image on an empty canvas, moving or still, or its negative."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

import numpy as np
from jaxtyping import Int

from vase.resize import resize
from vase.worlds.checks import require_int
from vase.worlds.datasets import Labelled
from vase.worlds.download import Report, StrPath, cache_folder
from vase.worlds.sources import load
from vase.worlds.world import Batch

_banks: WeakValueDictionary[tuple[object, ...], Labelled] = WeakValueDictionary()


@dataclass(frozen=True)
class SpriteWorld:
    """Sprites of one dataset pasted on a square canvas.

    ``moving``: uniform whole-pixel offsets 0..canvas−sprite on both axes; otherwise centred. ``inverse``: 255 − image
    over the whole canvas. Factors: ``label``, and ``x``, ``y`` in [0, 1]. Worlds with the same sprites of the same size
    share one ``bank``. Two worlds are equal if their images are distributed alike, whatever their names.
    """

    name: str = field(compare=False)
    canvas: int
    bank: Labelled = field(repr=False)
    moving: bool = False
    inverse: bool = False

    def __post_init__(self) -> None:
        require_int("canvas", self.canvas, 1)
        check_fits(self.canvas, self.sprite)

    @property
    def n_classes(self) -> int:
        """Classes that labels count."""
        return 1 + int(self.bank.labels.max())

    @property
    def sprite(self) -> int:
        """Side of a sprite in pixels."""
        return self.bank.images.shape[-1]

    @property
    def source(self) -> str:
        """Which data this really is, and by which route it came."""
        return self.bank.source

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of every image."""
        return (1, self.canvas, self.canvas)

    def sample(self, n: int, rng: np.random.Generator) -> Batch:
        """Draw ``n`` sprites with replacement and paste each at its place."""
        return self._pasted(rng.integers(len(self.bank), size=require_int("n", n, 1)), rng)

    def sample_distinct(self, n: int, rng: np.random.Generator) -> Batch:
        """Draw ``n`` sprites without replacement, all of them if there are fewer, and paste each at its place."""
        return self._pasted(rng.permutation(len(self.bank))[: require_int("n", n, 1)], rng)

    def _pasted(self, chosen: Int[np.ndarray, " n"], rng: np.random.Generator) -> Batch:
        n = len(chosen)
        side, span = self.sprite, self.canvas - self.sprite
        if self.moving and span:
            tops, lefts = rng.integers(span + 1, size=(2, n))
            y, x = tops / span, lefts / span
        else:
            tops = lefts = np.full(n, span // 2)
            y, x = np.full(n, 0.5), np.full(n, 0.5)
        images = np.zeros((n, 1, self.canvas, self.canvas), np.uint8)
        sprites = self.bank.images[chosen]
        for image, sprite, top, left in zip(images, sprites, tops.tolist(), lefts.tolist(), strict=True):
            image[0, top : top + side, left : left + side] = sprite
        if self.inverse:
            np.subtract(255, images, out=images)
        return Batch(images, {"label": self.bank.labels[chosen], "x": x, "y": y})


def check_fits(canvas: int, sprite: int) -> None:
    """Refuse a sprite that is larger than its canvas."""
    if canvas < sprite:
        remedy = f"use canvas >= {sprite} or a smaller sprite"
        raise ValueError(f"canvas = {canvas} is smaller than sprite = {sprite}: a sprite must fit; {remedy}")


def bank(
    dataset: str, sprite: int, split: str, folder: StrPath | None, fallback: bool, report: Report | None
) -> Labelled:
    """Load a dataset and resize its images to ``sprite`` × ``sprite``, once for all worlds that are alive."""
    side = require_int("sprite", sprite, 1)
    where = (side, split, None if folder is None else os.fspath(folder), str(cache_folder()))
    held = _banks.get((dataset, *where)) or (_banks.get(("stand-in for", dataset, *where)) if fallback else None)
    if held is not None:
        return held
    data = load(dataset, split, folder, report, fallback)
    real = data.source.split()[0]
    held = _banks.get((real, *where)) or Labelled(resize(data.images, side), data.labels, data.source)
    _banks[(real, *where)] = held
    if real != dataset:
        _banks[("stand-in for", dataset, *where)] = held
    return held
