"""rows.jsonl while it is written: appended to, and cut back to the last checkpoint after a crash."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

START: dict[str, Any] = {"bytes": 0, "sha256": hashlib.sha256().hexdigest()}
"""Position of an empty rows.jsonl."""


class RowWriter:
    """Appends rows. Its position is the size and the hash of the file, so that a resume can verify and cut it."""

    def __init__(self, path: Path, position: Mapping[str, Any]) -> None:
        """Open the file and truncate whatever a dead process wrote after the given position."""
        size, digest = int(position["bytes"]), hashlib.sha256()
        self._file = path.open("r+b" if path.exists() else "w+b")
        try:
            digest.update(self._file.read(size))
            if self._file.tell() != size or digest.hexdigest() != position["sha256"]:
                raise ValueError(
                    f"{path} does not start with the {size} bytes that its checkpoint expects: it was cut or altered; "
                    "restore it from a copy, or start a new run."
                )
            self._file.truncate()
        except BaseException:
            self._file.close()
            raise
        self._digest = digest

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
        try:
            self._file.close()
        except OSError:
            if not self._file.closed:
                raise
