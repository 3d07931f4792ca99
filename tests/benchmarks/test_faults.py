"""Injected faults: they hit, and a run that went through them is identical to an undisturbed one."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest
from cheap_runs import cheap, steps_of
from stop_at import StopAt

from benchmarks import fault_kinds, faults
from benchmarks.fault_kinds import FAULTS
from benchmarks.fault_scenes import Scene, alone, holder, scenes
from vase.checkpoint import CheckpointError
from vase.training import Interrupted, RunDirectory, RunSettings, train
from vase.training.broken_stream import BrokenStream
from vase.training.lock import lock
from vase.worlds import Schedule

SETTINGS = cheap(checkpoint_every=2, stream="digits:12*16", canvas=16)
SMALL = RunSettings.of(
    "smoke", stream="digits:12*30", batch_size=8, probes="none", device="cpu", checkpoint_every=5, rows_every=3
)


def test_a_run_through_faults_is_identical(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", f"{root}{os.pathsep}{root / 'tests'}")  # of the processes
    kinds = ("killed while learning", "damaged checkpoint")
    scene = Scene(alone, {name: FAULTS[name] for name in kinds}, 1.0)
    found = faults.campaign(2, SETTINGS, scene, 0, tmp_path)
    assert sum(found["faults"].values()) == 2
    assert found["identical"] == found["runs"] >= 1  # a run may end before its fault hits


@pytest.mark.parametrize("number", [1, 2])
def test_lost_ranks_and_killed_workers_of_a_sweep_leave_nothing_behind(tmp_path: Path, number: int) -> None:
    scene = scenes("smoke")[number]
    found = faults.campaign(1, SMALL, scene, 0, tmp_path)
    assert found == {"faults": dict.fromkeys(scene.faults, 1), "runs": found["runs"], "identical": found["runs"]}


def test_a_lost_source_is_injected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Schedule, "batch", Schedule.batch)  # restored after the test
    FAULTS["source lost"].inject(random.Random(0))
    with pytest.raises(BrokenStream, match=r"\(No such device\)\. The run is saved"):
        train(tmp_path / "run", SETTINGS)


def test_the_process_that_holds_a_lock(tmp_path: Path) -> None:
    assert holder(tmp_path / ".lock") is None
    with lock(tmp_path):
        assert holder(tmp_path / ".lock") == os.getpid()
    assert holder(tmp_path / ".lock") is None


def test_the_table_by_hand(tmp_path: Path) -> None:
    smoke = {"command": "a", "faults": {"disk full": 3, "lost rank": 2}, "runs": 2, "identical": 2}
    laptop = {"command": "b", "faults": {"disk full": 4}, "runs": 1, "identical": 1}
    for name, result in (("smoke", smoke), ("laptop", laptop)):
        (tmp_path / f"{name}.json").write_text(json.dumps(result))
    lines = faults.results_table(tmp_path).splitlines()
    assert lines[0] == "| fault | smoke | laptop | all |"
    assert lines[2:5] == ["| disk full | 3 | 4 | 7 |", "| lost rank | 2 | – | 2 |", "| **all** | 5 | 4 | **9** |"]
    assert lines[5] == "| runs that were hit | 2 | 1 | 3 |"


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if "checkpoint" in name])
def test_files_of_the_newest_checkpoint_are_spoilt(tmp_path: Path, name: str) -> None:
    with pytest.raises(Interrupted):
        train(tmp_path / "run", SETTINGS, callbacks=[StopAt(5)])
    directory = RunDirectory(tmp_path / "run")
    FAULTS[name].spoil(directory, random.Random(0))
    steps = steps_of(tmp_path / "run")
    for step in steps[:-1] if 5 in steps else steps:
        directory.checkpoints.load_step(step)
    with pytest.raises(CheckpointError):
        directory.checkpoints.load_step(5)


@pytest.mark.parametrize("name", ["disk full", "disk error"])
def test_broken_disks_end_a_run_with_an_explanation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for function in ("fsync", "replace"):
        monkeypatch.setattr(fault_kinds.os, function, getattr(fault_kinds.os, function))  # restored after the test
    FAULTS[name].inject(random.Random(0))
    with pytest.raises(OSError, match=r"cannot be written: .* resume with: vase train --resume"):
        train(tmp_path / "run", SETTINGS)
