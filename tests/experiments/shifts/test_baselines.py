"""Drift detectors and their statistics, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import ks_2samp

from vase.experiments.shifts import baselines
from vase.experiments.shifts.baselines import BASELINES, Dummy, River, TwoSample
from vase.experiments.shifts.calibration import bisect, threshold
from vase.experiments.shifts.evidence import Evidence
from vase.experiments.shifts.settings import BASELINE_NAMES
from vase.experiments.shifts.two_samples import ks_bonferroni, ks_distance, mmd


def evidence(*segments: tuple[float, int], seed: int = 0, spread: float = 1.0) -> Evidence:
    """Batches of 16 images whose loss and features are normal about a level, which changes from segment to segment."""
    rng = np.random.default_rng(seed)
    levels = np.concatenate([np.full(n, level, np.float32) for level, n in segments])
    features = levels[:, None, None] + spread * rng.standard_normal((len(levels), 16, 3), np.float32)
    return Evidence(levels + 0.25 * features[:, :, 0].std(1), features, features)


def test_the_names_in_the_settings_are_those_of_the_baselines() -> None:
    assert tuple(BASELINES) == BASELINE_NAMES


def test_ks_distance_by_hand() -> None:
    """At 2.5 all of the first batch and half of the reference lie below; ties count on both sides."""
    reference = np.array([4, 2, 1, 3], np.float32)
    batches = np.array([[0.5, 2.5], [5, 6], [1, 2], [2, 3]], np.float32)
    np.testing.assert_allclose(ks_distance(reference, batches), [0.5, 1, 0.5, 0.25])


def test_ks_distance_is_that_of_scipy() -> None:
    rng = np.random.default_rng(0)
    reference = rng.integers(0, 30, 100).astype(np.float32)  # with ties
    batches = rng.integers(0, 40, (20, 16)).astype(np.float32)
    expected = [ks_2samp(reference, batch).statistic for batch in batches]
    np.testing.assert_allclose(ks_distance(reference, batches), expected, atol=1e-12)


def test_bonferroni_multiplies_by_the_number_of_features() -> None:
    rng = np.random.default_rng(0)
    reference, batches = rng.standard_normal((200, 1), np.float32), rng.standard_normal((5, 16, 1), np.float32) + 1
    one = ks_bonferroni(reference)(batches)
    three = ks_bonferroni(np.repeat(reference, 3, 1))(np.repeat(batches, 3, 2))
    np.testing.assert_allclose(one - three, np.log10(3), rtol=1e-6)
    assert (ks_bonferroni(reference)(reference[:160].reshape(10, 16, 1)) >= 0).all()


def test_mmd_is_that_of_its_definition() -> None:
    """Two numbers in the reference, at a distance of 1: γ = 1, so k(0, 1) = 1/e, and k = 1 for the same number."""
    reference = np.array([[0.0]] * 8 + [[1.0]] * 8, np.float32)
    far, same = np.full((1, 8, 1), 100, np.float32), np.array([[0.0]] * 4 + [[1.0]] * 4, np.float32)[None]
    statistic = mmd(reference)
    within = (1 + np.exp(-1)) / 2
    difference = float(statistic(far)[0] - statistic(same)[0])
    spread = (within + 1) / difference  # MMD² of `far` is within + 1 − 2·0, of `same` 0
    assert 0 < spread < 0.2  # MMD² of a random half of the reference against the other half, at most 2·within
    assert statistic(far)[0] > 5 > abs(statistic(same)[0])


def test_mmd_is_standardised() -> None:
    rng = np.random.default_rng(0)
    statistic = mmd(rng.standard_normal((640, 4), np.float32))
    null, shifted = statistic(rng.standard_normal((200, 64, 4), np.float32)), rng.standard_normal((5, 64, 4))
    assert abs(null.mean()) < 0.6
    assert 0.6 < null.std() < 1.6
    assert statistic((shifted + 0.5).astype(np.float32)).min() > 5


@pytest.mark.parametrize("test", [ks_bonferroni, mmd])
def test_a_learning_reference_starts_anew_with_every_alarm(test: Any) -> None:
    found = TwoSample("x", "latents", test).follow(evidence((0, 25), (5, 25), (0, 25)), 8.0)
    assert found.tolist() == [0] * 25 + [1] * 25 + [2] * 25


@pytest.mark.parametrize("test", [ks_bonferroni, mmd])
def test_a_frozen_reference_knows_its_own_world_again(test: Any) -> None:
    frozen = TwoSample("x", "untrained", test, frozen=True)
    found = frozen.follow(evidence((0, 25), (5, 25), (9, 5), (0, 20), (7, 5)), 8.0)
    assert found.tolist() == [0] * 25 + [1] * 30 + [0] * 20 + [2] * 5


def test_a_change_while_the_reference_is_collected_is_not_seen() -> None:
    found = TwoSample("x", "latents", ks_bonferroni).follow(evidence((0, 25), (5, 4), (0, 30)), 8.0)
    assert found.tolist()[:29] == [0] * 25 + [1] * 4
    assert baselines.WINDOW == 10


def test_the_statistic_of_a_control_is_what_is_compared_with_the_threshold() -> None:
    calm = evidence((0, 40))
    for frozen in (False, True):
        detector = TwoSample("x", "latents", ks_bonferroni, frozen)
        values = detector.statistic(calm)
        assert values.shape == (30,)
        largest = float(values.max())
        assert detector.false_alarms(calm, largest) == 0
        assert detector.false_alarms(calm, largest - 1e-9) >= 1


def test_a_stream_shorter_than_the_reference_raises_no_alarm() -> None:
    for frozen in (False, True):
        assert TwoSample("x", "latents", mmd, frozen).follow(evidence((0, 6)), 0.0).tolist() == [0] * 6


def test_the_dummy_counts() -> None:
    assert Dummy().follow(evidence((0, 7)), 3).tolist() == [0, 0, 0, 1, 1, 1, 2]
    assert threshold(Dummy(), [], 10) == 1000


@pytest.mark.parametrize("name", ["ADWIN", "PageHinkley", "KSWIN"])
def test_detectors_of_river_on_the_loss(name: str) -> None:
    pytest.importorskip("river")
    found = River("x", name).follow(evidence((0, 80), (9, 60)), 3.0)
    assert found[79] == 0
    assert found[-1] == 1
    assert 80 <= int(np.argmax(found)) <= 100


def test_thresholds_by_hand() -> None:
    """10,000 batches in two controls: with a rate of 3, three values may lie above."""
    values = np.arange(10_000, dtype=np.float32)
    detector = TwoSample("x", "latents", mmd)
    controls = [{"loss": values[::2], "x": values[::2]}, {"loss": values[1::2], "x": values[1::2]}]
    assert 9996 <= threshold(detector, controls, 3) <= 9997 * 1.001
    assert 9899 <= threshold(detector, controls, 100) <= 9900 * 1.001


def test_a_frozen_reference_raises_two_alarms_per_peak() -> None:
    peaks = np.zeros(5_000, np.float32)
    peaks[[100, 200, 201, 300]] = 5, 10, 10, 20
    controls = [{"loss": peaks, "x": peaks}, {"loss": np.zeros(5_000, np.float32), "x": np.zeros(5_000, np.float32)}]
    for rate, frozen, expected in ((3, False, 5), (2, False, 10), (1, False, 10), (4, True, 5), (2, True, 10)):
        found = threshold(TwoSample("x", "latents", mmd, frozen), controls, rate)
        assert expected <= found <= expected * 1.001


def test_a_threshold_that_needs_runs() -> None:
    """A loss with three jumps, of which one may be announced: the threshold is above the second largest."""
    pytest.importorskip("river")
    rng = np.random.default_rng(0)
    loss = rng.normal(0, 0.1, 3_000).astype(np.float32)
    loss[500:] += 1
    loss[1_000:] += 3
    loss[1_500:] += 9
    controls = [{"loss": loss}, {"loss": rng.normal(0, 0.1, 7_000).astype(np.float32)}]
    detector = River("x", "PageHinkley")
    alarms = {rate: threshold(detector, controls, rate) for rate in (3, 1)}
    assert alarms[3] < alarms[1]
    first, second = (Evidence(control["loss"], loss, loss) for control in controls)
    for rate, value in alarms.items():
        assert detector.false_alarms(first, value) + detector.false_alarms(second, value) <= rate


def test_bisection_that_never_holds_ends_at_the_top() -> None:
    assert bisect(lambda _: False, high=50) == pytest.approx(50)
