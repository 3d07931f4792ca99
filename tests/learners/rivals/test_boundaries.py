"""Where boundaries come from, and on which side of them batches are learnt."""

from __future__ import annotations

import pytest
import torch
from tiny import bars, tiny

from vase.learners.monitor import ShiftMonitor
from vase.learners.rivals.boundaries import Bounded, Detected, Every, Told
from vase.nn.likelihood import Images


class Diary(Bounded):
    """Notes what it learns, and where the boundaries are."""

    def learn(self, x: Images):  # type: ignore[no-untyped-def]
        self.__dict__.setdefault("notes", []).append("upright" if float(x[0, 0].std(0).max()) < 1e-6 else "lying")
        return super().learn(x)

    def cross_boundary(self) -> None:
        self.__dict__.setdefault("notes", []).append("|")


def image(number: int) -> Images:
    return torch.full((2, 1, 16, 16), number / 10)


def test_a_boundary_is_announced_once() -> None:
    told = Told()
    assert not told.receive(image(0)).boundary
    told.begin_world()
    again = Told()
    again.load_state_dict(told.state_dict())
    for one in (told, again):
        arrival = one.receive(image(1))
        assert arrival.boundary
        assert [float(x.mean()) for x in arrival.after] == [pytest.approx(0.1)]
        assert not one.receive(image(2)).boundary


def test_by_the_clock() -> None:
    every = Every(3)
    found = [every.receive(image(0)).boundary for _ in range(8)]
    assert [step for step, boundary in enumerate(found) if boundary] == [3, 6]


def test_the_detectors_batches_are_learnt_on_the_right_side() -> None:
    learner = Diary(tiny(), device="cpu", boundaries="detected")
    steps = [learner.partial_fit(bars(32, number, upright=number < 25)) for number in range(40)]
    notes = learner.__dict__["notes"]
    assert notes.count("|") == 1
    assert notes.index("|") == 25
    assert set(notes[:25]) == {"upright"}
    assert set(notes[26:]) == {"lying"}
    assert len(notes) == 41  # held batches were learnt later, none was lost
    (switch,) = [step for step in steps[1:] if step.switched]
    assert switch.environment == 1
    assert any(step.held for step in steps)
    assert not learner.wants_boundaries


def test_the_monitor_tells_which_batches_lie_where() -> None:
    monitor, detected = ShiftMonitor(tiny()), Detected(tiny())
    for number in range(40):
        x = torch.from_numpy(bars(32, number, upright=number < 25)) / 255
        step, arrival = monitor.partial_fit(x), detected.receive(x)
        assert arrival.told["switched"] == step.switched
        assert arrival.boundary == (step.switched and number > 0)
