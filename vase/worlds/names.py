"""Environments by name.

``[moving-][soft-][inverse-](mnist|fashion|digits|glyphs)[:SPRITE]``, ``[soft-][inverse-]faces``, ``outdoors``,
``indoors`` or ``folder:PATH``; the words before the dataset come in this order. The negative is taken first, then the
contrast is reduced.
"""

from __future__ import annotations

import logging
import os
import re

from vase.worlds.datasets import check_split, nearest
from vase.worlds.faces import face_world
from vase.worlds.folders import from_folder
from vase.worlds.frames import frame_world
from vase.worlds.rooms import WORLDS
from vase.worlds.sources import EMBEDDED, NAMES, DataUnavailable, Report
from vase.worlds.sprites import SpriteWorld, bank, check_fits
from vase.worlds.world import SoftWorld, World, whole

SPRITES = tuple(name for name in NAMES if name != "faces")
_TONES = tuple(f"{soft}{inverse}" for soft in ("", "soft-") for inverse in ("", "inverse-"))
ENVIRONMENTS = (
    *(f"{moving}{tone}{name}" for name in SPRITES for moving in ("", "moving-") for tone in _TONES),
    *(f"{tone}faces" for tone in _TONES),
    *WORLDS,
)
GRAMMAR = ("[moving-][soft-][inverse-]DATASET[:SPRITE]", "[soft-][inverse-]faces", "folder:PATH")
_log = logging.getLogger("vase.worlds")


def make_world(
    name: str,
    *,
    canvas: int = 32,
    sprite: int = 20,
    split: str = "train",
    folder: str | os.PathLike[str] | None = None,
    faces: str | os.PathLike[str] | None = None,
    frames: str | os.PathLike[str] | None = None,
    fallback: bool = False,
    report: Report | None = None,
) -> World:
    """Make an environment from its name, e.g. ``"moving-fashion"`` or ``"inverse-mnist:12"`` (12-pixel sprites).

    Args:
        name: see the top of this module; ``"soft-inverse-fashion:32"`` is a negative at ``CONTRAST`` of its contrast,
            ``"folder:PATH"`` shows your own pictures, resized to the canvas.
        canvas: side of the images in pixels (the paper: 64).
        sprite: side of the sprites in pixels (the paper: 28); a size in the name wins.
        split: ``"train"`` or ``"test"`` images.
        folder: a folder of yours with the dataset's idx files.
        faces: a folder of face pictures for ``"faces"``; by default what ``VASE_FACES`` names, else the ORL faces.
        frames: a folder with frames of ``"outdoors"`` and ``"indoors"``, see ``frame_world``; by default these
            worlds are rendered.
        fallback: if no route to the data works, use the embedded stand-in instead of raising; the environment's
            ``name`` and ``source`` then say which data it really is. Digits as large as the canvas stand in for faces.
        report: called with one line per failed route.
    """
    check_split(split)
    if not isinstance(name, str):
        raise TypeError(f"environment {name!r}: expected a name, e.g. 'moving-mnist'")
    canvas, sprite = whole("canvas", canvas, 1), whole("sprite", sprite, 1)
    if name.startswith("folder:"):
        return from_folder(name.removeprefix("folder:"), size=canvas, split=split)
    if name in WORLDS:
        return frame_world(name, canvas=canvas, split=split, frames=frames, report=report)
    match = re.fullmatch(r"(moving-)?(soft-)?(inverse-)?([^:]*)(?::(\d+))?", name)
    if match is None or match[4] not in NAMES:
        known = nearest(name.partition(":")[0], (*ENVIRONMENTS, "folder:PATH"), shown=(*NAMES, *WORLDS, "folder:PATH"))
        rule = f"a name is {', '.join((*GRAMMAR[:2], *WORLDS))} or {GRAMMAR[2]}"
        raise ValueError(f"environment {name!r} is unknown: {rule}; {known}")
    moving, soft, inverse, data = match[1] or "", match[2] or "", match[3] or "", match[4]
    size = "" if match[5] is None else f":{int(match[5])}"
    if data == "faces":
        if moving or size:
            raise ValueError(f"environment {name!r}: a face fills the canvas and stands still; write {GRAMMAR[1]}")
        try:
            return _softened(soft, face_world(canvas, split, bool(inverse), faces, folder, report))
        except DataUnavailable:
            if not fallback:
                raise
        data, size = EMBEDDED["faces"], f":{canvas}"
        (report or _log.warning)(f"faces: no route works, so the embedded {data!r} stand in for them (not faces!)")
    side = whole("sprite", int(size[1:]), 1) if size else sprite
    check_fits(canvas, side)
    sprites = bank(data, side, split, folder, fallback, report)
    real = sprites.source.split()[0]
    return _softened(
        soft,
        SpriteWorld(f"{moving}{inverse}{real}{size}", canvas, sprites, moving=bool(moving), inverse=bool(inverse)),
    )


def _softened(soft: str, plain: World) -> World:
    """The environment itself, or with ``soft-`` its softened form under the name that leads back to it."""
    head = "moving-" if plain.name.startswith("moving-") else ""
    return SoftWorld(f"{head}{soft}{plain.name.removeprefix(head)}", plain) if soft else plain
