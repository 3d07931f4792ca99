"""A source that fails between two steps: the run is saved, and resumes with the batch that could not be drawn."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from cheap_runs import cheap, content, steps_of

from vase.training import train
from vase.training.broken_stream import BrokenStream
from vase.worlds import Batch, Schedule

SETTINGS = cheap(checkpoint_every=4, stream="digits:12*8", canvas=16)
DRAW = Schedule.batch


def failing(error: Exception, at: int) -> Callable[[Schedule, int], Batch]:
    """`Schedule.batch` with an error instead of one batch."""

    def batch(self: Schedule, t: int) -> Batch:
        if t == at:
            raise error
        return DRAW(self, t)

    return batch


def test_a_lost_camera_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train(tmp_path / "whole", SETTINGS)
    unplugged = OSError(errno.ENODEV, os.strerror(errno.ENODEV))
    monkeypatch.setattr(Schedule, "batch", failing(unplugged, at=6))
    with pytest.raises(BrokenStream, match=r"\(No such device\)\. The run is saved at step 6 of 8; resume with: vase"):
        train(tmp_path / "run", SETTINGS)
    assert steps_of(tmp_path / "run") == [0, 4, 6]
    monkeypatch.undo()
    train(tmp_path / "run", resume=True)
    assert content(tmp_path / "run") == content(tmp_path / "whole")


def test_another_error_stays_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Schedule, "batch", failing(KeyError("lens"), at=2))
    with pytest.raises(KeyError) as caught:
        train(tmp_path / "run", SETTINGS)
    assert caught.value.__notes__ == [
        f"The run is saved at step 2 of 8; resume with: vase train --resume --out {tmp_path / 'run'}"
    ]
    assert steps_of(tmp_path / "run") == [0, 2]


def test_a_run_that_was_moved_away_is_not_resumed_in_its_old_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unplug_and_move(self: Schedule, t: int) -> Batch:
        if t == 3:
            (tmp_path / "run").rename(tmp_path / "gone")
            raise OSError("the camera is gone")
        return DRAW(self, t)

    monkeypatch.setattr(Schedule, "batch", unplug_and_move)
    with pytest.raises(BrokenStream, match=r"\(the camera is gone\)\. .*run is not the directory any more") as caught:
        train(tmp_path / "run", SETTINGS)
    assert "--resume" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_full_disk_at_the_same_time_does_not_hide_the_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unplug_and_fill(self: Schedule, t: int) -> Batch:
        if t == 3:
            monkeypatch.setattr(os, "replace", full)
            raise OSError("the camera is gone")
        return DRAW(self, t)

    def full(*names: str, **folders: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Schedule, "batch", unplug_and_fill)
    with pytest.raises(BrokenStream, match=r"\(the camera is gone\)\. The run is stopped after step 3 of 8; resume"):
        train(tmp_path / "run", SETTINGS)
    assert steps_of(tmp_path / "run") == [0]
