"""The directory of a watch.

watch.json      settings, configuration of the learner, versions
rows.jsonl      one JSON object per line: batches, switches, broken frames, a lost camera
checkpoints/    the last few: learner, position in the source and in rows.jsonl, committed as one unit
snapshots/      a picture of each environment
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from vase import checkpoint
from vase.config import VASEConfig
from vase.files import read_json, write_bytes, write_json
from vase.method.mixture import NONE
from vase.training.directory import versions
from vase.training.lock import LockedDirectory
from vase.watching.settings import WatchSettings

FORMAT = 1
FILE = "watch.json"
SNAPSHOT_SIDE = 640
"""Longest side of a snapshot in pixels."""
_CONTENT = {"settings": dict, "config": dict, "learner": str}


class WatchDirectory(LockedDirectory):
    """Paths, configuration, checkpoints and snapshots of one watch."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path, kind="watch", marker=FILE, pictures="snapshots")
        self.snapshots = self.pictures_path

    def write(self, settings: WatchSettings, config: VASEConfig, learner: str) -> None:
        """Write watch.json."""
        value = {"format": FORMAT, "settings": settings.to_dict(), "config": config.to_dict(), "learner": learner}
        write_json(self.path / FILE, {**value, "versions": versions()}, self.require_own)

    def settings(self) -> WatchSettings:
        """The settings that the watch was started with, or last resumed with."""
        try:
            return WatchSettings.from_dict(self._read()["settings"])
        except TypeError as error:
            raise ValueError(f"{self.path / FILE} is damaged ({error}); restore it from a copy.") from error

    def config(self) -> VASEConfig:
        """The configuration of the learner."""
        return VASEConfig.from_dict(self._read()["config"])

    def learner_name(self) -> str:
        """Which learner it is, as in `WatchSettings.learner`."""
        return str(self._read()["learner"])

    def _read(self) -> dict[str, Any]:
        path = self.path / FILE
        if not path.exists():
            raise FileNotFoundError(f"{self.path} is not a watch: it holds no {FILE}; start it without --resume.")
        try:
            value = read_json(path)
            written = value["format"]
            damaged = [name for name, kind in _CONTENT.items() if not isinstance(value.get(name), kind)]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path} is damaged ({error}); restore it from a copy, or start a new watch.") from error
        if written != FORMAT or damaged:
            what = f"format {written}" if written != FORMAT else f"no valid {damaged[0]!r}"
            raise ValueError(f"{path} has {what}; use the version of vase that wrote it, or start a new watch.")
        return dict(value)

    def save(self, state: checkpoint.State, keep: int) -> None:
        """Commit a state as one unit."""
        self.checkpoints.save(int(state["watch"]["step"]), state, keep, self.require_own)

    def load(self) -> checkpoint.State:
        """The newest intact state."""
        return self.checkpoints.load()

    def snapshot_path(self, environment: int) -> Path:
        """Where the picture of an environment is kept."""
        return self.snapshots / ("unknown.png" if environment == NONE else f"{environment:03d}.png")

    def keep_snapshot(self, environment: int, pixels: np.ndarray) -> Path:
        """Write the picture of an environment, replacing an earlier one."""
        path = self.snapshot_path(environment)
        picture = Image.fromarray(np.ascontiguousarray(pixels))
        picture.thumbnail((SNAPSHOT_SIDE, SNAPSHOT_SIDE), Image.Resampling.BOX)
        data = io.BytesIO()
        picture.save(data, "PNG")
        write_bytes(path, data.getvalue(), self.require_own)
        return path
