"""Injected faults: they hit, and a run that went through them is identical to an undisturbed one."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from cheap_runs import cheap, steps_of
from stop_at import StopAt

from benchmarks import faults
from vase.checkpoint import CheckpointError
from vase.training import Interrupted, RunDirectory, train

SETTINGS = cheap(checkpoint_every=2, stream="digits:12*16", canvas=16)


def test_a_run_through_faults_is_identical(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", f"{root}{os.pathsep}{root / 'tests'}")  # of the processes
    kinds = ("killed while learning", "damaged checkpoint")
    monkeypatch.setattr(faults, "FAULTS", {name: faults.FAULTS[name] for name in kinds})
    found = faults.campaign(2, SETTINGS, 0, tmp_path)
    assert sum(found["faults"].values()) == 2
    assert found["identical"] == found["runs"] >= 1  # a run may end before its fault hits


@pytest.mark.parametrize("name", [name for name, fault in faults.FAULTS.items() if "checkpoint" in name])
def test_files_of_the_newest_checkpoint_are_spoilt(tmp_path: Path, name: str) -> None:
    with pytest.raises(Interrupted):
        train(tmp_path / "run", SETTINGS, callbacks=[StopAt(5)])
    directory = RunDirectory(tmp_path / "run")
    faults.FAULTS[name].spoil(directory, random.Random(0))
    steps = steps_of(tmp_path / "run")
    for step in steps[:-1] if 5 in steps else steps:
        directory.checkpoints.load_step(step)
    with pytest.raises(CheckpointError):
        directory.checkpoints.load_step(5)


@pytest.mark.parametrize("name", ["disk full", "disk error"])
def test_broken_disks_end_a_run_with_an_explanation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for function in ("fsync", "replace"):
        monkeypatch.setattr(faults.os, function, getattr(faults.os, function))  # restored after the test
    faults.FAULTS[name].inject(random.Random(0))
    with pytest.raises(OSError, match=r"cannot be written: .* resume with: vase train --resume"):
        train(tmp_path / "run", SETTINGS)
