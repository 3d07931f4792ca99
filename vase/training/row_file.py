"""rows.jsonl: one JSON object per line, appended while a run lasts, verified by the size and hash in its checkpoint."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from vase.files import Guard, hold_folder, unguarded
from vase.rows import Row, misfit

START: dict[str, Any] = {"bytes": 0, "sha256": hashlib.sha256().hexdigest()}
"""Position of an empty file."""


class RowWriter:
    """Appends rows. Its position is the size and the hash of the file: a resume verifies and cuts it."""

    def __init__(self, path: Path, position: Mapping[str, Any], guard: Guard = unguarded) -> None:
        """Open the file and truncate whatever a dead process wrote after the given position."""
        with hold_folder(path.parent, guard) as folder:
            self._file = folder.open(path.name)
        data = self._file.read(int(position["bytes"]))
        try:
            self._digest = _verified(path, data, position)
        except ValueError:
            self._file.close()
            raise
        self._file.truncate()

    def write(self, row: Mapping[str, Any]) -> None:
        """Append one row; it is on disk after the next `sync`."""
        line = json.dumps(row, separators=(",", ":"), allow_nan=False, ensure_ascii=False).encode() + b"\n"
        self._file.write(line)
        self._digest.update(line)

    def sync(self) -> dict[str, Any]:
        """Bring all rows to disk; returns the position for the checkpoint."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return {"bytes": self._file.tell(), "sha256": self._digest.hexdigest()}

    def close(self) -> None:
        """Close the file; an error while closing must not hide the one that led here."""
        with suppress(OSError):
            self._file.close()


def read_rows(path: Path, position: Mapping[str, Any] = START) -> list[Row]:
    """All complete rows; those up to the position must be the ones that its checkpoint was saved with."""
    data = path.read_bytes() if path.exists() else b""
    _verified(path, data[: int(position["bytes"])], position)
    try:
        return [_row(line) for line in data.split(b"\n")[:-1]]
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged ({error}); restore it from a copy.") from error


def prefix(path: Path, position: Mapping[str, Any]) -> bytes:
    """The verified bytes of the file up to a position."""
    data = path.read_bytes()[: int(position["bytes"])] if path.exists() else b""
    _verified(path, data, position)
    return data


def _verified(path: Path, data: bytes, position: Mapping[str, Any]) -> Any:
    """The running hash of the first bytes of a file, which must be those of a position."""
    size, digest = int(position["bytes"]), hashlib.sha256(data)
    if len(data) != size or digest.hexdigest() != position["sha256"]:
        raise ValueError(
            f"{path} does not start with the {size} bytes that its checkpoint expects: it was cut or altered; "
            "restore it from a copy, or start a new run."
        )
    return digest


def _row(line: bytes) -> Row:
    row = json.loads(line)
    if problem := misfit(row):
        raise ValueError(problem)
    return dict(row)
