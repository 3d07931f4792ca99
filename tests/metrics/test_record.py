"""What the figures know about a run: stages, environments, and who stood for whom."""

from __future__ import annotations

import numpy as np
import pytest

from vase.metrics.record import Period, Record
from vase.worlds.spec import title


def step(number: int, environment: int, alpha: tuple[float | None, ...] = (0.1, 0.2)) -> dict[str, object]:
    return {"kind": "step", "step": number, "environment": environment, "atypicality": list(alpha)}


def switch(number: int, environment: int, is_new: bool) -> dict[str, object]:
    return {"kind": "switch", "step": number, "environment": environment, "is_new": is_new}


RETURN = Record(
    stages=(("mnist", 100), ("fashion", 50), ("mnist", 100)),
    rows=(switch(1, 0, True), step(10, 0), switch(104, 1, True), switch(153, 0, False), step(200, 0, (0.5, None))),
)


def test_spans_of_stream_and_environments_by_hand() -> None:
    assert [(s.name, s.start, s.end) for s in RETURN.visits] == [
        ("mnist", 0, 100),
        ("fashion", 100, 150),
        ("mnist", 150, 200),
    ]
    assert RETURN.environments == (Period(0, 0, 104), Period(1, 104, 153), Period(0, 153, 200))
    assert RETURN.environments[0].overlap(RETURN.visits[1]) == 4
    assert RETURN.environments[0].overlap(RETURN.visits[2]) <= 0
    assert RETURN.true_switches == (100, 150)
    assert [row["step"] for row in RETURN.switches] == [104, 153]  # the first environment is no switch
    assert RETURN.worlds == ("mnist", "fashion")


def test_each_environment_is_named_after_the_world_it_mostly_saw() -> None:
    assert RETURN.world_of == {0: "mnist", 1: "fashion"}


def test_an_interrupted_run_ends_at_its_last_row() -> None:
    record = Record((("mnist", 100), ("fashion", 100)), (step(60, 0),))
    assert record.total == 60
    assert [(s.name, s.end) for s in record.visits] == [("mnist", 60)]


def test_two_stages_of_one_world_are_no_switch() -> None:
    assert Record((("mnist", 10), ("mnist", 10)), (step(20, 0),)).true_switches == ()


def test_atypicality_and_scores_come_out_as_arrays() -> None:
    steps, alpha = RETURN.atypicality()
    assert steps.tolist() == [10, 200]
    np.testing.assert_array_equal(alpha, [[0.1, 0.2], [0.5, np.nan]])
    rows = [
        {"kind": "probe", "step": s, "world": w, "accuracy": s / 100} for s in (50, 100) for w in ("fashion", "mnist")
    ]
    scores = Record(RETURN.stages, tuple(rows)).scores("accuracy")
    assert list(scores) == ["mnist", "fashion"]  # in the order of the stream
    assert scores["mnist"][1].tolist() == [0.5, 1.0]


def test_a_learner_without_atypicality_has_none() -> None:
    assert Record((("mnist", 10),), (step(5, 0, ()), step(10, 0, (None, None)))).atypicality()[0].size == 0


def test_moments_are_said_in_words() -> None:
    assert (RETURN.moment(249), RETURN.moment(250)) == ("at step 249", "at the end of the run")


def test_the_position_latents_are_those_of_the_last_row_that_has_them() -> None:
    stages = [{"kind": "stage", "step": s, "position": {"world": w}} for s, w in ((100, "mnist"), (150, "fashion"))]
    record = Record(RETURN.stages, (*stages, {"kind": "end", "step": 250}))
    assert record.position_row == stages[1]
    assert RETURN.position_row is None


def test_a_run_without_rows_has_nothing() -> None:
    empty = Record((("mnist", 10),), ())
    assert (empty.total, empty.visits, empty.environments, empty.world_of) == (0, (), (), {})
    assert empty.atypicality()[1].size == 0


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("mnist", "MNIST"),
        ("moving-fashion", "moving Fashion"),
        ("moving-inverse-mnist:12", "moving inverse MNIST 12 px"),
        ("folder:pictures/cats", "cats"),
    ],
)
def test_titles_for_readers(name: str, shown: str) -> None:
    assert title(name) == shown
