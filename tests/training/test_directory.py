"""What a run directory deletes, keeps and refuses: other people's files, other runs' checkpoints, a stolen place."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from cheap_runs import LEARNER, cheap, content, steps_of
from stop_at import StopAt

from vase import checkpoint
from vase.checkpoint import MANIFEST, CheckpointError
from vase.cli import main
from vase.files import PART
from vase.learners.records import Step
from vase.training import Callback, Interrupted, Run, RunDirectory, train, trainer
from vase.training.advice import explain_divergence
from vase.training.lock import LostDirectory
from vase.training.plan import make_plan
from vase.training.row_file import RowWriter
from vase.training.summary import summary

HIDDEN = {".env.local": b"secret", ".pre-commit-config.yaml": b"repos: []", ".state.json.backup": b"mine"}


# ------------------------------------------------------------------------------------------- files of somebody else


def test_hidden_files_and_folders_of_the_user_stay(tmp_path: Path) -> None:
    for name, data in HIDDEN.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / ".cache.d").mkdir()
    with pytest.raises(Interrupted):
        train(tmp_path, cheap(), callbacks=[StopAt(6)])
    train(tmp_path, resume=True)
    assert {name: (tmp_path / name).read_bytes() for name in HIDDEN} == HIDDEN
    assert (tmp_path / ".cache.d").is_dir()


def test_foreign_tensors_beside_a_checkpoint_stay(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        train(tmp_path / "run", cheap(), callbacks=[StopAt(6)])
    mine = RunDirectory(tmp_path / "run").checkpoints.path(6) / "adapter.safetensors"
    mine.write_bytes(b"mine")
    train(tmp_path / "run", resume=True)
    assert mine.read_bytes() == b"mine", "its checkpoint was deleted in time, the foreign file was not"


def test_what_a_killed_process_left_half_written_is_removed(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        train(tmp_path / "run", cheap(), callbacks=[StopAt(6)])
    checkpoints = RunDirectory(tmp_path / "run").checkpoints
    unfinished = checkpoints.path(8)
    unfinished.mkdir()
    left = [
        tmp_path / "run" / f".rows.jsonl.x{PART}",
        unfinished / "learner-0123456789abcdef.safetensors",
        unfinished / f".state.json.y{PART}",
    ]
    for path in left:
        path.write_bytes(b"half")
    with RunDirectory(tmp_path / "run").locked():
        assert not any(path.exists() for path in left)
        assert not unfinished.exists()


# ------------------------------------------------------------------------------------------------ a directory is lost


class Replace(Callback):
    """Deletes the run in the middle of a step and starts another one in its place, like somebody at a terminal."""

    def __init__(self, other: bool) -> None:
        self.other = other

    def on_step(self, run: Run, step: Step) -> None:
        if run.step == 6:
            shutil.rmtree(run.directory.path)
            if self.other:
                train(run.directory.path, cheap(seed=1))


def test_a_forgotten_process_leaves_the_new_run_alone(tmp_path: Path) -> None:
    with pytest.raises(LostDirectory, match=r"run is not the directory any more .* Nothing was written to it"):
        train(tmp_path / "run", cheap(), callbacks=[Replace(other=True)])
    train(tmp_path / "alone", cheap(seed=1))
    assert content(tmp_path / "run") == content(tmp_path / "alone")
    assert RunDirectory(tmp_path / "run").settings().seed == 1


def test_a_commit_under_way_leaves_the_new_run_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its tensors and its manifest."""
    run, put = tmp_path / "run", os.replace

    def put_once(source: str, target: str, **folders: int) -> None:
        put(source, target, **folders)
        if "learner-" in target and RunDirectory(run).checkpoints.steps() == [0, 2]:
            monkeypatch.setattr(os, "replace", put)
            shutil.rmtree(run)
            train(run, cheap(seed=1))

    monkeypatch.setattr(os, "replace", put_once)
    with pytest.raises(LostDirectory):
        train(run, cheap(stream="digits:12*6", canvas=16, checkpoint_every=2, learner="vase"))
    monkeypatch.setattr(os, "replace", put)
    train(tmp_path / "alone", cheap(seed=1))
    assert content(run) == content(tmp_path / "alone")


def take_its_place(run: Path) -> None:
    """Move a run away, and train another one in its place."""
    run.rename(run.with_name("gone"))
    train(run, cheap(seed=1))


