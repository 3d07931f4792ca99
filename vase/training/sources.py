"""Folders of yours behind a run: found from everywhere, and their pictures known again when the run goes on."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vase.training.plan import Plan
from vase.training.settings import RunSettings
from vase.worlds.folders import ArrayWorld
from vase.worlds.frames import FrameWorld
from vase.worlds.spec import FACES_VARIABLE, StreamSpec, WorldSpec
from vase.worlds.world import World

PARTS = 32
TOLERANCE = 0.05
"""Grey levels of 255 by which a mean over many pixels may differ between two readings of the same pictures."""
Portraits = dict[str, list[list[float]]]
"""World -> portrait of each of its arrays."""
_IN_FOLDER = re.compile(r"\d (pictures|frames) in ")


def whole_path(folder: str) -> str:
    """A folder as a process with another working directory or home finds it."""
    return os.path.abspath(Path(folder).expanduser())


def absolute(settings: RunSettings) -> RunSettings:
    """The same run with all its folders by their whole path.

    >>> absolute(RunSettings(stream="mnist, folder:/cats/../dogs*500", faces="/faces/")).stream
    'mnist,folder:/dogs*500'
    """

    def whole(name: str) -> str:
        return str(WorldSpec.parse(name).with_absolute_folder())

    folders: dict[str, Any] = {
        name: whole_path(folder) for name in ("data", "faces", "frames") if (folder := getattr(settings, name))
    }
    return replace(
        settings,
        stream=str(StreamSpec.parse(settings.stream, settings.steps).with_absolute_folders()),
        imagination=",".join(map(whole, settings.imagined)),
        anticipation=",".join(f"{whole(met)}>{whole(unmet)}" for met, unmet in settings.anticipated),
        **folders,
    )


def pictured(stream: str) -> set[str]:
    """Which of the folders, faces and frames, the worlds of a stream can be taken from; none without a stream.

    >>> sorted(pictured("faces,soft-inverse-fashion:32")), sorted(pictured("outdoors*500,soft-inverse-faces"))
    (['faces'], ['faces', 'frames'])
    """
    return StreamSpec.parse(stream).picture_folders if stream else set()


def portraits(plan: Plan) -> Portraits:
    """The worlds that are made of a folder of pictures, by what their images are like; other data are verified."""
    found = {}
    for name, splits in plan.worlds.items():
        arrays = [array for world in splits for array in _pictures(world, plan.settings)]
        if arrays:
            found[name] = [portrait(array) for array in arrays]
    return found


def portrait(values: np.ndarray) -> list[float]:
    """How many images there are, and a weighted mean over the pixels of each of up to PARTS equal parts of them.

    No digest, because another processor or decoder may round a pixel otherwise; see TOLERANCE.

    >>> portrait(np.full((3, 2, 2), 7, np.uint8))
    [3, 7.0, 7.0, 7.0]
    """
    weights = np.random.default_rng(0).random(values[0].size)
    parts = np.array_split(values.reshape(len(values), -1), min(PARTS, len(values)))
    return [len(values), *(round(float(part.mean(axis=0) @ weights / weights.sum()), 4) for part in parts)]


def _pictures(world: World, settings: RunSettings) -> list[np.ndarray]:
    """The images of a folder, and their labels; nothing if the world is made of something else."""
    world = getattr(world, "inner", world)
    if isinstance(world, ArrayWorld):
        return [world.images] if world.labels is None else [world.images, world.labels]
    if isinstance(world, FrameWorld) and settings.frames is not None:
        return [world.frames]
    return []


def require_same_pictures(
    path: Path, plan: Plan, sources: Mapping[str, str], kept: Portraits | None, now: Portraits
) -> None:
    """Refuse to go on with other pictures than those that a run was started with.

    Args:
        path: of the run.
        plan: of what is to be done now.
        sources: what the run was started with.
        kept: portraits of what it was started with; None if it kept none, then folders must be the same by name.
        now: portraits of the plan.
    """
    for world, source in plan.sources.items():
        before = sources.get(world, "nothing")
        if kept is not None:
            same = _alike(kept.get(world, []), now.get(world, []))
        else:
            same = before == source or not (_IN_FOLDER.search(before) or _IN_FOLDER.search(source))
        if not same:
            what = "these are other pictures now" if before == source else f"now it would be {source}"
            remedy = "bring the first ones back"
            if "faces" in pictured(world) and plan.settings.faces is None:
                value = os.environ.get(FACES_VARIABLE)
                remedy = f"{FACES_VARIABLE} is {value or 'not set'} in the environment, give it back its first value"
            raise ValueError(
                f"{path} was started with {before} for the world {world!r}, and {what}: {remedy} to go on, or start "
                "another run with another --out."
            )


def _alike(before: list[list[float]], now: list[list[float]]) -> bool:
    """Whether two worlds show the same images."""
    return [len(part) for part in before] == [len(part) for part in now] and all(
        a[0] == b[0] and np.allclose(a, b, rtol=0, atol=TOLERANCE) for a, b in zip(before, now, strict=True)
    )
