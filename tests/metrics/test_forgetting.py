"""Forgetting, worked out by hand from probe rows."""

from __future__ import annotations

import math
from typing import Any

import pytest

from vase.metrics.forgetting import final, forgetting, maximum, probe_rows, score_error


def identity(world: str, values: dict[int, float]) -> list[dict[str, Any]]:
    return [{"kind": "probe", "step": s, "world": world, "probe": "identity", "accuracy": v} for s, v in values.items()]


def position(world: str, values: dict[int, float]) -> list[dict[str, Any]]:
    return [
        {"kind": "probe", "step": s, "world": world, "probe": "position", "mse": v, "pixels": 10 * v}
        for s, v in values.items()
    ]


STAGES = [("a", 100), ("b", 100), ("c", 100)]
ROWS = [
    {"kind": "step", "step": 10, "loss": 1.0},
    # a: best during 0.80 (at its last step); 0.90 later does not count as "during"; worst after 0.55
    *identity("a", {50: 0.60, 100: 0.80, 150: 0.55, 200: 0.70, 250: 0.90, 300: 0.75}),
    # b: 0.95 before its stage does not count; best during 0.70; worst after 0.66
    *identity("b", {50: 0.95, 100: 0.30, 150: 0.70, 200: 0.65, 250: 0.66, 300: 0.68}),
    *identity("c", {50: 0.10, 100: 0.20, 250: 0.50, 300: 0.85}),
    *position("a", {50: 0.004, 100: 0.002, 150: 0.003, 200: 0.007, 300: 0.001}),
]


def test_forgetting_by_hand() -> None:
    change = forgetting(ROWS, STAGES)
    assert change.worlds == pytest.approx({"a": 0.55 - 0.80, "b": 0.66 - 0.70})  # c has no afterwards
    assert change.mean == pytest.approx((-0.25 - 0.04) / 2)
    assert forgetting(ROWS, STAGES, worlds=["b"]).mean == pytest.approx(-0.04)


def test_forgetting_of_position_has_the_sign_of_the_error() -> None:
    assert forgetting(ROWS, STAGES, "mse").worlds == pytest.approx({"a": 0.007 - 0.002})
    assert forgetting(ROWS, STAGES, "pixels").mean == pytest.approx(0.05)


def test_a_gain_afterwards_is_a_positive_change() -> None:
    rows = identity("a", {100: 0.5, 200: 0.6})
    assert forgetting(rows, STAGES).mean == pytest.approx(0.1)


def test_maximum_by_hand() -> None:
    during = maximum(ROWS, STAGES)
    assert during.worlds == {"a": 0.80, "b": 0.70, "c": 0.85}
    assert during.mean == pytest.approx(0.7833333)
    assert maximum(ROWS).worlds == {"a": 0.90, "b": 0.95, "c": 0.85}
    assert maximum(ROWS, STAGES, worlds=["a", "b"]).mean == pytest.approx(0.75)
    assert maximum(ROWS, STAGES, "mse").worlds == {"a": 0.002}


def test_a_score_at_the_last_step_of_a_stage_belongs_to_that_stage_alone() -> None:
    # b learns at steps 101 to 200: 0.95 came a batch too early; 0.40 is still "during", and not the worst afterwards.
    rows = identity("b", {100: 0.95, 150: 0.70, 200: 0.40, 250: 0.66})
    assert maximum(rows, STAGES).worlds == {"b": 0.70}
    assert forgetting(rows, STAGES).worlds == pytest.approx({"b": 0.66 - 0.70})
    rows = position("b", {100: 0.001, 150: 0.004, 200: 0.009, 250: 0.006})
    assert maximum(rows, STAGES, "mse").worlds == {"b": 0.004}
    assert forgetting(rows, STAGES, "mse").worlds == pytest.approx({"b": 0.006 - 0.004})


def test_returns_average_over_the_away_periods() -> None:
    stages = [("a", 100), ("b", 100), ("a", 100), ("b", 100)]
    rows = [
        # a: visit best 0.8; away worst 0.7 (a score at step 200 precedes the return); second visit best 0.75, so the
        # best so far stays 0.8; away worst 0.5: mean of -0.1 and -0.3
        *identity("a", {50: 0.80, 150: 0.72, 200: 0.70, 210: 0.60, 300: 0.75, 350: 0.50, 400: 0.78}),
        # b: one away-period, 0.9 -> 0.85; its last visit has no afterwards
        *identity("b", {200: 0.90, 250: 0.85, 300: 0.88, 400: 0.10}),
    ]
    assert forgetting(rows, stages).worlds == pytest.approx({"a": -0.2, "b": -0.05})


