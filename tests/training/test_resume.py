"""What may change when a run is resumed: how it is operated, and the lengths of stages to come."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cheap_runs import STREAM, cheap, content, steps_of
from stop_at import StopAt

from vase.cli import main
from vase.training import Interrupted, RunDirectory, train

LONGER = "moving-digits*12,digits:12*15"


def stopped(path: Path, step: int = 14) -> Path:
    with pytest.raises(Interrupted):
        train(path, cheap(), callbacks=[StopAt(step)])
    return path


def test_the_newest_checkpoints_are_kept(tmp_path: Path) -> None:
    train(tmp_path / "three", cheap())
    assert steps_of(tmp_path / "three") == [12, 16, 20]
    train(tmp_path / "one", cheap(keep=1))
    assert steps_of(tmp_path / "one") == [20]
    assert content(tmp_path / "one")[0] == content(tmp_path / "three")[0]


def test_operation_may_change_and_rows_do_not(tmp_path: Path) -> None:
    run = stopped(tmp_path / "run")
    anew = ["--checkpoint-every", "5", "--keep", "2", "--threads", "2", "--device", "cpu", "--quiet"]
    assert main(["train", "--resume", "--out", str(run), *anew]) == 0
    assert steps_of(run) == [15, 20]
    train(tmp_path / "whole", cheap())
    assert (run / "rows.jsonl").read_bytes() == (tmp_path / "whole" / "rows.jsonl").read_bytes()


@pytest.mark.parametrize("step", [10, 14, 20])
def test_a_longer_last_stage_gives_the_run_that_was_long_from_the_start(tmp_path: Path, step: int) -> None:
    """Also of a finished run, whose last rows say that it ended: it goes back to the checkpoint before them."""
    run, whole = tmp_path / "run", tmp_path / "whole"
    if step < 20:
        stopped(run, step)
    else:
        train(run, cheap())
    assert main(["train", "--resume", "--out", str(run), "--stream", LONGER, "--quiet"]) == 0
    train(whole, cheap(stream=LONGER))
    assert (run / "rows.jsonl").read_bytes() == (whole / "rows.jsonl").read_bytes()
    ours, theirs = (RunDirectory(path).learner().state_dict() for path in (run, whole))
    assert ours == theirs
    assert RunDirectory(run).timeline().total == 27
    assert train(run, resume=True)["total"] == 27, "it stays longer"


def test_the_configuration_does_not_follow_a_longer_stage(tmp_path: Path) -> None:
    """The laptop preset shapes its schedules by the length of the first stage, which was decided at the start."""
    short = {"stream": "digits:12*6", "canvas": 16, "checkpoint_every": 2}
    settings = cheap(**short, preset="laptop")
    train(tmp_path / "run", settings)
    before = RunDirectory(tmp_path / "run").read_config()["config"]
    assert main(["train", "--resume", "--out", str(tmp_path / "run"), "--stream", "digits:12*9", "--quiet"]) == 0
    assert RunDirectory(tmp_path / "run").read_config()["config"] == before
    assert train(tmp_path / "run", resume=True)["complete"]


def test_steps_lengthen_stages_without_a_length_of_their_own(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        train(tmp_path / "run", cheap(stream="digits:12", steps=6), callbacks=[StopAt(4)])
    assert main(["train", "--resume", "--out", str(tmp_path / "run"), "--steps", "9", "--quiet"]) == 0
    assert json.loads((tmp_path / "run" / "config.json").read_text())["stages"] == [["digits:12", 9]]
    assert RunDirectory(tmp_path / "run").is_complete()


def test_a_past_stage_cannot_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    train(run, cheap())
    other = STREAM.replace("*12", "*11", 1)
    assert main(["train", "--resume", "--out", str(run), "--stream", other, "--quiet"]) == 2
    said = capsys.readouterr().err
    assert "cannot have the lengths (11, 8) instead of (12, 8), because they differ from step 11 on" in said
    assert "the oldest checkpoint is of step 12; change only stages to come, or start a new run" in said


def test_other_settings_are_refused_with_a_way_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = stopped(tmp_path / "run")
    assert main(["train", "--resume", "--out", str(run), "--set", "learning_rate=0.1", "--quiet"]) == 2
    assert "leave it out to resume, fork the run with --from STEP, or start another" in capsys.readouterr().err
