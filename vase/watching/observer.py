"""Observers: whatever shows or passes on what a watch finds."""

from __future__ import annotations

from vase.rows import Row
from vase.watching.records import Watched


class Observer:
    """Base class with hooks that do nothing."""

    def on_start(self, source: str, step: int) -> None:
        """Before the first batch; `step` batches were watched before, if the watch is resumed."""

    def on_note(self, text: str) -> None:
        """A message: a broken frame, a lost camera, a source too short for any change."""

    def on_row(self, row: Row) -> None:
        """After a row was written."""

    def on_step(self, seen: Watched) -> None:
        """After a batch."""

    def close(self) -> None:
        """After the last batch, or an error."""
