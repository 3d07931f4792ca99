"""The worlds and changes that streams are drawn from, in two halves: one to tune detectors on, one for the report."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Literal

import numpy as np

from vase.images import as_bytes, as_floats
from vase.worlds import Batch, World, make_world
from vase.worlds.changes import CHANGES, LUMA, Change

Half = Literal["tuning", "report"]
HALVES: tuple[Half, ...] = ("tuning", "report")
SIDE = 32
"""Height and width of all images."""

CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
"""The classes of CIFAR-10, by label."""


@dataclass(frozen=True)
class PoolWorld:
    """A world of the pool: its name, its kind, and the half it belongs to."""

    name: str
    kind: Literal["still", "moving", "face", "photograph", "scene", "emoji"]
    half: Half
    colour: bool = False


# Alternating in alphabetical order within a kind; a dataset is in one half only, still and moving. Of grey photographs
# each half has two of its own classes. Dogs and trucks are left out, which look much like cats and automobiles.
WORLDS: tuple[PoolWorld, ...] = (
    PoolWorld("digits", "still", "tuning"),
    PoolWorld("fashion", "still", "tuning"),
    PoolWorld("moving-digits", "moving", "tuning"),
    PoolWorld("moving-fashion", "moving", "tuning"),
    PoolWorld("glyphs", "still", "report"),
    PoolWorld("mnist", "still", "report"),
    PoolWorld("moving-glyphs", "moving", "report"),
    PoolWorld("moving-mnist", "moving", "report"),
    PoolWorld("faces", "face", "report"),
    PoolWorld("grey-cifar10-airplane", "photograph", "tuning"),
    PoolWorld("grey-cifar10-deer", "photograph", "tuning"),
    PoolWorld("grey-cifar10-automobile", "photograph", "report"),
    PoolWorld("grey-cifar10-frog", "photograph", "report"),
    PoolWorld("cifar10-airplane", "photograph", "tuning", colour=True),
    PoolWorld("cifar10-automobile", "photograph", "report", colour=True),
    PoolWorld("cifar10-bird", "photograph", "tuning", colour=True),
    PoolWorld("cifar10-cat", "photograph", "report", colour=True),
    PoolWorld("cifar10-deer", "photograph", "tuning", colour=True),
    PoolWorld("cifar10-frog", "photograph", "report", colour=True),
    PoolWorld("cifar10-horse", "photograph", "tuning", colour=True),
    PoolWorld("cifar10-ship", "photograph", "report", colour=True),
    PoolWorld("emoji-google", "emoji", "tuning", colour=True),
    PoolWorld("emoji-twitter", "emoji", "report", colour=True),
    PoolWorld("indoors", "scene", "tuning", colour=True),
    PoolWorld("outdoors", "scene", "report", colour=True),
)

CHANGE_HALF: dict[str, Half] = {
    name: HALVES[place % 2]
    for kind in ("light", "texture", "colour", "geometry")
    for place, name in enumerate(sorted(name for name, change in CHANGES.items() if change.kind == kind))
}
"""Half of every change: alternating in alphabetical order within a kind."""

NO_SHIFT: dict[tuple[str, str], str] = {
    ("mirrored", "face"): "the world mirrors every second face itself",
    ("mirrored", "photograph"): "photographs have no preferred side",
    ("mirrored", "scene"): "the camera looks in every direction",
    ("mirrored", "emoji"): "nearly all emoji are symmetric",
    ("shift", "photograph"): "the framing of the photographs is random",
    ("shift", "scene"): "the camera looks in every direction",
}
"""(change, kind of world) -> why it does not change the distribution; such pairs are not used."""


def changes_for(world: PoolWorld, half: Half) -> list[Change]:
    """The changes of a half that make a difference in a world; grey images skip those that need colour."""
    return [
        change
        for name, change in CHANGES.items()
        if CHANGE_HALF[name] == half and (world.colour or not change.colour) and (name, world.kind) not in NO_SHIFT
    ]


def pool_world(name: str) -> PoolWorld:
    """A world of the pool by its name."""
    found = {world.name: world for world in WORLDS}
    if name not in found:
        raise ValueError(f"{name!r} is no world of the shift benchmark; there are {', '.join(found)}.")
    return found[name]


@dataclass(frozen=True)
class GreyWorld:
    """The brightness of a world in colour."""

    inner: World
    name: str = field(compare=False)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of every image."""
        return (1, *self.inner.image_shape[1:])

    def sample(self, n: int, rng: np.random.Generator) -> Batch:
        """Draw ``n`` images of the other world without their colour."""
        batch = self.inner.sample(n, rng)
        grey = np.einsum("c,bchw->bhw", LUMA, as_floats(batch.images))[:, None]
        return Batch(as_bytes(grey), batch.factors)


@cache
def load_world(name: str) -> World:
    """The training images of a world of the pool, 32×32; loaded once per process."""
    if name.startswith("grey-"):
        return GreyWorld(load_world(name.removeprefix("grey-")), name)
    dataset, _, label = name.partition("-")
    return make_world(f"cifar10:classes={CIFAR10.index(label)}" if dataset == "cifar10" else name, canvas=SIDE)
