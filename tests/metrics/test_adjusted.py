"""Measures adjusted for chance: 0 for unrelated latents, 1 for perfect ones, and by hand in between."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from vase.metrics.adjusted import (
    adjusted_dci,
    adjusted_information,
    adjusted_sap,
    chance_information,
    measure_adjusted,
    mig_error,
)
from vase.metrics.disentanglement import information, mig

B = 1_200
TABLE_CODE = np.array([0, 0, 0, 0, 1, 1, 1, 1.0])[:, None]
TABLE_LABEL = np.array([4, 4, 4, 9, 4, 9, 9, 9])


def world() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    return {"label": rng.integers(10, size=B), "x": rng.integers(13, size=B) / 12, "y": rng.random(B)}


def noise(columns: int) -> np.ndarray:
    return np.random.default_rng(6).normal(size=(B, columns))


def perfect(factors: dict[str, np.ndarray]) -> np.ndarray:
    return np.concatenate([np.stack([factors[name] * 1.0 for name in ("label", "x", "y")], 1), noise(3)], 1)


def test_chance_information_of_two_by_two_by_hand() -> None:
    # Two of four: of the 6 orders of the factor 2 agree with the code (ln 2 nats), 4 are independent of it.
    assert chance_information(np.array([[2.0, 0], [0, 2]])) == pytest.approx(math.log(2) / 3)
    assert chance_information(np.array([[2.0, 0, 0], [0, 0, 0], [0, 0, 2]])) == pytest.approx(math.log(2) / 3)


def test_adjusted_information_by_hand() -> None:
    # Counts 3, 1, 1, 3: a share of 0.188722. Of the 70 orders, 32 have these counts, 2 agree, 36 are independent.
    chance = (2 + 32 * 0.188722) / 70
    found = adjusted_information(TABLE_CODE, {"label": TABLE_LABEL})["label"]
    assert found == pytest.approx([(0.188722 - chance) / (1 - chance)], abs=1e-6)
    assert information(TABLE_CODE, {"label": TABLE_LABEL})["label"] == pytest.approx([0.188722], abs=1e-6)


def test_chance_is_the_average_over_permutations() -> None:
    rng, factors = np.random.default_rng(0), {"label": world()["label"]}
    code = noise(1)
    shuffled = [information(code, {"label": rng.permutation(factors["label"])})["label"][0] for _ in range(300)]
    bins = np.minimum(((code[:, 0] - code.min()) / np.ptp(code) * 20).astype(int), 19)
    joint = np.zeros((20, 10))
    np.add.at(joint, (bins, factors["label"]), 1)
    p = joint.sum(0) / B
    assert chance_information(joint) / -(p * np.log(p)).sum() == pytest.approx(np.mean(shuffled), rel=0.02)


def test_unrelated_latents_read_nothing_and_a_perfect_one_everything() -> None:
    factors = world()
    plain, found = information(noise(24), factors), adjusted_information(noise(24), factors)
    for name in factors:
        assert plain[name].mean() > 0.025  # what the plain estimate makes of noise
        assert found[name].mean() < 0.004
        assert adjusted_information(perfect(factors), factors)[name].max() == pytest.approx(
            information(perfect(factors), factors)[name].max(), abs=0.02
        )
    assert adjusted_information(perfect(factors), factors)["label"][0] == 1
    assert mig(found).mean == pytest.approx(0, abs=0.012)


def test_absent_latents_have_no_information() -> None:
    factors = world()
    codes = perfect(factors) * [0, 1, 1, 0, 0, 0]
    found = measure_adjusted(codes, factors)
    assert [values[0] for values in found["information"].values()] == [0, 0, 0]
    assert found["mig_per_factor"]["label"] < 0.01 < 0.9 < found["mig_per_factor"]["x"]
    assert found["dci"]["informativeness_per_factor"]["label"] < 0.2
    nothing = measure_adjusted(codes * 0, factors)
    assert nothing["mig"] == nothing["sap"] == nothing["dci"]["disentanglement"] == nothing["mig_error"] == 0


def test_sap_by_hand() -> None:
    # x and u are orthogonal, so r² of the second code is ½; chance is 1/(5 − 1): (½ − ¼)/(1 − ¼) = ⅓.
    x, u = np.arange(5) / 4, np.array([1.0, -1, 0, -1, 1])
    centred = x - 0.5
    half = centred / np.linalg.norm(centred) + u / np.linalg.norm(u)
    assert adjusted_sap(np.stack([x, half], 1), {"x": x}).factors == pytest.approx({"x": 1 - 1 / 3})
    assert adjusted_sap(np.stack([half, u], 1), {"x": x}).factors == pytest.approx({"x": 1 / 3})  # u: below chance, 0
    label = np.tile(np.arange(4), 50)
    found = adjusted_sap(np.stack([label * 1.0, np.ones(200)], 1), {"label": label})
    assert found.factors == {"label": 1.0}  # balanced accuracy 1 against 1/4


def test_dci_of_perfect_and_of_useless_codes() -> None:
    factors = world()
    best = adjusted_dci(perfect(factors)[:, :3], factors)
    assert best.disentanglement == pytest.approx(1, abs=0.03)
    assert best.completeness == pytest.approx(1, abs=0.03)
    for columns in (2, 8, 24):
        useless = adjusted_dci(noise(columns), factors)
        assert useless.disentanglement == pytest.approx(0, abs=0.06)
        assert useless.completeness == pytest.approx(0, abs=0.06)


def test_the_error_of_mig_is_its_spread_over_samples() -> None:
    def sample(seed: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        rng = np.random.default_rng(seed)
        label = rng.integers(4, size=400)
        codes = np.stack([label + rng.normal(size=400), label + 3 * rng.normal(size=400), rng.normal(size=400)], 1)
        return codes, {"label": label}

    gaps = [mig(adjusted_information(*sample(seed))).mean for seed in range(60)]
    errors = [mig_error(*sample(seed)) for seed in range(10)]
    assert np.mean(errors) == pytest.approx(np.std(gaps, ddof=1), rel=0.3)  # type: ignore[arg-type]


def test_measures_are_ready_for_json_and_repeatable() -> None:
    factors = world()
    found: dict[str, Any] = measure_adjusted(perfect(factors), factors, seed=1)
    assert json.loads(json.dumps(found)) == found == measure_adjusted(perfect(factors), factors, seed=1)
    assert found["axes"]["x"] == {"latent": 1, "correlation": 1.0, "second": found["axes"]["x"]["second"]}
    assert found["axes"]["y"]["latent"] == 2
    static = {"label": factors["label"], "x": np.full(B, 0.5), "y": np.full(B, 0.5)}
    assert "axes" not in measure_adjusted(perfect(factors), static)
