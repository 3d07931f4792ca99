"""A joint schedule: every batch mixes all worlds, as long as the stages last."""

from __future__ import annotations

import json

import numpy as np
import pytest

from vase.worlds import Batch, Schedule, Stage


class Flat:
    """A world of images of one grey level."""

    def __init__(self, level: int, *factors: str) -> None:
        self.name, self.level, self.factors = f"level-{level}", level, factors
        self.image_shape = (1, 4, 4)

    def sample(self, n: int, rng: np.random.Generator) -> Batch:
        images = np.full((n, *self.image_shape), self.level, np.uint8)
        return Batch(images, {name: np.full(n, self.level) for name in self.factors})


def schedule(joint: bool = True) -> Schedule:
    worlds = [Flat(10, "label", "x"), Flat(20, "label")]
    stages = [Stage(worlds[0], 30), Stage(worlds[1], 20), Stage(worlds[0], 10)]
    return Schedule(stages, batch_size=50, seed=3, joint=joint)


def test_worlds_have_equal_shares_however_often_they_are_visited() -> None:
    batches = list(schedule())
    assert len(batches) == 60
    seen = np.concatenate([batch.images[:, 0, 0, 0] for batch in batches])
    # 3000 images, half of each: a standard deviation of √(3000/4) ≈ 27
    assert abs(int((seen == 10).sum()) - 1500) < 140
    assert set(seen) == {10, 20}
    assert all(len(set(batch.images[:25, 0, 0, 0])) == 2 for batch in batches)  # mixed within a batch


def test_factors_stay_with_their_images() -> None:
    batch = schedule().batch(0)
    assert batch.factors.keys() == {"label"}  # what all worlds have
    assert (batch.factors["label"] == batch.images[:, 0, 0, 0]).all()


def test_nothing_changes_in_it() -> None:
    assert schedule().switches == ()
    assert schedule(joint=False).switches == (30, 50)
    assert schedule().timeline == schedule(joint=False).timeline


def test_it_resumes_exactly_and_only_as_what_it_is() -> None:
    first, second = schedule(), schedule()
    for _ in range(7):
        next(first)
    state = json.loads(json.dumps(first.state_dict()))
    second.load_state_dict(state)
    assert np.array_equal(next(first).images, next(second).images)
    with pytest.raises(ValueError, match="saved schedule has"):
        schedule(joint=False).load_state_dict({**state, "seed": 4})
    before = schedule(joint=False).state_dict()
    assert "joint" not in before
    with pytest.raises(ValueError, match="saved schedule has joint = None, this one True"):
        second.load_state_dict(before)
