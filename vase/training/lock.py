"""The lock of a run directory: one process trains in it, and only as long as the directory is its own."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

NAME = ".lock"


class LostDirectory(OSError):
    """The directory was deleted, moved or replaced while this process was training in it."""


@dataclass(frozen=True)
class Lock:
    """A held lock; it ends with the process, however it ends."""

    folder: Path
    handle: int

    def require_held(self) -> None:
        """Refuse to write into a directory that is not the locked one any more, although it has the same name."""
        try:
            same = os.path.samestat(os.stat(self.folder / NAME), os.fstat(self.handle))
        except FileNotFoundError:
            same = False
        if not same:
            raise LostDirectory(
                f"{self.folder} is not the directory any more in which this process was training: it was deleted, "
                "moved or replaced meanwhile. Nothing was written to it; if it was moved, resume it there."
            )


@contextmanager
def lock(folder: Path) -> Iterator[Lock]:
    """Make a folder, and lock it against other processes."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / NAME, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(f"{folder} cannot be written ({reason}); name another directory with --out.") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FileExistsError(
                f"{folder}: another process is training there; wait for it, or name another one with --out."
            ) from None
        yield Lock(folder, handle)
    finally:
        os.close(handle)
