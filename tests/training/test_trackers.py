"""Trackers: what TensorBoard, and stand-ins for Weights & Biases and MLflow, are told in a run and in `fit`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cheap_runs import cheap
from dark_and_light import CONFIG, images

from vase import VASE, Step
from vase.training import train
from vase.training.trackers import MLflow, TensorBoard, Tracker, WandB, step_scalars

STREAM = [images(8, light=False, seed=i) for i in range(5)]


class Listener(Tracker):
    """Keeps what it is told."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.scalars: list[tuple[int, dict[str, float]]] = []
        self.pictures: list[tuple[int, str, tuple[int, ...]]] = []
        self.log: list[str] = []

    def open(self, run: Any) -> None:
        self.log.append(f"open {run.name} at {run.step}")

    def log_scalars(self, scalars: Any, step: int) -> None:
        self.scalars.append((step, dict(scalars)))

    def log_picture(self, name: str, picture: np.ndarray, step: int) -> None:
        self.pictures.append((step, name, picture.shape))

    def close(self) -> None:
        self.log.append("close")


def test_numbers_and_pictures_of_fit() -> None:
    with Listener(every=2, pictures_every=4) as told:
        VASE(CONFIG, device="cpu").fit(iter(STREAM), callbacks=[told])
    assert [step for step, _ in told.scalars] == [2, 4]
    assert {"learner/loss", "learner/environment", "atypicality/3"} <= set(told.scalars[0][1])
    kinds = ("reconstructions", "traversals", "dreams")
    assert [(step, name) for step, name, _ in told.pictures] == [(s, kind) for s in (4, 5) for kind in kinds]
    assert told.log == ["open fit at 0", "close"]


def test_no_pictures_if_none_are_wanted() -> None:
    told = Listener(every=5, pictures_every=0)
    VASE(CONFIG, device="cpu").fit(iter(STREAM), callbacks=[told])
    assert (len(told.scalars), told.pictures) == (1, [])


def test_a_run_with_probes_and_a_learner_without_a_decoder(tmp_path: Path) -> None:
    told = Listener(every=10)
    stream = "moving-digits*12,digits:12*12"
    train(tmp_path / "cheap", cheap(stream=stream, probes="periodic", probe_every=10), callbacks=[told])
    names = {name for _, scalars in told.scalars for name in scalars}
    assert names == {
        "learner/loss",
        *(f"{kind}accuracy/{world}" for kind in ("", "frozen ") for world in ("moving-digits", "digits:12")),
        *(f"{kind}accuracy/moving-digits" for kind in ("kept ", "settled ")),
        *(
            f"{kind}{score}/moving-digits"
            for kind in ("", "frozen ", "kept ", "settled ")
            for score in ("mse", "pixels")
        ),
    }
    assert [step for step, scalars in told.scalars if "learner/loss" in scalars] == [10, 20]
    assert told.pictures == []
    assert told.log == ["open cheap at 0"]


def test_only_finite_numbers_are_sent() -> None:
    assert step_scalars(Step(3, loss=2.0), environments=0) == {"learner/loss": 2.0}


# ---------------------------------------------------------------------------------------------------- TensorBoard


def test_a_missing_tensorboard_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'vase-lifelong\[tensorboard\]'"):
        TensorBoard("anywhere")


