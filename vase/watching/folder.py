"""A folder that fills up: its pictures in the order in which they arrive, by name among those that arrive together."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from vase.watching.frames import Broken, Event, Frame, Notice
from vase.worlds.folders import ENDINGS
from vase.worlds.pictures import read_picture

POLL = 0.5
"""Seconds between two looks into the folder."""
SETTLE = 5.0
"""A picture that cannot be read is broken if nobody wrote to it for so many seconds; before, it may be unfinished."""


class FolderSource:
    """The pictures of a folder, without its subfolders, and those that are put there later."""

    def __init__(self, path: Path, idle: float | None = None) -> None:
        """`idle`: seconds without a new picture after which the source ends; None for never."""
        self.path, self.idle = path, idle
        self.name = str(path)
        self._seen: set[str] = set()
        self._unfinished: dict[str, int] = {}

    def events(self, wait: Callable[[float], bool]) -> Iterator[Event]:
        """Every picture once."""
        waited, lost = 0.0, False
        while not wait(0):
            found, present = False, self._present()
            if lost != (present is None):
                lost = not lost
                word = "is gone; waiting until it is back" if lost else "is back"
                yield Notice("lost" if lost else "back", f"folder {self.name} {word}")
            for event in self._new(present or set()):
                found = True
                yield event
                if wait(0):
                    return
            waited = 0.0 if found else waited + POLL
            if self.idle is not None and waited > self.idle and not self._unfinished:
                return
            if not found and wait(POLL):
                return

    def _present(self) -> set[str] | None:
        """The names of the pictures that are there; None if the folder is not."""
        try:
            with os.scandir(self.path) as entries:
                present = {entry.name for entry in entries if _is_picture(entry)}
        except OSError:
            return None
        self._seen &= present  # what was taken away need not be remembered
        self._unfinished = {name: size for name, size in self._unfinished.items() if name in present}
        return present

    def _new(self, present: set[str]) -> Iterator[Event]:
        """The pictures that are new since the last look."""
        for name in sorted(present - self._seen):
            event = self._read(name)
            if event is not None:
                self._seen.add(name)
                self._unfinished.pop(name, None)
                yield event

    def _read(self, name: str) -> Event | None:
        """A picture; None while it may still be written, or if it has gone."""
        try:
            written = (self.path / name).stat()
        except FileNotFoundError:
            self._unfinished.pop(name, None)
            return None
        if self._unfinished.get(name) == written.st_size and time.time() - written.st_mtime < SETTLE:
            return None
        try:
            picture = read_picture(self.path / name)
        except ValueError as error:
            if time.time() - written.st_mtime >= SETTLE:
                return Broken(name, str(error))
            self._unfinished[name] = written.st_size
            return None
        moment = datetime.fromtimestamp(written.st_mtime, UTC).isoformat(timespec="seconds")
        return Frame(np.asarray(picture), name, moment)

    def state_dict(self) -> dict[str, Any]:
        """The names that were handed out and are still there."""
        return {"seen": sorted(self._seen)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Hand out only what is not among those names."""
        self._seen = set(state["seen"])


def _is_picture(entry: os.DirEntry[str]) -> bool:
    hidden = entry.name.startswith(".")
    return not hidden and os.path.splitext(entry.name)[1].lower() in ENDINGS and entry.is_file()
