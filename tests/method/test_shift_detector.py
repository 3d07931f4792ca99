"""Which environment is asked when, what is held, and how tests of one's own join in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from vase import VASE, VASEConfig
from vase.method.environment_memory import EnvironmentMemory, EnvironmentRecord
from vase.method.shift_detector import ShiftDetector, View
from vase.method.shift_tests import ShiftTest
from vase.method.statistics import BatchStatistics


class Rejects(ShiftTest):
    """Rejects the environments it is told to."""

    def __init__(self, *environments: int) -> None:
        self.environments = set(environments)
        self.seen: list[int] = []

    def rejection_reason(self, record: EnvironmentRecord, batch: BatchStatistics) -> str | None:
        self.seen.append(record.index)
        return f"not {record.index}" if record.index in self.environments else None


def memory(count: int, current: int) -> EnvironmentMemory:
    made = EnvironmentMemory(4)
    for _ in range(count):
        made.add(torch.ones(4, dtype=torch.bool))
    made.current = current
    return made


def view(record: EnvironmentRecord) -> BatchStatistics:
    return BatchStatistics(torch.zeros(2, 1, 2, 2), {"deviance": 0.0}, torch.zeros(4), 2)


@pytest.mark.parametrize(
    ("rejected", "asked", "found"),
    [
        ((), [2], (2, ("the batch fits environment 2",))),
        ((2,), [2, 0], (0, ("not 2", "the batch fits environment 0"))),
        ((2, 0), [2, 0, 3], (3, ("not 2", "not 0", "the batch fits environment 3"))),
        ((2, 0, 3), [2, 0, 3, 1], (1, ("not 2", "not 0", "the batch fits environment 1"))),
        ((0, 1, 2, 3), [2, 0, 3, 1], (None, ("not 2", "not 0"))),
    ],
)
def test_candidate_then_current_then_the_others(rejected: tuple[int, ...], asked: list[int], found: Any) -> None:
    test = Rejects(*rejected)
    assert ShiftDetector([test], patience=1).infer(memory(4, current=0), [2, 3, 1, 0], [view]) == found
    assert test.seen == asked


def test_a_batch_is_foreign_only_if_all_views_reject_it() -> None:
    class Loss(ShiftTest):
        def rejection_reason(self, record: EnvironmentRecord, batch: BatchStatistics) -> str | None:
            return "too large" if batch.losses["deviance"] > 1 else None

    def seen(loss: float) -> View:
        return lambda record: BatchStatistics(torch.zeros(2, 1, 2, 2), {"deviance": loss}, torch.zeros(4), 2)

    detector = ShiftDetector([Loss()], patience=1)
    assert detector.infer(memory(1, 0), [0], [seen(5.0), seen(0.5)])[0] == 0
    assert detector.infer(memory(1, 0), [0], [seen(5.0), seen(2.0)])[0] is None


def test_every_test_can_object() -> None:
    detector = ShiftDetector([Rejects(1), Rejects(), Rejects(1)], patience=1)
    assert detector.rejection_reasons(memory(2, 0)[1], view(memory(2, 0)[1])) == ("not 1", "not 1")


def test_batches_are_held_until_there_are_enough() -> None:
    detector = ShiftDetector([], patience=3)
    batches = [torch.full((2, 1, 2, 2), float(i)) for i in range(3)]
    assert [detector.hold(x) for x in batches] == [False, False, True]
    again = ShiftDetector([], patience=3)
    again.load_state_dict(detector.state_dict())
    for held in (detector.release(), again.release()):
        assert [float(x.mean()) for x in held] == [0.0, 1.0, 2.0]
    assert detector.release() == []


def test_a_state_of_other_tests_is_refused() -> None:
    state = ShiftDetector([Rejects()], patience=1).state_dict()
    with pytest.raises(ValueError, match=r"shift_tests are \[\], the saved learner has \['Rejects'\]"):
        ShiftDetector([], patience=1).load_state_dict(state)


class Brightness(ShiftTest):
    """A test of one's own: the mean brightness of a batch must stay near that of the environment."""

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance
        self.expected: dict[int, float] = {}

    def rejection_reason(self, record: EnvironmentRecord, batch: BatchStatistics) -> str | None:
        mean, expected = float(batch.images.mean()), self.expected.get(record.index)
        if expected is None or abs(mean - expected) <= self.tolerance:
            return None
        return f"brightness {mean:.2f}, environment {record.index} has {expected:.2f}"

    def update(self, record: EnvironmentRecord, batch: BatchStatistics) -> None:
        self.expected[record.index] = float(batch.images.mean())

    def state_dict(self) -> dict[str, Any]:
        return {str(index): value for index, value in self.expected.items()}

    def load_state_dict(self, state: Any) -> None:
        self.expected = {int(index): value for index, value in state.items()}


def test_a_learner_with_a_test_of_its_own(tmp_path: Any) -> None:
    """Day, night, day: found by brightness alone; saved and loaded with the test passed again."""
    config = VASEConfig.smoke().with_values({"environments.burn_in": 5, "environments.patience": 2})
    rng = np.random.default_rng(0)

    def batch(level: float) -> np.ndarray:
        return np.clip(level + 0.02 * rng.standard_normal((16, 1, 32, 32)), 0, 1)

    test = Brightness(0.1)
    model = VASE(config, seed=0, shift_tests=[test])
    steps = [model.partial_fit(batch(level)) for level in [0.7] * 12 + [0.2] * 12 + [0.7] * 6]
    assert [(s.step, s.environment, s.is_new) for s in steps if s.switched] == [
        (1, 0, True),
        (14, 1, True),
        (26, 0, False),
    ]
    assert steps[12].reasons == ("brightness 0.20, environment 0 has 0.70",)
    assert test.expected == {}  # the learner has a copy
    model.save(tmp_path)
    with pytest.raises(ValueError, match=r"shift_tests=\[Brightness\]: pass it again"):
        VASE.load(tmp_path)
    again = VASE.load(tmp_path, shift_tests=[Brightness(0.1)])
    x = batch(0.2)
    assert model.partial_fit(x).reasons == again.partial_fit(x).reasons != ()