def test_tensorboard_replaces_what_came_after_a_resume(tmp_path: Path) -> None:
    """In a process of its own: importing TensorBoard warns, and warnings are errors here."""
    script = f"""
import sys; sys.path[:0] = [{str(Path(__file__).parents[1])!r}]
from types import SimpleNamespace
from dark_and_light import CONFIG, images
from vase import VASE, Step
from vase.training.trackers import TensorBoard
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
for start, steps in ((0, (10, 20, 30)), (15, (20,))):
    with TensorBoard("board") as board:
        board.on_start(SimpleNamespace(step=start))
        for step in steps:
            board.on_step(SimpleNamespace(step=step, environments=0), Step(step, loss=1.0))
with TensorBoard("fit", every=1) as board:
    VASE(CONFIG, device="cpu").fit(iter([images(8, light=False)] * 2), callbacks=[board])
seen, fit = (EventAccumulator(name).Reload() for name in ("board", "fit"))
print([event.step for event in seen.Scalars("learner/loss")], sorted(fit.Tags()["images"]))
print([(image.step, image.width, image.height) for image in fit.Images("reconstructions")])
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-2:] == [
        "[10, 20] ['dreams', 'reconstructions', 'traversals']",
        "[(2, 135, 33)]",
    ], done.stderr


# ---------------------------------------------------------------------------------------------------- the others


class FakeWandB(SimpleNamespace):
    """`wandb` as far as it is used."""

    def __init__(self) -> None:
        super().__init__(logged=[], given={}, finished=0)

    def init(self, **given: Any) -> FakeWandB:
        self.given = given
        return self

    def log(self, values: dict[str, Any], step: int) -> None:
        self.logged.append((step, values))

    def finish(self) -> None:
        self.finished += 1

    def Image(self, picture: np.ndarray) -> tuple[str, tuple[int, ...]]:  # its name
        return "image", picture.shape


def test_weights_and_biases(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wandb = FakeWandB()
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    with WandB("mine", every=5, mode="offline") as tracker:
        VASE(CONFIG, device="cpu").fit(iter(STREAM), callbacks=[tracker])
    assert wandb.given == {
        "name": "fit", "config": {"config": CONFIG.to_dict()}, "project": "mine", "mode": "offline"
    }  # fmt: skip
    assert [step for step, _ in wandb.logged] == [5] * 4
    assert wandb.logged[1][1] == {"reconstructions": ("image", (33, 135, 3))}
    assert wandb.finished == 1
    identities = []
    for name in ("a", "b"):
        for resume in (False, True):
            with WandB() as tracker:
                train(tmp_path / name, None if resume else cheap(), resume=resume, callbacks=[tracker])
            identities.append(wandb.given["id"])
            assert wandb.given["resume"] == "allow"
    assert identities[0] == identities[1] != identities[2] == identities[3], "a resumed run goes on where it was"


def test_mlflow(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, Any]] = []

    def record(name: str) -> Any:
        return lambda *given, **named: calls.append((name, (*given, named)))

    names = ("set_tracking_uri", "set_experiment", "log_params", "log_metrics", "log_image", "end_run")
    mlflow = SimpleNamespace(
        **{name: record(name) for name in names}, start_run=lambda **_: "run", MlflowException=OSError
    )
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    with MLflow("mine", uri="file:store", every=5) as tracker:
        VASE(CONFIG, device="cpu").fit(iter(STREAM), callbacks=[tracker])
        tracker.on_row(
            SimpleNamespace(step=5),
            {"kind": "probe", "world": "digits:12", "accuracy": 0.5},  # type: ignore[arg-type]
        )
    told = [name for name, _ in calls]
    assert told == [*names[:4], *["log_image"] * 3, "log_metrics", "end_run"]
    parameters = dict(calls)["log_params"][0]
    assert parameters["config.network.latents"] == "4"
    assert dict(calls)["log_metrics"] == ({"accuracy/digits_12": 0.5}, {"step": 5})
    pictures = [given for name, given in calls if name == "log_image"]
    assert [(named["key"], named["step"]) for _, named in pictures] == [
        ("reconstructions", 5), ("traversals", 5), ("dreams", 5)
    ]  # fmt: skip
    assert pictures[0][0].shape == (33, 135, 3)


def test_mlflow_without_a_store_says_where_one_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """As mlflow-skinny does by default: its store is a database, for which it lacks the packages."""

    def set_experiment(name: str) -> None:
        raise OSError("Unsupported URI 'sqlite:///mlflow.db'.\nA second line.")

    mlflow = SimpleNamespace(set_experiment=set_experiment, MlflowException=OSError, end_run=lambda: None)
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    with pytest.raises(ValueError, match=r"'mine': Unsupported URI 'sqlite:///mlflow.db'\. Set MLFLOW_TRACKING_URI"):
        MLflow("mine").open(SimpleNamespace(name="run", parameters={}))  # type: ignore[arg-type]


@pytest.mark.parametrize(("make", "extra"), [(WandB, "wandb"), (MLflow, "mlflow")])
def test_a_missing_tracker_names_the_remedy(make: Any, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, extra, None)
    with pytest.raises(ModuleNotFoundError, match=rf"pip install 'vase-lifelong\[{extra}\]'"):
        make()
