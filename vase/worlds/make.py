"""Worlds made from their names."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any

from vase.worlds.checks import require_int
from vase.worlds.colour import colour_world
from vase.worlds.datasets import check_split
from vase.worlds.download import DataUnavailable, Report, StrPath
from vase.worlds.faces import face_world
from vase.worlds.folders import from_folder
from vase.worlds.frames import frame_world
from vase.worlds.rooms import WORLDS
from vase.worlds.sources import EMBEDDED
from vase.worlds.spec import COLOUR, WorldSpec
from vase.worlds.sprites import SpriteWorld, bank, check_fits
from vase.worlds.world import SoftWorld, World

_log = logging.getLogger("vase.worlds")


@dataclass(frozen=True)
class WorldOptions:
    """What a name leaves open: the size of the images and the source of the data.

    With ``fallback``, data that cannot be obtained are replaced by the embedded stand-in instead of an error; the
    world's ``name`` and ``source`` then say which data it really shows. Digits as large as the canvas replace faces;
    nothing replaces images in colour.
    """

    canvas: int = 32  # side of the images in pixels. Paper: 64.
    sprite: int = 20  # side of the sprites in pixels; a size in the name wins. Paper: 28.
    split: str = "train"  # "train" or "test" images
    folder: StrPath | None = None  # A folder of yours with the dataset's idx files
    faces: StrPath | None = None  # a folder of face pictures; by default what VASE_FACES names, else the ORL faces
    frames: StrPath | None = None  # a folder of frames, see ``frame_world``; by default they are rendered
    fallback: bool = False
    report: Report | None = None  # called with one line per failed route

    def __post_init__(self) -> None:
        check_split(self.split)
        for name in ("canvas", "sprite"):
            object.__setattr__(self, name, require_int(name, getattr(self, name), 1, 4096))


def make_world(world: str | WorldSpec, **options: Any) -> World:
    """Make a world from its name, e.g. ``"moving-fashion"`` or ``"inverse-mnist:12"`` (12-pixel sprites).

    ``vase.worlds.spec`` has the grammar: ``"soft-inverse-fashion:32"`` is a negative with reduced contrast,
    ``"folder:PATH"`` shows your own pictures. Options are fields of ``WorldOptions``: ``canvas=64, split="test"``.
    """
    spec, chosen = world if isinstance(world, WorldSpec) else WorldSpec.parse(world), WorldOptions(**options)
    canvas, split = chosen.canvas, chosen.split
    if spec.folder is not None:
        return from_folder(spec.folder, size=canvas, split=split)
    if spec.dataset in WORLDS:
        return frame_world(spec.dataset, canvas=canvas, split=split, frames=chosen.frames, report=chosen.report)
    make = _faces if spec.dataset == "faces" else _colour if spec.dataset in COLOUR else _sprites
    plain = make(replace(spec, soft=False), chosen)
    return SoftWorld(str(replace(WorldSpec.parse(plain.name), soft=True)), plain) if spec.soft else plain


def _faces(spec: WorldSpec, chosen: WorldOptions) -> World:
    try:
        return face_world(chosen.canvas, chosen.split, spec.inverse, chosen.faces, chosen.folder, chosen.report)
    except DataUnavailable:
        if not chosen.fallback:
            raise
    spec = replace(spec, dataset=EMBEDDED["faces"], sprite=chosen.canvas)
    (chosen.report or _log.warning)(f"faces: no route works; embedded {spec.dataset!r} stand in for them (not faces!)")
    return _sprites(spec, chosen)


def _colour(spec: WorldSpec, chosen: WorldOptions) -> World:
    return colour_world(spec, chosen.canvas, chosen.split, chosen.folder, chosen.report)


def _sprites(spec: WorldSpec, chosen: WorldOptions) -> SpriteWorld:
    side = chosen.sprite if spec.sprite is None else spec.sprite
    check_fits(chosen.canvas, side)
    sprites = bank(spec.dataset, side, chosen.split, chosen.folder, chosen.fallback, chosen.report)
    name = str(replace(spec, dataset=sprites.source.split()[0]))
    return SpriteWorld(name, chosen.canvas, sprites, moving=spec.moving, inverse=spec.inverse)
