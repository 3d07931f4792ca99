"""Files are written as a whole, into the folder that was meant, however often another folder takes its name."""

import fcntl
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
from vase.training.row_file import START, RowWriter

CALLS = ("open", "mkdir", "listdir", "replace", "rename", "unlink", "rmdir", "fsync")
"""What vase.files asks of the system."""
Action = Callable[[], None]


class Interrupter:
    """Calls `action` just before the given call to the system, counted from 0 once a directory was locked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int, action: Action) -> None:
        self.calls, self._at, self._action, self._counts = 0, at, action, False
        for name in CALLS:
            monkeypatch.setattr(files.os, name, self._wrapped(getattr(os, name)))
        flock = fcntl.flock

        def count(handle: int, operation: int) -> None:
            flock(handle, operation)
            self._counts = True

        monkeypatch.setattr(fcntl, "flock", count)

    def _wrapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            self.calls += self._counts
            if self._counts and self.calls - 1 == self._at:
                self._at = -1
                self._action()
            return function(*arguments, **options)

        return call


def content(folder: Path) -> dict[str, bytes | None]:
    """All files of a folder, and its folders as None."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def parts(folder: Path) -> set[str]:
    """Names of half-written files."""
    return {name for name in content(folder) if name.endswith(PART)}


def state(step: int) -> dict[str, Any]:
    return {"learner": {"w": torch.full((2,), float(step))}, "run": {"step": step}}


def directory(path: Path) -> LockedDirectory:
    return LockedDirectory(path, kind="run", marker="config.json", pictures="figures")


def make_run(path: Path, *steps: int) -> None:
    """A run with rows, checkpoints of some steps, and what a save under way has written so far."""
    run = directory(path)
    with run.locked():
        for step in steps:
            run.checkpoints.save(step, state(step), 9, run.require_own)
    shutil.copytree(run.checkpoints.path(1), run.checkpoints.folder / "replaced-000000004")
    run.checkpoints.path(9).mkdir()
    for file in (path / f".a{PART}", run.checkpoints.path(9) / f".b{PART}", run.rows_path):
        file.write_bytes(b"rows\n")
    (run.checkpoints.path(9) / "learner-0123456789abcdef.safetensors").write_bytes(b"tensors")


def save(run: LockedDirectory) -> None:
    run.checkpoints.save(5, state(5), 2, run.require_own)


def set_aside(run: LockedDirectory) -> None:
    run.checkpoints.set_aside_after(2, run.require_own)


def open_rows(run: LockedDirectory) -> None:
    RowWriter(run.rows_path, START, run.require_own).close()


def interrupted(path: Path, work: Callable[[LockedDirectory], None], at: int, action: Action) -> tuple[int, bool]:
    """Lock a run and work in it, with `action` at some call to the system: (calls, whether it was refused)."""
    run = directory(path)
    with pytest.MonkeyPatch.context() as monkeypatch:
        interrupter = Interrupter(monkeypatch, at, action)
        try:
            with run.locked():
                work(run)
        except LostDirectory:
            return interrupter.calls, True
        return interrupter.calls, False


def calls_of(path: Path, work: Callable[[LockedDirectory], None]) -> int:
    make_run(path, 1, 2, 4)
    return interrupted(path, work, -1, lambda: None)[0]


@pytest.mark.parametrize("work", [save, set_aside, open_rows])
def test_nothing_changes_in_a_run_that_took_the_place_of_another_at_any_moment(
    tmp_path: Path, work: Callable[[LockedDirectory], None]
) -> None:
    """Ctrl-Z, mv, the same command again, fg: at every call to the system."""
    total = calls_of(tmp_path / "whole", work)
    assert total > 10
    refused = 0
    for at in range(total):
        here, gone = tmp_path / f"{at}" / "run", tmp_path / f"{at}" / "gone"
        make_run(here, 1, 2, 4)
        found: dict[str, bytes | None] = {}

        def take_its_place(here: Path = here, gone: Path = gone, found: dict[str, bytes | None] = found) -> None:
            here.rename(gone)
            make_run(here, 1, 4)
            found |= content(here)

        refused += interrupted(here, work, at, take_its_place)[1]
        assert content(here) == found, f"call {at} of {total}"
        assert parts(gone) <= parts(here)
        assert directory(gone).checkpoints.load()["run"]["step"] in (2, 4, 5)
    assert 0 < refused < total


@pytest.mark.parametrize("work", [save, set_aside, open_rows])
def test_a_deleted_run_does_not_come_back(tmp_path: Path, work: Callable[[LockedDirectory], None]) -> None:
    """Ctrl-Z, rm -rf, fg: at every call to the system."""
    for at in range(calls_of(tmp_path / "whole", work)):
        here = tmp_path / f"{at}"
        make_run(here, 1, 2, 4)
        with suppress(FileNotFoundError):  # which the trainer explains
            interrupted(here, work, at, lambda here=here: shutil.rmtree(here))  # type: ignore[misc]
        assert not here.exists(), f"call {at}"


def test_a_file_in_the_place_of_a_run_is_not_the_run(tmp_path: Path) -> None:
    run = directory(tmp_path / "run")
    with run.locked():
        shutil.rmtree(run.path)
        run.path.write_bytes(b"mine")
        with pytest.raises(LostDirectory, match="deleted, moved or replaced"):
            run.require_own()
    assert run.path.read_bytes() == b"mine"


def test_a_lock_that_could_not_tidy_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its handle is closed: nothing may be compared with it."""
    run = directory(tmp_path / "run")

    def full(path: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "listdir", full)
    with pytest.raises(OSError, match="No space left"), run.locked():
        raise AssertionError("was locked")
    run.require_own()


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