def test_two_stages_of_one_world_in_a_row_have_no_away_period_between() -> None:
    rows = identity("a", {100: 0.8, 150: 0.2, 200: 0.9, 250: 0.7})
    assert forgetting(rows, [("a", 100), ("a", 100), ("b", 100)]).worlds == pytest.approx({"a": 0.7 - 0.9})


def test_nothing_to_average_is_nan_not_zero() -> None:
    assert math.isnan(forgetting([], STAGES).mean)
    assert math.isnan(maximum([]).mean)


def test_the_final_score_is_the_one_of_the_last_step() -> None:
    assert final(ROWS).worlds == {"a": 0.75, "b": 0.68, "c": 0.85}
    assert final(ROWS, "mse", worlds=["a"]).worlds == {"a": 0.001}


def test_an_unknown_metric_is_named() -> None:
    with pytest.raises(ValueError, match=r"'f1'.*accuracy, mse, pixels"):
        maximum([], metric="f1")  # type: ignore[arg-type]


def frozen(world: str, values: dict[int, float], error: float = 0.01) -> list[dict[str, Any]]:
    return [{**row, "mode": "frozen", "error": error} for row in identity(world, values)]


def test_the_two_kinds_of_probes_are_kept_apart() -> None:
    # By the frozen encoder a loses 0.02, and the probe that was trained beside the learner lost 0.25 by its lag.
    rows = [*ROWS, *frozen("a", {100: 0.82, 200: 0.81, 300: 0.80}), *frozen("b", {200: 0.75, 300: 0.77})]
    assert forgetting(rows, STAGES).worlds == forgetting(ROWS, STAGES).worlds
    assert maximum(rows, STAGES).worlds == maximum(ROWS, STAGES).worlds
    assert final(rows).worlds == final(ROWS).worlds
    assert forgetting(rows, STAGES, probes="frozen").worlds == pytest.approx({"a": -0.02, "b": 0.02})
    assert maximum(rows, STAGES, probes="frozen").worlds == {"a": 0.82, "b": 0.75}
    assert final(rows, probes="frozen").worlds == {"a": 0.80, "b": 0.77}
    assert forgetting(ROWS, STAGES, probes="frozen").worlds == {}
    with pytest.raises(ValueError, match="'best'; there are appendix, frozen"):
        probe_rows(rows, "best")  # type: ignore[arg-type]


def once(world: str, mode: str, values: dict[int, float]) -> list[dict[str, Any]]:
    return [{**row, "mode": mode} for row in identity(world, values)]


def test_probes_that_were_trained_once_are_compared_with_their_first_score() -> None:
    stages = [("a", 100), ("b", 100), ("a", 100), ("b", 100)]
    rows = [
        # 0.8 at the end of the visit, at worst 0.7 until a comes back at 200, however it is read from then on
        *once("a", "kept", {100: 0.80, 150: 0.70, 200: 0.72, 250: 0.10}),
        *once("a", "kept", {300: 0.90, 350: 0.85, 400: 0.87}),
        *once("b", "kept", {200: 0.60}),  # nothing later
        *once("a", "settled", {110: 0.75, 150: 0.74, 200: 0.73, 250: 0.05, 300: 0.06}),
        *once("a", "settled", {310: 0.88, 350: 0.89, 400: 0.90}),
        *once("b", "settled", {250: 0.60, 300: 0.10}),  # without the first score
        *frozen("a", {100: 0.99, 200: 0.1}),
    ]
    assert forgetting(rows, stages, probes="kept").worlds == pytest.approx({"a": (-0.1 - 0.05) / 2})
    assert forgetting(rows, stages, probes="settled").worlds == pytest.approx({"a": (-0.02 + 0.01) / 2})
    assert forgetting(rows, stages, worlds=["b"], probes="settled").worlds == {}
    errors = [{**row, "mode": "settled"} for row in position("a", {110: 0.002, 150: 0.005, 200: 0.003})]
    assert forgetting(errors, stages, "mse", probes="settled").worlds == pytest.approx({"a": 0.003})


def test_the_error_of_a_score_is_the_root_mean_square_over_scores() -> None:
    rows = [*frozen("a", {100: 0.8}, error=0.03), *frozen("a", {200: 0.7}, error=0.04), *frozen("b", {200: 0.7}), *ROWS]
    assert score_error(rows).worlds == pytest.approx({"a": math.sqrt(0.00125), "b": 0.01})
    assert score_error(rows, worlds=["b"]).mean == pytest.approx(0.01)
    assert score_error(rows, "mse").worlds == {}
