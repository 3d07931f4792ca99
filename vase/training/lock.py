"""The lock of a directory: one process trains in it, and only as long as the directory is its own."""

from __future__ import annotations

import fcntl
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from vase.files import remove_parts
from vase.generations import FOLDER, Generations

NAME = ".lock"


class LostDirectory(OSError):
    """The directory was deleted, moved or replaced while this process was using it."""


@dataclass(frozen=True)
class Held:
    """A directory that this process holds by an open handle: of its lock, which ends with the process, or of itself."""

    folder: Path
    handle: int
    name: str = NAME
    """What the handle is of, within the directory; empty for the directory."""

    def require(self) -> None:
        """Refuse to write into a directory that is not the held one any more, although it has the same name."""
        try:
            same = os.path.samestat(os.stat(self.folder / self.name), os.fstat(self.handle))
        except (FileNotFoundError, NotADirectoryError):
            same = False
        if not same:
            raise LostDirectory(
                f"{self.folder} is not the directory any more in which this process was working: it was deleted, "
                "moved or replaced meanwhile. Nothing was written to it; if it was moved, go on there."
            )


@contextmanager
def lock(folder: Path) -> Iterator[Held]:
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
        yield Held(folder, handle)
    finally:
        os.close(handle)


class LockedDirectory:
    """A directory with rows, checkpoints and pictures, into which one process at a time writes.

    Args:
      path: the directory, which need not exist yet.
      kind: what it is in messages, e.g. "run".
      marker: the file that tells such a directory from any other.
      pictures: the name of its folder of pictures.
    """

    def __init__(self, path: str | os.PathLike[str], *, kind: str, marker: str, pictures: str) -> None:
        self.path = Path(path)
        self.rows_path = self.path / "rows.jsonl"
        self.checkpoints = Generations(self.path / FOLDER)
        self.pictures_path = self.path / pictures
        self._kind, self._marker = kind, self.path / marker
        self._held: Held | None = None

    def exists(self) -> bool:
        """Whether something was started here."""
        return self._marker.is_file()

    def require_free(self) -> None:
        """Refuse a path that already holds something."""
        if self.path.exists() and not self.path.is_dir():
            raise FileExistsError(f"{self.path} is a file; name another directory with --out.")
        if self.path.is_dir() and any(not entry.name.startswith(".") for entry in self.path.iterdir()):
            what = f"is a {self._kind} already" if self.exists() else "already exists and is not empty"
            raise FileExistsError(f"{self.path} {what}: resume it with --resume, or name another directory with --out.")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the directory for this process, and remove what a killed one left half-written."""
        with lock(self.path) as self._held:
            try:
                for folder in (self.path, self.pictures_path):
                    remove_parts(folder, self.require_own)
                self.checkpoints.tidy(self.require_own)
                yield
            finally:
                self._held = None

    def remember(self) -> None:
        """Hold the directory without a lock, before reading what is written about it later.

        Nothing happens if it cannot be opened: nothing can be written to it either.
        """
        with suppress(OSError):
            handle = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
            weakref.finalize(self, os.close, handle)
            self._held = Held(self.path, handle, "")

    def require_own(self) -> None:
        """Refuse to write, once locked or remembered, into a directory that has taken the place of that one."""
        if self._held is not None:
            self._held.require()
