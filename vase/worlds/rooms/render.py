"""The 3D worlds rendered once: frames as one array and their ground truth, both kept in the cache folder.

Frame i of a split depends on (seed, split, i) only, so an interrupted rendering goes on where it stopped. Factors are
the same on every machine, and pixels on every machine with the same OpenGL driver.
"""

from __future__ import annotations

import contextlib
import io
import logging
import time
import zipfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from jaxtyping import UInt8

from vase.files import read_arrays, replacing, write_arrays
from vase.worlds.checks import require_int
from vase.worlds.download import DataUnavailable, Report, cache_folder
from vase.worlds.rooms.scenes import SIZE, Scene, factors, make_scene

COUNTS = {"train": 12_000, "test": 2_000}  # frames of each world
VERSION = 1  # of the look of the worlds; frames of another version are not taken from the cache
PART = 500  # frames between two saves
FIRST = 20  # frames that the estimate of the time is made from
LIBRARIES = "libegl1 libgl1 libglu1-mesa libgl1-mesa-dri libfontconfig1 libfreetype6"  # Debian's, for OpenGL
_log = logging.getLogger("vase.worlds")


class Frames(NamedTuple):
    """Frames with their ground truth."""

    images: UInt8[np.ndarray, "N 64 64 3"]
    factors: dict[str, np.ndarray]


class Drawer(Protocol):
    """What draws scenes."""

    def draw(self, scene: Scene) -> tuple[UInt8[np.ndarray, "64 64 3"], Sequence[bool]]:
        """The frame, and for each ball whether it can be seen."""


def where(world: str, split: str, count: int | None = None, seed: int = 0) -> Path:
    """The array of a world's frames in the cache; the factors are beside it, in a file that ends in .npz."""
    count = COUNTS[split] if count is None else require_int("count", count, 1)
    return cache_folder() / world / f"{split}-{count}-seed{seed}-v{VERSION}.npy"


def is_rendered(world: str, split: str, count: int | None = None, seed: int = 0) -> bool:
    """Whether the frames are in the cache."""
    path = where(world, split, count, seed)
    return path.is_file() and path.with_suffix(".npz").is_file()


def rendered(world: str, split: str, count: int | None = None, seed: int = 0, report: Report | None = None) -> Frames:
    """Frames of a world from the cache, rendered first if they are missing; the array is mapped, not read.

    `count` frames, by default `COUNTS`; `seed` is that of the scenes, which both worlds share. `DataUnavailable` if a
    package or library is missing, or if the cache folder cannot be written.
    """
    path = where(world, split, count, seed)
    if not is_rendered(world, split, count, seed):
        _render(world, split, path, COUNTS[split] if count is None else count, seed, report or _log.info)
    try:
        images = np.load(path, mmap_mode="r")
        with np.load(path.with_suffix(".npz")) as kept:
            return Frames(images, dict(kept))
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise DataUnavailable(f"{path} cannot be read ({error}); delete it, and it is rendered again.") from error


def open_stage(world: str, scene: Scene) -> Drawer:
    """An object that draws a world without a screen, or `DataUnavailable` with the remedy."""
    try:
        import_module("pyglet").options["headless"] = True
        with contextlib.redirect_stdout(io.StringIO()):  # MiniWorld prints how many samples a pixel has
            stage = import_module("vase.worlds.rooms.stage")
            return stage.Stage(stage.LOOKS[world], scene)
    except ModuleNotFoundError as error:
        raise DataUnavailable(
            f"the world {world!r} is rendered with MiniWorld, and {error.name!r} is not installed: "
            "pip install miniworld==2.1.0, or name a folder with frames of yours (frames=DIR)."
        ) from error
    except Exception as error:  # pyglet raises errors of many types
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataUnavailable(
            f"the world {world!r} needs OpenGL without a screen, EGL, which does not work here ({reason}): "
            f"apt-get install {LIBRARIES}, or name a folder with frames of yours (frames=DIR)."
        ) from error


def _render(world: str, split: str, path: Path, count: int, seed: int, report: Report) -> None:
    """Render part by part, skip the parts that are there, and leave one array with its factors."""
    stage: Drawer | None = None
    images = np.empty((count, SIZE, SIZE, 3), np.uint8)
    kept: list[dict[str, np.ndarray]] = []
    progress = _Progress(f"{world} {split}", count, report)
    parts = [path.with_suffix(f".part{start}") for start in range(0, count, PART)]
    try:
        for part, start in zip(parts, range(0, count, PART), strict=True):
            stop = min(start + PART, count)
            if found := _kept(part):
                images[start:stop] = found.pop("images")
                progress.skip(stop)
            else:
                stage = stage or open_stage(world, make_scene(seed, split, start))
                found = _draw(stage, seed, split, images, range(start, stop), progress)
                write_arrays(part, {"images": images[start:stop], **found})
            kept.append(found)
        with replacing(path) as file:
            np.save(file, images)
        joined = {name: np.concatenate([found[name] for found in kept]) for name in kept[0]}
        write_arrays(path.with_suffix(".npz"), joined)
        for part in parts:
            part.unlink(missing_ok=True)
    except OSError as error:
        reason = f"{path.parent} cannot be written ({error.strerror or error})"
        raise DataUnavailable(f"{reason}; let VASE_DATA name another folder.") from error


def _kept(part: Path) -> dict[str, np.ndarray]:
    """What was rendered before; nothing if the file is not there, or another process has just finished with it."""
    try:
        return read_arrays(part)
    except (FileNotFoundError, ValueError):
        return {}


def _draw(
    stage: Drawer, seed: int, split: str, images: np.ndarray, indices: range, progress: _Progress
) -> dict[str, np.ndarray]:
    """Draw some frames into `images` and return their factors."""
    rows = []
    for index in indices:
        scene = make_scene(seed, split, index)
        images[index], visible = stage.draw(scene)
        rows.append(factors(scene, visible))
        progress.drawn(index + 1)
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


class _Progress:
    """Lines about the time that remains: after the first frames, and after every part."""

    def __init__(self, title: str, count: int, report: Report) -> None:
        self.title, self.count, self.report = title, count, report
        self.made, self.begin = 0, 0.0

    def skip(self, done: int) -> None:
        """Some frames were there."""
        if done % (10 * PART) == 0 or done == self.count:
            self.report(f"{self.title}: {done:,} of {self.count:,} frames were rendered before")

    def drawn(self, done: int) -> None:
        """One more frame; the first one pays for loading and is not timed."""
        now = time.monotonic()
        self.made += 1
        if self.made == 1:
            self.begin = now
        elif self.made == FIRST or done % PART == 0 or done == self.count:
            pace = (self.made - 1) / max(now - self.begin, 1e-9)
            left = (self.count - done) / pace
            rest = f"{pace:.0f} frames/s, about {left:.0f} s left" if done < self.count else f"{pace:.0f} frames/s"
            self.report(f"{self.title}: rendered {done:,} of {self.count:,} frames, {rest}")
