"""Detection with a learner that is asked and never changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from films import DAY, NIGHT, film, noise, write_video

from vase import VASE, ShiftMonitor, VASEConfig, checkpoint
from vase.method.mixture import NONE
from vase.watching.frozen import FrozenDetector
from vase.watching.learners import load_model
from vase.watching.session import watch
from vase.watching.settings import WatchSettings

LEARNING = WatchSettings(learner="monitor", size=16, batch_size=16, overrides={"environments.patience": 3})
DUSK = 0.7


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The watch of a day and a night."""
    out = tmp_path_factory.mktemp("trained") / "out"
    list(watch(film((DAY, 320), (NIGHT, 320)), out=out, settings=LEARNING))
    return out


def frozen(model: Path) -> WatchSettings:
    return WatchSettings(model=str(model), frozen=True, batch_size=16)


def test_known_environments_are_recognised_and_an_unknown_one_is_called_so(trained: Path, tmp_path: Path) -> None:
    """Ten batches each: night, day, dusk, which it never saw, and night again; a verdict takes three batches."""
    scenes = film((NIGHT, 160), (DAY, 160), (DUSK, 160), (NIGHT, 160))
    steps = list(watch(scenes, out=tmp_path / "out", settings=frozen(trained)))
    found = [(step.step, step.before, step.environment) for step in steps if step.switched]
    assert found == [(1, None, 1), (13, 1, 0), (23, 0, NONE), (33, NONE, 1)]
    assert [step.unknown for step in steps if step.switched] == [False, False, True, False]
    assert sorted(path.name for path in (tmp_path / "out" / "snapshots").iterdir()) == [
        "000.png",
        "001.png",
        "unknown.png",
    ]


def test_it_learns_nothing(trained: Path, tmp_path: Path) -> None:
    """The saved learner is, byte for byte, the one that it started from."""
    list(watch(film((DUSK, 320), (DAY, 160)), out=tmp_path / "out", settings=frozen(trained)))
    before, after = checkpoint_of(trained), checkpoint_of(tmp_path / "out")
    assert before[0] == after[0]
    assert before[1].keys() == after[1].keys()
    assert all(same(tensor, after[1][name]) for name, tensor in before[1].items())


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return np.array_equal(one.numpy(), other.numpy(), equal_nan=one.is_floating_point())


def checkpoint_of(out: Path) -> tuple[dict[str, object], dict[str, torch.Tensor]]:
    values, groups = checkpoint.split_tensors({"learner": load_model(out).learner.state_dict()})
    return values, groups["learner"]


def test_vase_is_not_changed_either() -> None:
    model = VASE(VASEConfig.smoke((3, 16, 16)), seed=0)
    for i in range(12):
        model.partial_fit(noise(DAY, 16, seed=i))
    state = checkpoint.split_tensors({"learner": model.state_dict()})
    detector = FrozenDetector(model, (3, 16, 16), model.config_.environments)
    for i in range(8):
        detector.partial_fit(noise(NIGHT, 16, seed=i))
    again = checkpoint.split_tensors({"learner": model.state_dict()})
    assert state[0] == again[0]
    assert all(same(x, again[1]["learner"][name]) for name, x in state[1]["learner"].items())


def test_a_frozen_watch_goes_on_exactly_without_its_model(trained: Path, tmp_path: Path) -> None:
    video = write_video(tmp_path / "a.mkv", film((NIGHT, 160), (DAY, 160), (DUSK, 96)))
    model = tmp_path / "model"
    for path in trained.rglob("*"):
        if path.is_file():
            (model / path.relative_to(trained)).parent.mkdir(parents=True, exist_ok=True)
            (model / path.relative_to(trained)).write_bytes(path.read_bytes())
    list(watch(video, out=tmp_path / "whole", settings=frozen(model)))
    for step in watch(video, out=tmp_path / "parts", settings=frozen(model)):
        if step.step == 12:  # two batches of the day are held
            break
    model.rename(tmp_path / "elsewhere")
    list(watch(out=tmp_path / "parts", resume=True))
    assert (tmp_path / "parts" / "rows.jsonl").read_bytes() == (tmp_path / "whole" / "rows.jsonl").read_bytes()


def test_a_learner_that_knows_nothing_is_refused() -> None:
    monitor = ShiftMonitor(VASEConfig(image_shape=(3, 16, 16)))
    detector = FrozenDetector(monitor, (3, 16, 16), monitor.config.environments)
    with pytest.raises(ValueError, match="knows no environment yet"):
        detector.partial_fit(np.zeros((4, 16, 16, 3), np.uint8))
