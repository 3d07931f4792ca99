"""The trainer tells a learner where worlds change, if it wants to know, and nothing more."""

from __future__ import annotations

from pathlib import Path

import pytest
from cheap_runs import cheap
from stop_at import StopAt
from training.random_projection import RandomProjection

from vase.training import Interrupted, RunDirectory, train

STREAM = "moving-digits*6,digits:12*4,digits:12*3,moving-digits*5"
HERE = "training.test_told_boundaries:"


class Listener(RandomProjection):
    """Notes the number of batches after which it was told of another world."""

    wants_boundaries = True

    def __init__(self, *arguments, **options) -> None:  # type: ignore[no-untyped-def]
        super().__init__(*arguments, **options)
        self.told: list[int] = []

    def begin_world(self) -> None:
        self.told.append(self.steps)

    def state_dict(self):  # type: ignore[no-untyped-def]
        return {**super().state_dict(), "told": self.told}

    def load_state_dict(self, state) -> None:  # type: ignore[no-untyped-def]
        super().load_state_dict(state)
        self.told = list(state["told"])


class Deaf(Listener):
    wants_boundaries = False


def told(path: Path) -> list[int]:
    found: list[int] = RunDirectory(path).load()["learner"]["told"]
    return found


def test_true_changes_are_told(tmp_path: Path) -> None:
    train(tmp_path, cheap(stream=STREAM, learner=f"{HERE}Listener"))
    assert told(tmp_path) == [6, 13]  # two stages of one world in a row are no change


def test_only_to_those_who_want_to_know(tmp_path: Path) -> None:
    train(tmp_path, cheap(stream=STREAM, learner=f"{HERE}Deaf"))
    assert told(tmp_path) == []


def test_joint_worlds_do_not_change(tmp_path: Path) -> None:
    train(tmp_path, cheap(stream=STREAM, learner=f"{HERE}Listener", joint=True))
    assert told(tmp_path) == []


@pytest.mark.parametrize("stop", [6, 7])
def test_a_resumed_run_is_told_as_often(tmp_path: Path, stop: int) -> None:
    settings = cheap(stream=STREAM, learner=f"{HERE}Listener")
    with pytest.raises(Interrupted):
        train(tmp_path, settings, callbacks=[StopAt(stop)])
    train(tmp_path, resume=True)
    assert told(tmp_path) == [6, 13]


def test_time_in_the_learner_is_kept_apart(tmp_path: Path) -> None:
    found = train(tmp_path, cheap(stream=STREAM))
    (segment,) = RunDirectory(tmp_path).timing()
    assert 0 < segment["learning"] <= segment["seconds"]
    assert found["learning_seconds"] <= found["seconds"]
