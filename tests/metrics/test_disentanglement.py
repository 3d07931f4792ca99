"""Measures of representations, on cases that can be worked out by hand."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from vase.metrics import disentanglement as measures
from vase.metrics.disentanglement import (
    dci,
    dci_of,
    factor_vae_score,
    information,
    measure,
    mig,
    sap,
)
from vase.metrics.latents import alignment

B = 1_200


def world(classes: int = 10) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    return {"label": rng.integers(classes, size=B), "x": rng.integers(13, size=B) / 12, "y": rng.random(B)}


def noise(columns: int, seed: int = 6) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(B, columns))


def aligned(factors: dict[str, np.ndarray]) -> np.ndarray:
    """One code per factor, with different scales, and three that mean nothing."""
    own = np.stack([values * scale for values, scale in zip(factors.values(), (0.3, -50.0, 4.0), strict=True)], 1)
    return np.concatenate([own, noise(3)], 1).astype(np.float32)


def rotated() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Two factors, each spread evenly over two codes."""
    x, y = np.random.default_rng(7).random((2, B))
    return np.stack([x + y, x - y], 1), {"x": x, "y": y}


# Information, MIG and alignment


def test_information_of_a_two_by_two_table() -> None:
    # Joint probabilities 3/8, 1/8, 1/8, 3/8: I = 3/4 ln(3/2) + 1/4 ln(1/2) nats, H = ln 2.
    code = np.array([0, 0, 0, 0, 1, 1, 1, 1.0])[:, None]
    label = np.array([4, 4, 4, 9, 4, 9, 9, 9])
    expected = (0.75 * math.log(1.5) + 0.25 * math.log(0.5)) / math.log(2)
    assert expected == pytest.approx(0.188722, abs=1e-6)
    assert information(code, {"label": label})["label"] == pytest.approx([expected])


