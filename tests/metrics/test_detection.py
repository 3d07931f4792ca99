"""Announced switches against the truth, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from vase.metrics.detection import compare_switch, one_to_one, returns_recognised, switch_summary
from vase.metrics.record import Record


def test_announcements_by_hand() -> None:
    """Worlds change after batches 100 and 200; the learner announces at 104, 150 and 203."""
    assert compare_switch((100, 200), 0, 104) == {"true_step": 100, "delay": 4, "false_alarm": False}
    assert compare_switch((100, 200), 104, 150) == {"true_step": None, "delay": None, "false_alarm": True}
    assert compare_switch((100, 200), 150, 203) == {"true_step": 200, "delay": 3, "false_alarm": False}


def test_a_switch_that_was_slept_through_is_measured_from_the_last_one() -> None:
    assert compare_switch((100, 200), 0, 206) == {"true_step": 200, "delay": 6, "false_alarm": False}


def test_an_alarm_at_the_last_batch_of_a_world_does_not_hide_the_switch_after_it() -> None:
    assert compare_switch((100,), 0, 100) == {"true_step": None, "delay": None, "false_alarm": True}
    assert compare_switch((100,), 100, 101) == {"true_step": 100, "delay": 1, "false_alarm": False}


def switch(step: int, environment: int, came_from: int | None, true: int | None, is_new: bool = True) -> dict[str, Any]:
    delay = None if true is None else step - true
    alarm = true is None and came_from is not None
    row = {"kind": "switch", "step": step, "world": "?", "environment": environment, "is_new": is_new}
    return {**row, "from": came_from, "true_step": true, "delay": delay, "false_alarm": alarm, "reasons": []}


def test_the_summary_of_switches_by_hand() -> None:
    stages = (("a", 100), ("a", 50), ("b", 50), ("c", 100), ("d", 100))
    rows = (
        switch(1, 0, None, None),
        switch(154, 1, 0, 150),
        switch(170, 0, 1, None, is_new=False),
        {"kind": "step", "step": 280, "environment": 0},
    )
    found = switch_summary(Record(stages, rows))
    assert (found["environments"], found["worlds"]) == (2, 4)
    assert (found["delays"], found["false_alarms"]) == ([4], 1)
    assert found["missed"] == [200]  # nothing changed at 100, 150 was announced, 300 has not come yet
    assert [row["step"] for row in found["switches"]] == [154, 170]  # the first environment is no switch
    assert "kind" not in found["switches"][0]


@pytest.mark.parametrize(
    ("home", "environments", "alarms", "expected"),
    [
        ({"a": 0, "b": 1}, 2, 0, True),
        ({"a": 0, "b": 1}, 3, 0, False),  # one more than there are worlds
        ({"a": 0, "b": 0}, 2, 0, False),  # two worlds in one
        ({"a": 0, "b": 1}, 2, 1, False),
    ],
)
def test_one_to_one_by_hand(home: dict[str, int], environments: int, alarms: int, expected: bool) -> None:
    assert one_to_one(home, environments, alarms) is expected


@pytest.mark.parametrize(
    ("worlds", "switches", "expected"),
    [
        ("aab", ((1, 0), (23, 1)), (0, 0)),  # two visits in a row are no return
        ("aba", ((1, 0), (12, 1), (23, 0)), (1, 1)),
        ("aba", ((1, 0),), (0, 1)),  # nothing was noticed, so nothing was recognised
        ("abba", ((1, 0), (12, 1), (33, 0)), (1, 1)),
        ("ababa", ((1, 0), (12, 1), (23, 2), (34, 1), (42, 2)), (1, 3)),  # a comes back as somebody else, twice
    ],
)
def test_returns_by_hand(worlds: str, switches: tuple[tuple[int, int], ...], expected: tuple[int, int]) -> None:
    rows: list[dict[str, Any]] = [{"kind": "switch", "step": step, "environment": s} for step, s in switches]
    record = Record(tuple((world, 10) for world in worlds), (*rows, {"kind": "end", "step": 10 * len(worlds)}))
    assert returns_recognised(record) == expected
