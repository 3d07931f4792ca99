"""Runs that take a fraction of a second: a random projection on embedded digits, without probes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vase.training import RunDirectory, RunSettings

LEARNER = "training.random_projection:RandomProjection"
STREAM = "moving-digits*12,digits:12*8"


def cheap(**values: Any) -> RunSettings:
    """Settings of such a run: 20 steps, a checkpoint every 4 of them."""
    given = {"stream": STREAM, "batch_size": 4, "probes": "none", "device": "cpu", "checkpoint_every": 4}
    return RunSettings.of("smoke", **{**given, "learner": LEARNER, "rows_every": 2, **values})


def steps_of(path: Path) -> list[int]:
    """The steps of the checkpoints of a run."""
    return RunDirectory(path).checkpoints.steps()


def content(path: Path) -> tuple[bytes, list[bytes]]:
    """Rows, and the files of the last checkpoint, of a run."""
    folder = RunDirectory(path).checkpoints.path(steps_of(path)[-1])
    return (path / "rows.jsonl").read_bytes(), [file.read_bytes() for file in sorted(folder.iterdir())]
