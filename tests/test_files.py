"""Files are written as a whole, into the folder that was meant, however often another folder takes its name."""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

from vase import files
from vase.files import PART, HeldFolder, hold_folder, remove_parts, replacing, write_bytes
from vase.training.lock import LockedDirectory, LostDirectory

CALLS = ("open", "mkdir", "listdir", "replace", "unlink", "rmdir", "fsync")
"""What vase.files asks of the system."""


class Interrupter:
    """Calls `action` just before the given call to the system, counted from 0."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int, action: Callable[[], None]) -> None:
        self.calls, self._at, self._action = 0, at, action
        for name in CALLS:
            monkeypatch.setattr(files.os, name, self._wrapped(getattr(os, name)))

    def _wrapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            self.calls += 1
            if self.calls - 1 == self._at:
                self._action()
            return function(*arguments, **options)

        return call


def content(folder: Path) -> dict[str, bytes | None]:
    """All files of a folder, and its folders as None."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def state(step: int) -> dict[str, Any]:
    return {"learner": {"w": torch.full((2,), float(step))}, "run": {"step": step}}


def directory(path: Path) -> LockedDirectory:
    return LockedDirectory(path, kind="run", marker="config.json", pictures="figures")


def saved(path: Path, *steps: int) -> None:
    """A run with checkpoints of some steps, and nobody in it."""
    run = directory(path)
    with run.locked():
        for step in steps:
            run.checkpoints.save(step, state(step), 9, run.require_own)


def interrupted_save(path: Path, at: int, action: Callable[[], None]) -> tuple[int, bool]:
    """Save a fourth checkpoint, with `action` at some call to the system: (calls, whether it was refused)."""
    run = directory(path)
    with run.locked(), pytest.MonkeyPatch.context() as monkeypatch:
        interrupter = Interrupter(monkeypatch, at, action)
        try:
            run.checkpoints.save(4, state(4), 2, run.require_own)
        except LostDirectory:
            return interrupter.calls, True
        return interrupter.calls, False


def calls_of_a_save(path: Path) -> int:
    saved(path, 1, 2, 3)
    return interrupted_save(path, -1, lambda: None)[0]


def test_a_save_writes_nothing_into_a_run_that_took_its_place_at_any_moment(tmp_path: Path) -> None:
    """Ctrl-Z, mv, the same command again, fg: at every call to the system."""
    total = calls_of_a_save(tmp_path / "whole")
    assert total > 20
    refused = 0
    for at in range(total):
        here, gone = tmp_path / f"{at}" / "run", tmp_path / f"{at}" / "gone"
        saved(here, 1, 2, 3)
        found: dict[str, bytes | None] = {}

        def take_its_place(here: Path = here, gone: Path = gone, found: dict[str, bytes | None] = found) -> None:
            here.rename(gone)
            saved(here, 1, 4)
            found |= content(here)

        refused += interrupted_save(here, at, take_its_place)[1]
        assert content(here) == found, f"call {at} of {total}"
        assert not [name for name in content(gone) if name.endswith(PART)]
        assert directory(gone).checkpoints.load()["run"]["step"] in (3, 4)
    assert 0 < refused < total


def test_a_save_brings_no_deleted_run_back(tmp_path: Path) -> None:
    """Ctrl-Z, rm -rf, fg: at every call to the system."""
    for at in range(calls_of_a_save(tmp_path / "whole")):
        here = tmp_path / f"{at}"
        saved(here, 1, 2, 3)
        with suppress(FileNotFoundError):  # which the trainer explains
            interrupted_save(here, at, lambda here=here: shutil.rmtree(here))  # type: ignore[misc]
        assert not here.exists(), f"call {at}"


def test_a_failure_while_writing_leaves_the_old_file_alone(tmp_path: Path) -> None:
    write_bytes(tmp_path / "one", b"old")

    def fail() -> None:
        with replacing(tmp_path / "one") as file:
            file.write(b"new")
            raise RuntimeError("disk")

    with pytest.raises(RuntimeError, match="disk"):
        fail()
    assert content(tmp_path) == {"one": b"old"}


def test_files_can_be_read_by_others(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        write_bytes(tmp_path / "one", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "one").stat().st_mode & 0o777 == 0o644


def test_only_half_written_files_are_removed(tmp_path: Path) -> None:
    (tmp_path / f".mine.{PART}").write_bytes(b"x")
    (tmp_path / f"mine{PART}").write_bytes(b"x")
    (tmp_path / ".env.local").write_bytes(b"x")
    (tmp_path / f".folder{PART}").mkdir()
    remove_parts(tmp_path)
    remove_parts(tmp_path / "missing")
    assert set(content(tmp_path)) == {f"mine{PART}", ".env.local", f".folder{PART}"}


def test_a_guard_is_asked_after_the_folder_is_open_and_before_one_is_made(tmp_path: Path) -> None:
    def refuse() -> None:
        raise LostDirectory("not yours")

    for path in (tmp_path, tmp_path / "new" / "newer"):
        with pytest.raises(LostDirectory), hold_folder(path, refuse):
            raise AssertionError("was opened")
    assert content(tmp_path) == {}
    with hold_folder(tmp_path / "new" / "newer") as folder:
        folder.write("a", b"1")
        assert folder.names() == ["a"]
        assert folder.holds("a", b"1")
        assert not folder.holds("a", b"2")
        assert not folder.holds("b", b"1")
    assert content(tmp_path) == {"new": None, "new/newer": None, "new/newer/a": b"1"}


def test_a_missing_file_or_folder_needs_no_removal(tmp_path: Path) -> None:
    with hold_folder(tmp_path) as folder:
        folder.remove("a")
        folder.remove_folder("b")
        assert isinstance(folder, HeldFolder)
