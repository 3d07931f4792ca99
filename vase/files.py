"""Files that are written as a whole or not at all, into the folder that was meant."""

from __future__ import annotations

import io
import json
import os
import secrets
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

PART = ".vase-part"
"""Ending of files that are being written; nobody else's files end like this."""
Guard = Callable[[], None]
"""Raises if a folder is no longer the caller's, e.g. because another one has taken its name."""


def unguarded() -> None:
    """The guard of folders that nobody contests."""


@dataclass(frozen=True)
class HeldFolder:
    """A folder by its open handle: its files are written and deleted there, whichever folder has its name by now."""

    handle: int

    def names(self) -> list[str]:
        """Names of everything in it."""
        return sorted(os.listdir(self.handle))

    def open(self, name: str) -> BinaryIO:
        """A file to read and to change in place, made if it is missing."""
        return os.fdopen(os.open(name, os.O_RDWR | os.O_CREAT, 0o644, dir_fd=self.handle), "r+b")

    def rename(self, name: str, new: str) -> None:
        """Give a file or a folder another name."""
        os.rename(name, new, src_dir_fd=self.handle, dst_dir_fd=self.handle)

    def remove(self, name: str) -> None:
        """Delete a file, if it is there."""
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.handle)

    def remove_folder(self, name: str) -> None:
        """Delete an empty folder, if it is there."""
        with suppress(FileNotFoundError):
            os.rmdir(name, dir_fd=self.handle)

    def remove_parts(self) -> None:
        """Delete the half-written files that a killed process left."""
        for name in self.names():
            if name.startswith(".") and name.endswith(PART):
                with suppress(IsADirectoryError, PermissionError):
                    self.remove(name)

    def holds(self, name: str, data: bytes) -> bool:
        """Whether a file has exactly this content."""
        try:
            with os.fdopen(os.open(name, os.O_RDONLY, dir_fd=self.handle), "rb") as file:
                return file.read() == data
        except FileNotFoundError:
            return False

    def write(self, name: str, data: bytes) -> None:
        """Write a file so that a crash leaves the old content or the new, never a part."""
        with self.replacing(name) as file:
            file.write(data)

    @contextmanager
    def replacing(self, name: str) -> Iterator[BinaryIO]:
        """A file that takes the place of `name` once all of it is written."""
        part = f".{name}.{secrets.token_hex(4)}{PART}"
        new = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=self.handle)
        try:
            with os.fdopen(new, "w+b") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, name, src_dir_fd=self.handle, dst_dir_fd=self.handle)
        except BaseException:
            self.remove(part)
            raise
        os.fsync(self.handle)


@contextmanager
def hold_folder(path: Path, guard: Guard = unguarded) -> Iterator[HeldFolder]:
    """Open a folder, made if it is missing. `guard` is asked after opening: the handle is of the folder it approves."""
    handle = _open(path, guard)
    try:
        yield HeldFolder(handle)
    finally:
        os.close(handle)


def _open(path: Path, guard: Guard) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY
    try:
        handle = os.open(path, flags)
    except FileNotFoundError:
        if path == path.parent:
            raise
        with hold_folder(path.parent, guard) as parent:
            with suppress(FileExistsError):
                os.mkdir(path.name, dir_fd=parent.handle)
            return os.open(path.name, flags, dir_fd=parent.handle)
    try:
        guard()
    except BaseException:
        os.close(handle)
        raise
    return handle


def remove_parts(path: Path, guard: Guard = unguarded) -> None:
    """Delete the half-written files that a killed process left in a folder."""
    if path.is_dir():
        with hold_folder(path, guard) as folder:
            folder.remove_parts()


@contextmanager
def replacing(path: Path, guard: Guard = unguarded) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` once all of it is written: a crash leaves the old content or the new."""
    with hold_folder(path.parent, guard) as folder, folder.replacing(path.name) as file:
        yield file


def write_bytes(path: Path, data: bytes, guard: Guard = unguarded) -> None:
    """Write a file so that a crash leaves the old content or the new, never a part."""
    with replacing(path, guard) as file:
        file.write(data)


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray], guard: Guard = unguarded) -> None:
    """`write_bytes` for named arrays, as one compressed file that `numpy.load` reads."""
    with replacing(path, guard) as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # its stub mistakes names for options


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """What `write_arrays` wrote; a damaged file is a ValueError."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (ValueError, TypeError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError) as error:
        raise ValueError(f"{path} is damaged ({error}); restore it from a copy, or run it again.") from error


def write_json(path: Path, value: Any, guard: Guard = unguarded) -> None:
    """`write_bytes` for a JSON value, indented for people."""
    write_bytes(path, json_bytes(value), guard)


def json_bytes(value: Any) -> bytes:
    """A JSON value as the bytes of a file, indented for people."""
    return (json.dumps(value, indent=1) + "\n").encode()


def read_json(path: Path) -> Any:
    """The JSON value of a file; what is no JSON, or nested too deeply, is a ValueError."""
    try:
        return json.loads(path.read_bytes())
    except RecursionError:
        raise ValueError("nested too deeply") from None
