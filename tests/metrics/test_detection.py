"""Announced switches against the truth, worked out by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from sklearn.metrics import adjusted_rand_score

from vase.metrics.detection import (
    Score,
    Trace,
    Truth,
    adjusted_rand,
    compare_switch,
    one_to_one,
    pool_scores,
    returns_recognised,
    score_stream,
    switch_summary,
)
from vase.metrics.record import Record
from vase.worlds.timeline import Span, Timeline


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


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("aabb", "xxyy", 1),
        ("aabb", "yyxx", 1),
        ("aaaa", "xxxx", 1),
        ("aabb", "xxxx", 0),
        ("aabb", "xxyz", 4 / 7),  # 1 pair in common; by chance 2·1/6, at most 3/2: (1 − 1/3) / (3/2 − 1/3)
        ("aaabbb", "xxyyyy", 12 / 37),  # 1 + 3 in common of 6 and 7; by chance 42/15: (4 − 2.8) / (6.5 − 2.8)
    ],
)
def test_adjusted_rand_by_hand(a: str, b: str, expected: float) -> None:
    assert adjusted_rand(a, b) == pytest.approx(expected)
    assert adjusted_rand_score(list(a), list(b)) == pytest.approx(expected)


def test_adjusted_rand_needs_the_same_items() -> None:
    with pytest.raises(ValueError, match="2 items in one partition and 3 in the other"):
        adjusted_rand("ab", "abc")


@dataclass
class Said:
    """What a learner says about one batch."""

    environment: int
    switched: bool = False
    held: bool = False
    retired: int | None = None


def test_held_batches_belong_to_the_environment_decided_on() -> None:
    steps = [Said(0, True), Said(0, held=True), Said(0), Said(0, held=True), Said(0, held=True), Said(1, True), Said(1)]
    trace = Trace.of(steps)
    assert trace.announced == (0, 0, 0, 0, 0, 1, 1)
    assert trace.assigned == (0, 0, 0, 1, 1, 1, 1)  # the one at 2 was given up


def test_batches_of_a_false_alarm_that_was_undone_belong_to_the_known_environment() -> None:
    trace = Trace.of([Said(0, True), Said(1, True), Said(1), Said(0, True, retired=1), Said(2, True)])
    assert trace.announced == (0, 1, 1, 0, 2)
    assert trace.assigned == (0, 0, 0, 0, 2)


ABA = Truth(Timeline((("a", 10), ("b", 10), ("a", 10))))


def test_a_stream_that_is_followed_with_a_delay() -> None:
    """b is announced with its second batch, a's return with the first."""
    score = score_stream(ABA, [0] * 11 + [1] * 9 + [0] * 10)
    assert (score.changes, score.detected, score.abrupt, score.delays) == (2, 2, 2, (2, 1))
    assert (score.alarms, score.false_alarms) == (2, 0)
    assert (score.recognised, score.returns) == (1, 1)
    assert (score.worlds, score.environments, score.batches) == (2, 2, 30)
    assert (
        score.rand
        == score.rand_with_ramps
        == pytest.approx(adjusted_rand("a" * 10 + "b" * 10 + "a" * 10, [0] * 11 + [1] * 9 + [0] * 10))
    )


def test_a_detector_that_only_counts_its_alarms() -> None:
    """An alarm at step 5 that belongs to nothing, one for b, one for a."""
    score = score_stream(ABA, [0] * 4 + [1] * 7 + [2] * 10 + [3] * 9)
    assert (score.alarms, score.false_alarms, score.detected, score.delays) == (3, 1, 2, (2, 2))
    assert (score.recognised, score.returns) == (0, 1)


def test_silence_recognises_nothing() -> None:
    score = score_stream(ABA, [0] * 30)
    assert (score.detected, score.alarms, score.recognised, score.returns, score.rand) == (0, 0, 0, 1, 0)


def test_an_announcement_that_comes_too_late_is_a_false_alarm() -> None:
    said = [0] * 14 + [1] * 16
    assert score_stream(ABA, said, max_delay=5).delays == (5,)
    late = score_stream(ABA, said, max_delay=4)
    assert (late.detected, late.false_alarms, late.delays) == (0, 1, ())


RAMP = Truth(Timeline((("a", 20), ("b", 20))), (Span("b", 10, 30),))


def test_a_ramp_has_no_delay_and_no_truth_within() -> None:
    """Announced 3 batches after the ramp began, again after 6, and right ever after."""
    score = score_stream(RAMP, [0] * 12 + [1] * 3 + [2] * 25)
    assert (score.changes, score.detected, score.abrupt, score.delays) == (1, 1, 0, ())
    assert (score.alarms, score.false_alarms) == (2, 1)
    assert score.rand == 1
    assert score.rand_with_ramps < 1


def test_a_ramp_must_be_announced_soon_after_its_end() -> None:
    assert score_stream(RAMP, [0] * 34 + [1] * 6, max_delay=5).detected == 1
    assert score_stream(RAMP, [0] * 35 + [1] * 5, max_delay=4).detected == 0


def test_a_ramp_that_goes_unnoticed_until_the_world_returns() -> None:
    truth = Truth(Timeline((("a", 20), ("b", 20), ("a", 10))), (Span("b", 10, 30),))
    score = score_stream(truth, [0] * 41 + [1] * 9)
    assert (score.changes, score.detected, score.delays) == (2, 1, (2,))
    assert (score.recognised, score.returns) == (0, 1)


def test_one_environment_per_batch_is_needed() -> None:
    with pytest.raises(ValueError, match="29 environments for 30 batches"):
        score_stream(ABA, [0] * 29)


def test_pooled_numbers_by_hand() -> None:
    scores = [
        score_stream(ABA, [0] * 11 + [1] * 9 + [0] * 10),
        score_stream(ABA, [0] * 4 + [1] * 7 + [2] * 19),
        score_stream(Truth(Timeline((("a", 10),))), [0] * 10),
    ]
    found = pool_scores(scores)
    assert found["recall"] == 3 / 4
    assert found["precision"] == 3 / 4
    assert found["median_delay"] == 2  # of 2, 1 and 2
    assert found["delay_with_missed"] == pytest.approx((2 + 1 + 2 + 20) / 4)
    assert found["false_alarms_per_10000"] == pytest.approx(10_000 / 70)
    assert found["returns"] == 1 / 2
    assert found["rand"] == pytest.approx(sum(score.rand for score in scores) / 3)
    assert found["environments_per_world"] == (2 + 3 + 1) / 5


def test_what_cannot_be_measured_is_none() -> None:
    found = pool_scores([score_stream(Truth(Timeline((("a", 10),))), [0] * 10)])
    assert (found["recall"], found["precision"], found["median_delay"], found["returns"]) == (None,) * 4
    assert (found["rand"], found["false_alarms_per_10000"]) == (1, 0)


def test_a_score_survives_json() -> None:
    score = score_stream(ABA, [0] * 11 + [1] * 9 + [0] * 10)
    again = Score.from_dict(score.to_dict())
    assert again.delays == score.delays
    assert again.rand == pytest.approx(score.rand, abs=1e-6)
