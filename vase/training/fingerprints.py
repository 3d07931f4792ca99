"""Fingerprints of images from folders: a resumed run verifies that it sees what it was started with."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vase.checkpoint import State
from vase.training.callbacks import Callback, Run
from vase.training.directory import RunDirectory
from vase.training.plan import Plan
from vase.training.settings import RunSettings
from vase.worlds.folders import ArrayWorld
from vase.worlds.frames import FrameWorld
from vase.worlds.spec import FACES_VARIABLE, WorldSpec
from vase.worlds.world import World

MAX_PARTS = 32
"""Means in a fingerprint, at most."""
FINGERPRINT_TOL = 0.05
"""Grey levels of 255 by which a mean over many pixels may differ between two readings of the same images."""
WorldFingerprints = dict[str, list[list[float]]]
"""World -> fingerprint of each of its arrays."""
_IN_FOLDER = re.compile(r"\d (pictures|frames) in ")


def world_fingerprints(plan: Plan) -> WorldFingerprints:
    """Fingerprints of the worlds that come from a folder of images; other data are verified by checksum."""
    found = {
        name: [fingerprint(array) for world in splits for array in _arrays(world, plan.settings)]
        for name, splits in plan.worlds.items()
    }
    return {name: parts for name, parts in found.items() if parts}


def fingerprint(values: np.ndarray) -> list[float]:
    """The number of images, and a weighted mean over the pixels of each of up to MAX_PARTS equal parts of them.

    Not a hash, because another processor or decoder may round a pixel differently; see FINGERPRINT_TOL.

    >>> fingerprint(np.full((3, 2, 2), 7, np.uint8))
    [3, 7.0, 7.0, 7.0]
    """
    weights = np.random.default_rng(0).random(values[0].size)
    parts = np.array_split(values.reshape(len(values), -1), min(MAX_PARTS, len(values)))
    return [len(values), *(round(float(part.mean(axis=0) @ weights / weights.sum()), 4) for part in parts)]


def _arrays(world: World, settings: RunSettings) -> list[np.ndarray]:
    """The images of a folder, and their labels; nothing for other worlds."""
    world = getattr(world, "inner", world)
    if isinstance(world, ArrayWorld):
        return [world.images] if world.labels is None else [world.images, world.labels]
    if isinstance(world, FrameWorld) and settings.frames is not None:
        return [world.frames]
    return []


class Fingerprints(Callback):
    """Refuses to resume a run with other images than those that it was started with."""

    def __init__(self, directory: RunDirectory, plan: Plan) -> None:
        self._directory, self._plan = directory, plan
        self._now = world_fingerprints(plan)
        self._checked = False

    def on_start(self, run: Run) -> None:
        """Without a checkpoint, compare folders by name."""
        if not self._checked:
            self.load_state_dict({"worlds": None})

    def state_dict(self) -> State:
        return {"worlds": self._now}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        sources = self._directory.read_config()["sources"]
        require_same_images(self._directory.path, self._plan, sources, state["worlds"], self._now)
        self._checked = True


def require_same_images(
    path: Path, plan: Plan, sources: Mapping[str, str], saved: WorldFingerprints | None, now: WorldFingerprints
) -> None:
    """Refuse other images than those that a run was started with: origin `sources`, fingerprints `saved`.

    If no fingerprints were saved, folders must have the same name.
    """
    for world, source in plan.sources.items():
        before = sources.get(world, "nothing")
        same = before == source or not (_IN_FOLDER.search(before) or _IN_FOLDER.search(source))
        if not (same if saved is None else _alike(saved.get(world, []), now.get(world, []))):
            what = "its images have changed" if before == source else f"now it would be {source}"
            remedy = "restore the original images"
            if WorldSpec.parse(world).picture_folder == "faces" and plan.settings.faces is None:
                value = os.environ.get(FACES_VARIABLE)
                remedy = f"{FACES_VARIABLE} is {value or 'not set'} in the environment, set it to its original value"
            raise ValueError(
                f"{path} was started with {before} for the world {world!r}, and {what}: {remedy} to resume, or start "
                "another run with another --out."
            )


def _alike(before: list[list[float]], now: list[list[float]]) -> bool:
    """Whether two worlds have the same images."""
    return [len(part) for part in before] == [len(part) for part in now] and all(
        a[0] == b[0] and np.allclose(a, b, rtol=0, atol=FINGERPRINT_TOL) for a, b in zip(before, now, strict=True)
    )
