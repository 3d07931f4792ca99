"""Environments by name: ``[moving-][inverse-](mnist|fashion|digits|glyphs)[:SPRITE]`` or ``folder:PATH``."""

from __future__ import annotations

import os
import re

from vase.streams.datasets import check_split, nearest
from vase.streams.environments import Environment, whole
from vase.streams.folders import from_folder
from vase.streams.sources import NAMES, Report
from vase.streams.sprites import SpriteEnvironment, bank, check_fits

ENVIRONMENTS = tuple(
    f"{moving}{inverse}{name}" for name in NAMES for moving in ("", "moving-") for inverse in ("", "inverse-")
)


def environment(
    name: str,
    *,
    canvas: int = 32,
    sprite: int = 20,
    split: str = "train",
    folder: str | os.PathLike[str] | None = None,
    fallback: bool = False,
    report: Report | None = None,
) -> Environment:
    """Make an environment from its name, e.g. ``"moving-fashion"`` or ``"inverse-mnist:12"`` (12-pixel sprites).

    Args:
        name: see the module's first line; ``"folder:PATH"`` shows your own pictures, resized to the canvas.
        canvas: side of the images in pixels (the paper: 64).
        sprite: side of the sprites in pixels (the paper: 28); a size in the name wins.
        split: ``"train"`` or ``"test"`` images.
        folder: a folder of yours with the dataset's idx files.
        fallback: if no route to the data works, use the embedded stand-in instead of raising; the environment's
            ``name`` and ``source`` then say which data it really is.
        report: called with one line per failed route.
    """
    check_split(split)
    if not isinstance(name, str):
        raise TypeError(f"environment {name!r}: expected a name, e.g. 'moving-mnist'")
    canvas, sprite = whole("canvas", canvas, 1), whole("sprite", sprite, 1)
    if name.startswith("folder:"):
        return from_folder(name.removeprefix("folder:"), size=canvas, split=split)
    match = re.fullmatch(r"(moving-)?(inverse-)?([^:]*)(?::(\d+))?", name)
    if match is None or match[3] not in NAMES:
        known = nearest(name.partition(":")[0], (*ENVIRONMENTS, "folder:PATH"))
        raise ValueError(f"environment {name!r} is unknown: a name is [moving-][inverse-]DATASET[:SPRITE]; {known}")
    side = sprite if match[4] is None else whole("sprite", int(match[4]), 1)
    check_fits(canvas, side)
    sprites = bank(match[3], side, split, folder, fallback, report)
    real = sprites.source.split()[0]
    moving, inverse = match[1] or "", match[2] or ""
    size = "" if match[4] is None else f":{side}"
    return SpriteEnvironment(
        f"{moving}{inverse}{real}{size}", canvas, sprites, moving=bool(moving), inverse=bool(inverse)
    )