def test_a_code_is_cut_into_twenty_equal_bins_of_its_range() -> None:
    # 0, 1, ..., 39 in bins of 1.95: two values in each, so neighbours 2k and 2k + 1 cannot be told apart.
    code, label = np.arange(40.0), np.arange(40)
    assert information(code[:, None], {"label": label})["label"] == pytest.approx([math.log(20) / math.log(40)])
    assert information(code[:, None], {"label": label // 2})["label"] == pytest.approx([1.0])
    assert information(code[:, None], {"label": label % 2})["label"] == pytest.approx([0.0])


def test_a_continuous_factor_is_cut_into_ten_bins_of_the_unit_interval() -> None:
    code = np.array([0.0, 1.0] * 4)[:, None]
    assert information(code, {"x": np.array([0.61, 0.69] * 4)}) == {}  # one bin
    edges = np.array([0.6, 0.7] * 4, np.float32)  # in double precision 0.7 is 0.69999999
    assert information(code, {"x": edges})["x"] == pytest.approx([1.0])
    # 0.05, 0.15, ..., 0.95, twice: ten bins; the code tells the upper half from the lower one.
    x = np.tile(np.arange(10) / 10 + 0.05, 2)
    half = (x > 0.5).astype(float)[:, None]
    assert information(half, {"x": x})["x"] == pytest.approx([math.log(2) / math.log(10)])
    assert information(half, {"x": np.tile(np.linspace(0, 1, 11), 2)[:20]}).keys() == {"x"}  # 1 is in the last bin


def test_still_factors_are_dropped_and_still_codes_say_nothing() -> None:
    factors = {**world(), "x": np.full(B, 0.5), "y": 0.5 + 1e-9 * noise(1)[:, 0], "flag": np.ones(B, bool)}
    codes = np.stack([factors["label"], np.full(B, 3.0), 1e-8 * factors["label"]], 1)
    found = information(codes, factors)
    assert found.keys() == {"label"}
    assert found["label"] == pytest.approx([1, 0, 0])
    # Chance of ten classes is all that a still code scores.
    assert sap(codes, factors).factors == pytest.approx({"label": 0.9})
    assert dci(codes, factors).completeness == pytest.approx(1)


def test_mig_by_hand() -> None:
    gap = mig({"a": [0.3, 0.9, 0.5], "b": np.array([0.2, 0.2, 0.1])})
    assert gap.factors == pytest.approx({"a": 0.4, "b": 0.0})
    assert gap.mean == pytest.approx(0.2)
    assert mig({"a": [0.7]}).mean == pytest.approx(0.7)
    assert mig({}).mean is None


def test_alignment_by_hand() -> None:
    first = {"label": [0, 1, 0], "x": [1, 0, 0], "y": [0.5, 0.1, 0.1], "lost": [0, 0, 0]}
    second = {"x": np.array([0.6, 0.8, 0]), "y": [0.5, 0.1, 0.1], "lost": [1, 0, 0]}
    found = alignment(first, second)
    assert found.keys() == {"x", "y", "lost"}
    assert found["x"] == {"same": False, "cosine": pytest.approx(0.6)}
    assert found["y"] == {"same": True, "cosine": pytest.approx(1.0)}
    assert found["lost"] == {"same": False, "cosine": None}
    with pytest.raises(ValueError, match=r"'x' has 3 codes in one world and 2.*same representation"):
        alignment(first, {"x": [1, 0]})


# SAP


def test_sap_of_a_continuous_factor_is_a_gap_of_squared_correlations() -> None:
    # Second code: covariance 1/8, variances 3/16 and 1/4, so r² = (1/64) / (3/64) = 1/3. Third: r² = 0.
    x = np.array([0.0, 1.0, 0.0, 1.0])
    codes = np.array([x, [0, 1, 1, 1], [0, 0, 1, 1]]).T
    assert sap(codes, {"x": x}).mean == pytest.approx(2 / 3)
    assert sap(codes[:, 1:], {"x": x}).mean == pytest.approx(1 / 3)
    assert sap(codes[:, 1:2], {"x": x}).mean == pytest.approx(1 / 3)  # a lone code against none


def test_sap_of_a_label_is_a_gap_of_balanced_accuracies() -> None:
    # Two classes of 3000 and 1000; a quarter of each is on the wrong side of the second code.
    label = np.repeat([0, 1], [3_000, 1_000])
    wrong = np.arange(4_000) % 4 == 0
    codes = np.stack([label * 5.0, label ^ wrong], 1)
    assert sap(codes, {"label": label}).mean == pytest.approx(1 - 0.75, abs=0.02)
    assert sap(codes[:, :1], {"label": label}).mean == pytest.approx(1 - 0.5)


def test_examples_may_come_in_any_order() -> None:
    # Sorted by class, the first half of the examples never shows the second half of the classes.
    label = np.sort(world()["label"])
    codes = np.stack([label, noise(1)[:, 0]], 1)
    assert sap(codes, {"label": label}).mean > 0.8
    assert dci(codes, {"label": label}).informativeness.mean == 1.0


# DCI


@pytest.mark.parametrize(
    ("importance", "disentanglement", "completeness"),
    [
        (np.eye(3), 1, 1),
        (np.ones((4, 3)), 0, 0),
        ([[0, 5, 0], [1, 0, 0], [0, 0, 2], [0, 0, 0]], 1, 1),  # a useless code does not count
        (np.zeros((3, 2)), 0, 0),
        # Rows: 1 with weight 1/4, and 1 - H(1/3, 2/3) = 0.0817042 with 3/4; columns: 0 and 1 with 1/2 each.
        ([[1, 0], [1, 2]], 0.25 + 0.75 * 0.0817042, 0.5),
        # A factor in two codes: 1 - ln 2 / ln 3 = 0.3690702 with weight 2/3, and 1 with 1/3.
        ([[1, 0], [1, 0], [0, 1]], 1, (2 * 0.3690702 + 1) / 3),
        ([[1], [1]], None, 0),
        ([[1, 1]], 0, None),
    ],
)
def test_dci_of_a_matrix_by_hand(importance: Any, disentanglement: float | None, completeness: float | None) -> None:
    found = dci_of(np.asarray(importance, float))
    assert found == pytest.approx((disentanglement, completeness), abs=1e-6)


def test_dci_sees_what_is_mixed_and_what_is_split() -> None:
    codes, factors = rotated()
    mixed = dci(codes, factors)
    assert mixed.disentanglement is not None
    assert mixed.disentanglement < 0.1
    split = dci(np.stack([factors["x"], factors["x"], factors["y"]], 1) + 0.005 * noise(3), factors)
    assert split.disentanglement is not None
    assert split.completeness is not None
    assert split.disentanglement > 0.8
    assert 0.3 < split.completeness < 0.8  # 0.58 if x is used evenly, more if not


def test_codes_that_never_move_leave_the_most_frequent_class() -> None:
    label = np.repeat([0, 1], [300, 900])
    found = dci(np.zeros((B, 4)), {"label": label})
    assert found.informativeness.mean == pytest.approx(0.75, abs=0.03)
    assert (found.disentanglement, found.completeness) == (None, 0)


# FactorVAE


def votes(codes: np.ndarray, factors: dict[str, np.ndarray], **values: Any) -> float | None:
    return factor_vae_score(codes, factors, rng=np.random.default_rng(1), **values)


def test_factor_vae_score_of_clear_and_of_useless_codes() -> None:
    factors = world()
    assert votes(aligned(factors), factors) == 1.0  # whatever the scale of the codes
    assert votes(noise(6), factors) == pytest.approx(1 / 3, abs=0.06)
    # Only x is there: fixing x is always seen, and of the rest half is guessed.
    only_x = np.concatenate([factors["x"][:, None], noise(5)], 1)
    assert votes(only_x, factors) == pytest.approx(2 / 3, abs=0.08)


def test_collapsed_codes_have_no_vote() -> None:
    factors = world()
    faint = np.concatenate([0.01 * aligned(factors)[:, [0, 2]], noise(4)], 1)
    assert votes(faint, factors) == pytest.approx(1 / 3, abs=0.06)
    assert votes(faint[:, :2], factors) == 0


def test_a_code_is_collapsed_below_a_twentieth_of_the_prior() -> None:
    factors = world()
    codes = aligned(factors)[:, :3].astype(float)
    codes /= codes.std(0)
    assert votes(0.049 * codes, factors) == 0
    assert votes(0.051 * codes, factors) == 1


def test_a_value_needs_a_quarter_of_a_group_of_examples() -> None:
    # A group has 64 examples: 75 values of 16 examples are enough, 80 values of 15 are not.
    label = np.arange(B) % 2
    for examples, score in ((16, 1.0), (15, None)):
        number = np.arange(B) // examples
        codes = np.stack([label, number], 1).astype(float)
        assert votes(codes, {"label": label, "number": number}) == score
    assert votes(codes, {"label": label, "number": number}, group=60) == 1


def test_factor_vae_score_needs_two_factors_with_enough_examples() -> None:
    factors = world()
    assert votes(aligned(factors), {"label": factors["label"], "x": np.full(B, 0.5)}) is None
    rare = {"label": factors["label"], "id": np.arange(B)}
    assert votes(aligned(factors), rare) is None
    assert votes(aligned(factors), {**rare, "x": factors["x"]}) == 1.0


# All together


def test_one_code_per_factor_is_near_the_best_of_every_measure() -> None:
    factors = world()
    found = measure(aligned(factors), factors)
    assert [int(np.argmax(found["information"][name])) for name in ("label", "x", "y")] == [0, 1, 2]
    assert found["information"]["label"][0] == 1
    assert found["mig_per_factor"]["label"] > 0.95
    assert found["mig"] > 0.9
    assert found["sap_per_factor"]["x"] > 0.98
    assert 0.82 < found["sap_per_factor"]["label"] <= 0.9  # 1 - chance
    assert min(found["dci"][name] for name in ("disentanglement", "completeness", "informativeness")) > 0.97
    assert found["factor_vae"] == 1


def test_rotated_codes_are_near_the_worst() -> None:
    codes, factors = rotated()
    found = measure(codes, factors)
    assert found["mig"] < 0.05
    assert found["sap"] < 0.05
    assert found["dci"]["disentanglement"] < 0.1
    assert found["dci"]["informativeness"] > 0.6  # the information is there all the same


def test_two_copies_of_a_code_leave_no_gap() -> None:
    factors = world()
    codes = aligned(factors)
    found = measure(np.concatenate([codes, codes], 1), factors)
    assert (found["mig"], found["sap"]) == (0, 0)


def test_the_order_of_codes_and_factors_does_not_matter() -> None:
    factors = world()
    codes = aligned(factors) + 0.3 * noise(6, seed=8)
    order = [4, 2, 0, 5, 1, 3]
    there, back = measure(codes, factors), measure(codes[:, order], dict(reversed(factors.items())))
    for name in factors:
        assert back["information"][name] == [there["information"][name][n] for n in order]
    for name in ("mig_per_factor", "sap_per_factor"):
        assert back[name] == there[name]
    assert back["mig"] == pytest.approx(there["mig"], rel=1e-5)
    for name in ("disentanglement", "completeness", "informativeness"):
        assert back["dci"][name] == pytest.approx(there["dci"][name], abs=0.02)  # the forest breaks ties by chance
    assert back["factor_vae"] == pytest.approx(there["factor_vae"], abs=0.05)


def test_measure_is_ready_for_json_and_repeatable() -> None:
    factors = world()
    codes = noise(5).astype(np.float32)
    found = measure(codes, factors, seed=3)
    assert json.loads(json.dumps(found, allow_nan=False)) == found == measure(codes.copy(), factors, seed=3)
    assert found["sap"] == float(f"{found['sap']:.6g}")
    assert found != measure(codes, factors, seed=4)


def test_a_static_world_has_one_factor() -> None:
    factors = {"label": world()["label"], "x": np.full(B, 0.5), "y": np.full(B, 0.5)}
    found = measure(np.stack([factors["label"], noise(1)[:, 0]], 1), factors)
    assert found["information"].keys() == found["mig_per_factor"].keys() == {"label"}
    assert found["mig"] > 0.95
    assert found["factor_vae"] is None
    assert found["dci"]["disentanglement"] is None
    assert found["dci"]["completeness"] > 0.97
    assert found["dci"]["informativeness"] == 1


def test_without_factors_nothing_is_defined() -> None:
    found = measure(noise(3), {})
    assert found["information"] == found["mig_per_factor"] == {}
    assert [found[name] for name in ("mig", "sap", "factor_vae")] == [None] * 3
    assert [found["dci"][name] for name in ("disentanglement", "completeness", "informativeness")] == [None] * 3


# Errors


@pytest.mark.parametrize("function", [information, sap, dci, votes, measure])
@pytest.mark.parametrize(
    ("codes", "factors", "error", "message"),
    [
        (np.zeros(8), {}, ValueError, r"shape \(8,\).*one column per latent"),
        (np.zeros((3, 2)), {}, ValueError, r"3 codes.*encode more"),
        (np.array([[math.nan], [0], [1], [math.inf]]), {}, ValueError, r"2 of 4 codes.*leave these images out"),
        (np.zeros((4, 2)), {"x": np.zeros(5)}, ValueError, r"'x' of shape \(5,\).*one value per code, \(4,\)"),
        (np.zeros((4, 2)), {"x": np.arange(4.0)}, ValueError, r"'x'.*0 to 3.*scale.*or pass class labels as integers"),
        (np.zeros((4, 2)), {"x": np.full(4, math.nan)}, ValueError, r"'x'.*scale"),
        (np.zeros((4, 2)), {"label": np.array(list("abab"))}, TypeError, r"'label' of dtype <U1: pass integers"),
    ],
)
def test_bad_input_is_refused_with_the_remedy(
    function: Any, codes: np.ndarray, factors: dict[str, np.ndarray], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        function(codes, factors)


def test_a_bad_matrix_is_refused_with_the_remedy() -> None:
    with pytest.raises(ValueError, match=r"not negative \(np.abs"):
        dci_of(np.array([[1.0, -1.0]]))


def test_measures_keep_the_global_random_state() -> None:
    before = np.random.get_state()[1]  # noqa: NPY002
    measures.measure(noise(3), world())
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002
