"""Folders of yours behind a run: found from everywhere, and their pictures known again when the run goes on."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from vase.runs.settings import Plan, RunSettings
from vase.streams.environments import Environment
from vase.streams.folders import ArrayEnvironment
from vase.streams.frames import FrameEnvironment
from vase.streams.sources import FACES_VARIABLE

_ENDS = {"stream": ",*", "imagination": ",", "anticipation": ",>"}
"""The settings that name worlds, and what ends a name in them."""
_IN_FOLDER = re.compile(r"\d (pictures|frames) in ")


def whole_path(folder: str) -> str:
    """The folder for a process with another working directory or home."""
    return os.path.abspath(Path(folder).expanduser())


def absolute(settings: RunSettings) -> RunSettings:
    """The same run with all its folders by their whole path.

    >>> absolute(RunSettings(stream="mnist, folder:/cats/../dogs*500", faces="/faces/")).stream
    'mnist, folder:/dogs*500'
    """
    folders = {name: whole_path(folder) for name in ("data", "faces", "frames") if (folder := getattr(settings, name))}
    worlds = {
        name: re.sub(
            rf"(?<![^{ends}])(\s*folder:)([^{ends}]+)",
            lambda found: found[1] + whole_path(found[2].strip()),
            getattr(settings, name),
        )
        for name, ends in _ENDS.items()
    }
    return replace(settings, **folders, **worlds)


def digests(plan: Plan) -> dict[str, str]:
    """World -> digest of its images, for the worlds made of a folder of pictures; other data are the same everywhere."""
    found = {}
    for name, splits in plan.worlds.items():
        digest, empty = hashlib.sha256(), hashlib.sha256().digest()
        for array in [array for world in splits for array in _pictures(world, plan.settings)]:
            digest.update(f"{array.dtype} {array.shape}".encode())
            digest.update(memoryview(np.ascontiguousarray(array)).cast("B"))
        if digest.digest() != empty:
            found[name] = digest.hexdigest()[:16]
    return found


def _pictures(world: Environment, settings: RunSettings) -> list[np.ndarray]:
    """The images of a folder, and what is known of them; nothing if the world is made of something else."""
    world = getattr(world, "inner", world)
    if isinstance(world, ArrayEnvironment):
        return [world.images] if world.labels is None else [world.images, world.labels]
    if isinstance(world, FrameEnvironment) and settings.frames is not None:
        return [world.frames, *world.factors.values()]
    return []


def require_same_pictures(
    path: Path, plan: Plan, sources: Mapping[str, str], kept: Mapping[str, str] | None, now: Mapping[str, str]
) -> None:
    """Refuse to go on with other pictures than those that a run was started with.

    Args:
        path: of the run.
        plan: of what is to be done now.
        sources: those that the run was started with.
        kept: digests that the run was started with; None if it is older than they are, which leaves the sources.
        now: digests of the plan.
    """
    for world, source in plan.sources.items():
        before = sources.get(world, "nothing")
        if kept is not None:
            same = kept.get(world) == now.get(world)
        else:
            same = before == source or not (_IN_FOLDER.search(before) or _IN_FOLDER.search(source))
        if same:
            continue
        differ = "these are no longer the same ones" if before == source else f"now it would be {source}"
        hint = ""
        if re.search("faces$", world) and plan.settings.faces is None:
            hint = f" ({FACES_VARIABLE} in the environment is {os.environ.get(FACES_VARIABLE) or 'not set'})"
        raise ValueError(
            f"{path}: its world {world!r} was {before} when it was started, and {differ}{hint}. Bring the first ones "
            "back to go on, or start another run with another --out."
        )
