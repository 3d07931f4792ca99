"""Forks: a new run from a checkpoint of another one, with other hyperparameters, a name and a provenance."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import torch
from cheap_runs import cheap, content, steps_of
from stop_at import StopAt

from vase import VASE, VASEConfig
from vase.checkpoint import CheckpointError
from vase.cli import main
from vase.files import PART
from vase.learners.records import Step
from vase.training import Callback, Interrupted, Run, RunDirectory, fork, train
from vase.training.plan import Plan
from vase.training.summary import describe, summary

TINY = {"stream": "digits:12*8", "canvas": 16, "checkpoint_every": 2, "learner": "vase"}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with pytest.raises(Interrupted):
        train(tmp_path / "run", cheap(**TINY), callbacks=[StopAt(6)])
    return tmp_path / "run"


def test_a_fork_continues_a_checkpoint_with_another_learning_rate(run: Path) -> None:
    parent = content(run)
    command = ["train", "--resume", "--out", str(run), "--from", "4", "--set", "learning_rate=1e-4", "--quiet"]
    assert main(command) == 0
    child = run.with_name("run-from-4")
    assert content(run) == parent, "the parent stays as it is"
    assert RunDirectory(child).is_complete()
    config = json.loads((child / "config.json").read_text())
    assert config["config"]["learning_rate"] == 1e-4
    assert config["parent"]["run"] == str(run)
    assert config["parent"]["step"] == 4
    rows = RunDirectory(child).rows()
    assert [row["step"] for row in rows if row["kind"] == "step"] == [2, 4, 6, 8]
    assert rows[:3] == RunDirectory(run).rows()[:3]
    assert summary(child)["parent"]["step"] == 4
    assert f"Forked from {run} at step 4" in describe(summary(child))


def test_a_fork_without_changes_is_the_run_itself(run: Path) -> None:
    child = fork(run, step=2)
    train(child, resume=True)
    train(run, resume=True)
    ours, theirs = (VASE.load(path).state_dict()["networks"] for path in (child, run))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert (child / "rows.jsonl").read_bytes() == (run / "rows.jsonl").read_bytes()


def test_the_newest_checkpoint_and_names_that_are_taken(run: Path) -> None:
    assert [fork(run).name, fork(run).name, fork(run, step=2).name] == ["run-from-6", "run-from-6-2", "run-from-2"]
    assert steps_of(run.with_name("run-from-6")) == [6]
    assert main(["train", "--resume", "--out", str(run), "--from", "latest", "--quiet"]) == 0
    assert RunDirectory(run.with_name("run-from-6-3")).is_complete()


def test_two_forks_at_once_are_two_forks(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-Z after the first file of a fork, the same command again, fg."""
    write, forks = RunDirectory.write_config, []

    def write_once(self: RunDirectory, plan: Plan, parent: dict[str, object]) -> None:
        write(self, plan, parent)
        monkeypatch.undo()
        forks.append(fork(run))

    monkeypatch.setattr(RunDirectory, "write_config", write_once)
    forks.append(fork(run))
    assert [path.name for path in forks] == ["run-from-6", "run-from-6-2"]
    for path in forks:
        assert RunDirectory(path).read_config()["parent"]["step"] == 6
        assert steps_of(path) == [6]
    assert not list(run.parent.glob(f".*{PART}"))


def test_what_a_killed_fork_left_is_removed(run: Path) -> None:
    left = run.parent / f".run-from-6.0123abcd{PART}"
    left.mkdir()
    (left / "config.json").write_text("{}")
    other = run.parent / f".another-from-6.0123abcd{PART}"
    other.mkdir()
    assert fork(run).name == "run-from-6"
    assert not left.exists()
    assert other.exists()


def test_refusals(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CheckpointError, match=r"no checkpoint of step 3; choose one of: 2, 4, 6\."):
        fork(run, step=3)
    with pytest.raises(ValueError, match=r"seed = 1, but .* was started with seed = 0"):
        fork(run, cheap(**TINY, seed=1))
    wider = cheap(**TINY, overrides={"network.latents": 7})
    with pytest.raises(ValueError, match=r"cannot be continued with these settings .* e.g. learning_rate"):
        fork(run, wider)
    assert main(["train", "--out", str(run), "--from", "2"]) == 2
    assert "--from continues a run: name it with --out and add --resume." in capsys.readouterr().err
    assert {path.name for path in run.parent.iterdir()} == {"run"}, "nothing is left of a fork that failed"


# ---------------------------------------------------------------------------------------------------------- divergence


class Spoil(Callback):
    """Makes a weight infinite, as a gradient too large for single precision does."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step(self, run: Run, step: Step) -> None:
        if run.step == self.step:
            with torch.no_grad():
                run.learner.networks_.encoder.posterior.weight[0, 0] = float("inf")  # type: ignore[attr-defined]


@pytest.mark.parametrize(("step", "what"), [(4, "weights became infinite or NaN"), (5, "the loss became nan")])
def test_what_diverged_is_never_saved_and_the_advice_can_be_followed(tmp_path: Path, step: int, what: str) -> None:
    run = tmp_path / "run"
    with pytest.raises(FloatingPointError, match=what) as error:
        train(run, cheap(**TINY), callbacks=[Spoil(step)])
    kept = steps_of(run)
    assert kept == [0, 2] + [4] * (step > 4)
    command = re.search(r"vase (train --resume .* --set learning_rate=\S+)$", str(error.value))
    assert command, error.value
    assert main([*shlex.split(command[1]), "--quiet"]) == 0
    child = run.with_name(f"run-from-{kept[-1]}")
    assert RunDirectory(child).is_complete()
    assert RunDirectory(child).read_config()["config"]["learning_rate"] == 0.00075  # half of the preset's


def test_a_learner_with_infinite_weights_is_not_saved_either(tmp_path: Path) -> None:
    model = VASE(VASEConfig.smoke((1, 16, 16)), device="cpu")
    images = np.random.default_rng(0).random((4, 16, 16))
    model.partial_fit(images)
    model.save(tmp_path / "model")
    with torch.no_grad():
        model.networks_.encoder.posterior.weight[0, 0] = float("nan")
    with pytest.raises(FloatingPointError, match=r"VASE.load\(folder, config=...\), and lower learning_rate"):
        model.save(tmp_path / "model")
    assert model.optimiser_.param_groups[0]["betas"] == (0.9, model.config.adam_beta2)
    config = model.config.with_values({"learning_rate": 1e-5, "adam_beta2": 0.9})
    slower = VASE.load(tmp_path / "model", config=config)
    assert slower.steps == 1
    assert slower.optimiser_.param_groups[0]["lr"] == 1e-5
    assert slower.optimiser_.param_groups[0]["betas"] == (0.9, 0.9)
    slower.partial_fit(images)
