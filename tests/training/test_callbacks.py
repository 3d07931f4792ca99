"""Callbacks: the order of hooks and rows, one's own in a few lines, their state, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stop_at import StopAt

from vase.learners.change import Change, describe_change
from vase.learners.records import Step
from vase.plots.run import write_run_figures
from vase.training import Callback, Interrupted, Run, RunDirectory, RunSettings, describe, make_plan, train
from vase.training.standard import StepRows, Switches
from vase.training.summary import summary
from vase.worlds import Batch

SETTINGS = RunSettings.of(
    "smoke",
    stream="moving-digits*4,digits:12*2",
    batch_size=4,
    probe_every=2,
    checkpoint_every=3,
    rows_every=2,
    device="cpu",
)


class Count(Callback):
    """What a user writes: counts steps and adds rows of a new kind."""

    steps, saved = 0, ("steps",)

    def on_step(self, run: Run, step: Step) -> Iterable[dict[str, Any]]:
        self.steps += 1
        return [{"kind": "count", "step": run.step, "steps": self.steps}]


class Log(Callback):
    """Writes down which hook was called at which step."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    def on_start(self, run: Run) -> None:
        self.calls.append(("start", run.step))

    def on_batch(self, run: Run, batch: Batch) -> Batch:
        self.calls.append(("batch", run.step))
        return batch

    def on_step(self, run: Run, step: Step) -> tuple[()]:
        assert step.step == run.step
        self.calls.append(("step", run.step))
        return ()

    def on_stage_end(self, run: Run) -> tuple[()]:
        self.calls.append((f"stage {run.stage} {run.world}", run.step))
        return ()

    def on_end(self, run: Run) -> tuple[()]:
        self.calls.append(("end", run.step))
        return ()

    def on_step_end(self, run: Run) -> None:
        self.calls.append(("step_end", run.step))

    def on_row(self, run: Run, row: Any) -> None:
        self.calls.append((f"row {row['kind']}", row["step"]))

    def on_save(self, run: Run) -> None:
        self.calls.append(("save", run.step))


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a callback that nothing interrupted; tests only read it."""
    path = tmp_path_factory.mktemp("runs") / "run"
    train(path, SETTINGS, callbacks=[Count()])
    return path


def test_hooks_and_rows_are_called_in_order(tmp_path: Path) -> None:
    log = Log()
    train(tmp_path / "run", replace(SETTINGS, measures=True), callbacks=[log, Count()])
    assert log.calls[:2] == [("start", 0), ("save", 0)]
    last = [name for name, step in log.calls if step == 6]
    assert last == [
        "batch",
        "row step",
        *["row probe"] * 8,  # two kinds of probes: class and position of the first world, class of the second; two kept
        "step",
        "row count",
        "row stage",
        *["row measures"] * 2,
        "stage 1 digits:12",
        "row end",
        "end",
        "step_end",
        "save",
    ]
    assert [step for name, step in log.calls if name == "save"] == [0, 3, 6]
    assert [(name, step) for name, step in log.calls if name.startswith("stage")] == [
        ("stage 0 moving-digits", 4),
        ("stage 1 digits:12", 6),
    ]


def test_rows_of_a_kind_of_one_s_own_are_written_and_ignored_elsewhere(straight: Path, tmp_path: Path) -> None:
    rows = RunDirectory(straight).rows()
    assert [row for row in rows if row["kind"] == "count"] == [
        {"kind": "count", "step": step, "steps": step} for step in range(1, 7)
    ]
    train(tmp_path / "plain", SETTINGS)
    assert [row for row in rows if row["kind"] != "count"] == RunDirectory(tmp_path / "plain").rows()
    mine, plain = (summary(p) for p in (straight, tmp_path / "plain"))
    timed = ("seconds", "learning_seconds", "steps_per_second")
    assert {k: v for k, v in mine.items() if k not in timed} == {k: v for k, v in plain.items() if k not in timed}
    assert "count" not in describe(mine)
    assert write_run_figures(straight)


def test_the_state_of_a_callback_is_saved_with_the_run(straight: Path, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        train(tmp_path / "run", SETTINGS, callbacks=[Count(), StopAt(5)])
    assert RunDirectory(tmp_path / "run").load()["callbacks"]["Count"] == {"steps": 5}
    train(tmp_path / "run", resume=True, callbacks=[Count()])
    assert (tmp_path / "run" / "rows.jsonl").read_bytes() == (straight / "rows.jsonl").read_bytes()


class Brighter(Callback):
    def on_batch(self, run: Run, batch: Batch) -> Batch:
        return Batch(255 - batch.images, batch.factors)


def test_a_callback_may_change_what_is_learnt(straight: Path, tmp_path: Path) -> None:
    train(tmp_path / "run", SETTINGS, callbacks=[Brighter()])
    first, other = (RunDirectory(path).rows() for path in (straight, tmp_path / "run"))
    losses = [next(row["loss"] for row in rows if row["kind"] == "step") for rows in (first, other)]
    assert losses[0] != losses[1]


def test_two_callbacks_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="two callbacks are named 'Count': give each a `name` of its own"):
        train(tmp_path / "run", SETTINGS, callbacks=[Count(), Count()])
    assert not (tmp_path / "run").exists()


def test_switches_are_compared_with_the_truth() -> None:
    """Worlds change after batch 4; the learner announces its first environment, a false alarm and the switch."""
    plan = make_plan(SETTINGS)
    run, switches = Run(RunDirectory("nowhere"), plan, None), Switches()  # type: ignore[arg-type]
    rows = []
    for step, environment in ((1, 0), (2, 1), (3, 1), (5, 2)):
        plan.schedule.step = step
        rows += switches.on_step(run, Step(step, environment, switched=step != 3, is_new=True, reasons=("why",)))
    assert [tuple(row.values())[1:11] for row in rows] == [
        (1, 0, "moving-digits", None, 0, True, None, None, False, ["why"]),
        (2, 0, "moving-digits", 0, 1, True, None, None, True, ["why"]),
        (5, 1, "digits:12", 1, 2, True, 4, 1, False, ["why"]),
    ]
    again = Switches()
    again.load_state_dict(switches.state_dict())
    assert again == switches


def a_change() -> Change:
    """Black before, white after."""
    return describe_change(
        np.zeros((4, 1, 8, 8), np.uint8),
        np.full((4, 1, 8, 8), 255, np.uint8),
        atypical_before=np.zeros(2),
        atypical_after=np.zeros(2),
        used=np.ones(2, bool),
        step=5,
        previous=0,
        environment=1,
        is_new=True,
        distances={},
    )


def test_rows_say_how_strange_a_batch_was_and_what_changed() -> None:
    plan = make_plan(SETTINGS)
    run = Run(RunDirectory("nowhere"), plan, None)  # type: ignore[arg-type]
    plan.schedule.step = 6
    change = a_change()
    posterior = np.array([1 / 3, 2 / 3, np.nan], np.float32)
    step = Step(6, 1, switched=True, p_value=1 / 3, effect=float("inf"), posterior=posterior, change=change)
    told = {"p_value": 0.3333333, "effect": None}
    (switch,), (row,) = Switches().on_step(run, step), StepRows(2).on_step(run, step)
    assert json.loads(json.dumps(switch, allow_nan=False)) == switch
    assert {name: row[name] for name in told} == {name: switch[name] for name in told} == told
    assert switch["posterior"] == [0.3333333, 0.6666667, None]
    assert switch["change"] == change.to_row()
    assert Change.from_row(switch["change"]).after.min() == 255
    (first,), (plain,) = Switches().on_step(run, Step(6, switched=True)), StepRows(2).on_step(run, Step(6))
    assert (first["p_value"], first["effect"], first["posterior"], first["change"]) == (None, None, [], None)
    assert (plain["p_value"], plain["effect"]) == (None, None)