def test_the_rows_of_a_new_run_are_not_opened_by_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its first file and its rows."""
    run = tmp_path / "run"

    def open_late(*arguments: Any) -> RowWriter:
        monkeypatch.undo()
        take_its_place(run)
        return RowWriter(*arguments)

    monkeypatch.setattr(trainer, "RowWriter", open_late)
    with pytest.raises(LostDirectory):
        train(run, cheap())
    train(tmp_path / "alone", cheap(seed=1))
    assert content(run) == content(tmp_path / "alone")


def test_checkpoints_of_a_new_run_are_not_set_aside_by_another_process(tmp_path: Path) -> None:
    """Between reading the newest intact checkpoint and renaming the damaged one."""

    class TakeItsPlace(Callback):
        def on_note(self, text: str) -> None:
            if "instead" in text:
                take_its_place(tmp_path / "run")

    with pytest.raises(Interrupted):
        train(tmp_path / "run", cheap(), callbacks=[StopAt(10)])
    (RunDirectory(tmp_path / "run").checkpoints.path(10) / MANIFEST).write_text("{}")
    with pytest.raises(LostDirectory):
        train(tmp_path / "run", resume=True, callbacks=[TakeItsPlace()])
    assert steps_of(tmp_path / "run") == [12, 16, 20]
    assert steps_of(tmp_path / "gone") == [4, 8, 10]


def test_a_deleted_directory_is_not_made_again(tmp_path: Path) -> None:
    with pytest.raises(LostDirectory):
        train(tmp_path / "run", cheap(), callbacks=[Replace(other=False)])
    assert not (tmp_path / "run").exists()


def test_a_last_checkpoint_is_called_intact_only_if_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(handle: int) -> None:
        for path in (tmp_path / "run" / "checkpoints").glob(f"*/{MANIFEST}"):
            path.write_text("{}")
        raise OSError(5, "Input/output error")

    class BreakDisk(Callback):
        def on_step(self, run: Run, step: Step) -> None:
            if run.step == 6:
                monkeypatch.setattr(os, "fsync", broken)

    with pytest.raises(OSError, match="Input/output error") as error:
        train(tmp_path / "run", cheap(), callbacks=[BreakDisk()])
    assert "No checkpoint can be read" in str(error.value)
    assert "intact" not in str(error.value)


def test_divergence_names_no_checkpoints_of_another_run(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    with run.locked():
        take_its_place(run.path)
        found = explain_divergence(FloatingPointError("loss = nan."), run, make_plan(cheap()))
    assert str(found).startswith("loss = nan. ")
    assert "run is not the directory any more" in str(found)
    assert "--from" not in str(found)


# ------------------------------------------------------------------------------------------- checkpoints of other runs


@pytest.mark.parametrize("learner", [LEARNER, "vase"])
def test_the_checkpoint_of_another_run_is_refused(tmp_path: Path, learner: str) -> None:
    short = {"stream": "digits:12*4", "canvas": 16, "checkpoint_every": 2, "learner": learner}
    for gamma in ("5", "7"):
        with pytest.raises(Interrupted):
            train(tmp_path / gamma, cheap(**short, overrides={"capacity.gamma": gamma}), callbacks=[StopAt(2)])
    shutil.rmtree(tmp_path / "7" / "checkpoints")
    shutil.copytree(tmp_path / "5" / "checkpoints", tmp_path / "7" / "checkpoints")
    shutil.copy(tmp_path / "5" / "rows.jsonl", tmp_path / "7" / "rows.jsonl")
    with pytest.raises(CheckpointError, match=r"checkpoint of step 2 belongs to another run \(overrides differ\)"):
        train(tmp_path / "7", resume=True)


# ------------------------------------------------------------------------------------------ damaged newest checkpoint


@pytest.mark.parametrize("what", [MANIFEST, "learner"])
def test_a_damaged_newest_checkpoint_falls_back_to_the_one_before_and_says_so(tmp_path: Path, what: str) -> None:
    run, whole = tmp_path / "run", tmp_path / "whole"
    settings = cheap(stream="digits:12*6", canvas=16, checkpoint_every=2, learner="vase")
    train(whole, settings)
    with pytest.raises(Interrupted):
        train(run, settings, callbacks=[StopAt(5)])
    assert steps_of(run) == [2, 4, 5]
    (file,) = RunDirectory(run).checkpoints.path(5).glob(f"{what}*")
    file.write_bytes(file.read_bytes()[:-20])
    listener = StopAt(0)
    train(run, resume=True, callbacks=[listener])
    assert any("damaged" in note and "Using the checkpoint of step 4 instead" in note for note in listener.notes)
    assert any("replaced-000000005 is a checkpoint that is not used any more" in note for note in listener.notes)
    assert content(run) == content(whole)


# ------------------------------------------------------------------------------------------------- reading is reading


def tree(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_summary_and_figures_write_nothing_into_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    with pytest.raises(Interrupted):
        train(run, cheap(), callbacks=[StopAt(14)])
    before = tree(run)
    assert main(["summary", str(run)]) == 0
    assert main(["figures", str(run), "--out", str(tmp_path / "drawn")]) == 0
    assert tree(run) == before
    assert (tmp_path / "drawn" / "overview.png").exists()
    (run / "figures").write_text("in the way")
    capsys.readouterr()
    assert main(["figures", str(run)]) == 2
    assert "figures cannot be written (Not a directory); name another folder with --out." in capsys.readouterr().err


@pytest.mark.parametrize("damage", ["cut", "altered"])
def test_damaged_rows_are_refused_by_readers(tmp_path: Path, damage: str) -> None:
    run = tmp_path / "run"
    train(run, cheap())
    rows = (run / "rows.jsonl").read_bytes()
    lines = rows.splitlines(keepends=True)
    (run / "rows.jsonl").write_bytes(
        b"".join(lines[:-1]) if damage == "cut" else rows.replace(b'"loss":', b'"Loss":', 1)
    )
    with pytest.raises(ValueError, match=r"rows.jsonl does not start with the \d+ bytes that its checkpoint expects"):
        summary(run)


def test_rows_that_were_written_after_the_checkpoint_are_read(tmp_path: Path) -> None:
    train(tmp_path / "run", cheap())
    found = len(RunDirectory(tmp_path / "run").rows())
    with (tmp_path / "run" / "rows.jsonl").open("ab") as file:
        file.write(b'{"kind":"mine","step":20}\n{"kind":"min')
    assert len(RunDirectory(tmp_path / "run").rows()) == found + 1


# ------------------------------------------------------------------------------------------------------ wrong JSON


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("name", "value"),
    [("settings", []), ("settings", {"what": 1}), ("stages", {}), ("stages", [1]), ("config", []), ("sources", [])],
)
def test_a_config_of_the_wrong_form_is_refused_with_a_sentence(tmp_path: Path, name: str, value: Any) -> None:
    run = tmp_path / "run"
    train(run, cheap(stream="digits:12*2"))
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps({**config, name: value}))
    with pytest.raises(ValueError, match=r"config.json is damaged"):
        train(run, resume=True)


@pytest.mark.parametrize("name", ["config.json", "rows.jsonl", "timing.json", "checkpoints/000000002/state.json"])
@pytest.mark.parametrize("text", [DEEP + "\n", "[1]\n", "null\n"])
def test_json_that_is_too_deep_or_no_object_is_no_traceback(
    tmp_path: Path, name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    train(run, cheap(stream="digits:12*2", checkpoint_every=5, keep=1))
    if name == "rows.jsonl":
        shutil.rmtree(run / "checkpoints")
    (run / name).write_text(text)
    for command in (["summary", str(run)], ["train", "--resume", "--quiet", "--out", str(run)]):
        assert main(command) in (0, 2)
    assert "Traceback" not in capsys.readouterr().err


def test_signed_states_of_the_wrong_form_are_refused_with_a_sentence(tmp_path: Path) -> None:
    run = tmp_path / "run"
    train(run, cheap(stream="digits:12*2"))
    state = RunDirectory(run).load()
    for part in (
        {"run": {"step": 2}},
        {"run": []},
        {"learner": []},
        {"callbacks": 3},
        {"run": {**state["run"], "rows": {}}},
    ):
        shutil.rmtree(run / "checkpoints")
        checkpoint.write(RunDirectory(run).checkpoints.path(2), checkpoint.LEARNER, {**state, **part})
        with pytest.raises(CheckpointError, match="checkpoints: "):
            train(run, resume=True)
