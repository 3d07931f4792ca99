"""What a learner sees: batches of images, and the worlds they are drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import UInt8

from vase.worlds.spec import CONTRAST

_SOFT = np.rint(127.5 + CONTRAST * (np.arange(256) - 127.5)).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class Batch:
    """Images with their ground truth, which only probes and metrics may read.

    ``factors`` maps a factor's name to one value per image: ``label`` (int64) and, for sprites, ``x`` and ``y``
    (float64 in [0, 1]: offset divided by the largest offset; 0.5 for a sprite that never moves).
    """

    images: UInt8[np.ndarray, "n C H W"]
    factors: Mapping[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.images)


@runtime_checkable
class World(Protocol):
    """A distribution of images: the paper's s. Anything with these three members can be put on a schedule."""

    @property
    def name(self) -> str:
        """Short name, used in rows and figures."""

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of every image."""

    def sample(self, n: int, rng: np.random.Generator) -> Batch:
        """Draw ``n`` images; all randomness comes from ``rng``."""


@dataclass(frozen=True)
class SoftWorld:
    """Another world with its contrast reduced to ``CONTRAST`` about mid-grey, over the whole image."""

    name: str = field(compare=False)
    inner: World

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of every image."""
        return self.inner.image_shape

    @property
    def source(self) -> str:
        """Which data this really is, and by which route it came."""
        return getattr(self.inner, "source", "")

    @property
    def n_classes(self) -> int:
        """Classes that labels count, 0 without labels."""
        return getattr(self.inner, "n_classes", 0)

    @property
    def sprite(self) -> int | None:
        """Side of a sprite in pixels, None without sprites."""
        return getattr(self.inner, "sprite", None)

    def sample(self, n: int, rng: np.random.Generator) -> Batch:
        """Draw ``n`` images of the other world and soften them."""
        batch = self.inner.sample(n, rng)
        return Batch(_SOFT[batch.images], batch.factors)

    def sample_distinct(self, n: int, rng: np.random.Generator) -> Batch:
        """The same without replacement, if the other world can."""
        batch = getattr(self.inner, "sample_distinct", self.inner.sample)(n, rng)
        return Batch(_SOFT[batch.images], batch.factors)


def position_varies(factors: Mapping[str, np.ndarray]) -> bool:
    """Whether the objects in a sample move: factors ``x`` and ``y`` are known, and at least one of them varies."""
    return {"x", "y"} <= factors.keys() and any(bool(np.ptp(factors[axis]) > 0) for axis in "xy")
