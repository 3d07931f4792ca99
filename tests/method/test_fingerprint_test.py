"""The fingerprint as evidence: what it says of known and unknown environments, and when one has come into another."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch
from photographs import dimmed, draw, night, photographs

from vase.method.environment_memory import EnvironmentRecord
from vase.method.fingerprint_test import FingerprintTest
from vase.method.reference import FOLLOW
from vase.method.shift_tests import FITS, p_in_words
from vase.method.statistics import BatchStatistics

SHAPE = (1, 16, 16)


@pytest.fixture(scope="module")
def day() -> np.ndarray:
    return photographs(1500, np.random.default_rng(0), channels=1, side=16)


def record(index: int) -> EnvironmentRecord:
    none = torch.zeros(0, dtype=torch.bool)
    return EnvironmentRecord(index, none, none, none)


def seen(images: np.ndarray | torch.Tensor) -> BatchStatistics:
    x = torch.as_tensor(images)
    return BatchStatistics(x, {}, torch.zeros(0), len(x))


def teach(test: FingerprintTest, index: int, pool: np.ndarray, batches: int, seed: int = 0) -> FingerprintTest:
    rng = np.random.default_rng(seed)
    for _ in range(batches):
        test.update(record(index), seen(draw(pool, rng)))
    return test


@pytest.fixture(scope="module")
def taught(day: np.ndarray) -> FingerprintTest:
    """Environment 0 is day, 1 is night; do not teach it more."""
    return teach(teach(FingerprintTest(SHAPE), 0, day, 70), 1, night(day), 70)


@pytest.fixture
def batch(day: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(draw(day, np.random.default_rng(9)))


def test_what_is_not_known_is_not_judged(batch: torch.Tensor) -> None:
    test = FingerprintTest(SHAPE)
    assert test.distance(0, batch) is None
    assert test.evidence(record(0), seen(batch)) is FITS


def test_evidence_is_the_distance_in_words(taught: FingerprintTest, batch: torch.Tensor) -> None:
    found, expected = taught.evidence(record(1), seen(batch)), taught.distance(1, batch)
    assert expected is not None
    assert (found.p_value, found.effect) == (expected.p_value, expected.effect)
    assert found.p_value < 1e-12
    told = f"fingerprint {found.effect:.2g} standard deviations from environment 1 ({p_in_words(found.p_value)})"
    assert found.reason == told
    assert taught.evidence(record(0), seen(batch)).p_value > 0.01


def test_a_change_below_the_smallest_effect_is_none(day: np.ndarray) -> None:
    test = teach(FingerprintTest(SHAPE), 0, day, 70)
    batch = seen(dimmed(draw(day, np.random.default_rng(9))))
    found = test.evidence(record(0), batch)
    assert found.p_value < 1e-4
    test.smallest_effect = found.effect * 1.01
    mild = test.evidence(record(0), batch)
    assert (mild.p_value, mild.effect) == (1.0, found.effect)
    test.smallest_effect = found.effect * 0.99
    assert test.evidence(record(0), batch).p_value == found.p_value


def test_the_features_of_a_batch_are_computed_once(taught: FingerprintTest, day: np.ndarray) -> None:
    test, calls = copy.deepcopy(taught), []
    test.fingerprint.register_forward_hook(lambda *_: calls.append(1))
    first, second = (seen(draw(day, np.random.default_rng(seed))) for seed in (1, 2))
    for index in (0, 1):
        test.evidence(record(index), first)
    test.update(record(0), first)
    assert len(calls) == 1
    test.evidence(record(0), second)
    assert len(calls) == 2
    assert np.array_equal(test.features(second.images), test.fingerprint(second.images).numpy())


def test_an_array_that_is_filled_again_is_looked_at_again(day: np.ndarray) -> None:
    test, images = FingerprintTest(SHAPE), torch.from_numpy(draw(day, np.random.default_rng(1)))
    before = test.features(images).copy()
    test.update(record(0), seen(images))
    images.mul_(0.5)
    assert not np.array_equal(test.features(images), before)


def test_it_looks_at_nothing_but_images_and_knows_all_environments() -> None:
    assert not FingerprintTest.needs_networks
    assert FingerprintTest.knows_all


def test_a_new_environment_expects_the_scatter_of_the_newest(day: np.ndarray) -> None:
    rng, test = np.random.default_rng(0), FingerprintTest(SHAPE)
    for _ in range(100):
        test.update(record(0), seen(draw(day, rng, 8).repeat(8, axis=0)))
    ratio = test.references[0].scatter["whitened"].ratio
    assert ratio > 6
    test.update(record(1), seen(night(draw(day, rng))))
    assert test.references[1].scatter["whitened"].ratio == pytest.approx(ratio)


class TestArrived:
    def test_a_moving_environment_comes_into_a_known_one(self, taught: FingerprintTest, day: np.ndarray) -> None:
        """From half as bright to full day within 60 batches."""
        test, rng = copy.deepcopy(taught), np.random.default_rng(5)
        found = []
        for light in [*np.linspace(0.6, 1.0, 60), *[1.0] * 60]:
            test.update(record(2), seen((light * draw(day, rng)).astype(np.float32)))
            found.append(test.arrived(record(2)))
        assert not any(s == 1 for s in found)
        assert found[:40] == [None] * 40  # on its way
        assert 0 in found[60:]
        assert all((t + 1) % FOLLOW == 0 for t, s in enumerate(found) if s is not None)

    def test_the_young_the_settled_and_the_unknown_have_not(self, taught: FingerprintTest, day: np.ndarray) -> None:
        test = teach(copy.deepcopy(taught), 2, day, FOLLOW)
        assert [test.arrived(record(index)) for index in (0, 1, 2, 7)] == [None] * 4
        assert taught.references[0].settled


class TestSingleImages:
    def test_likelihoods_of_each_environment(self, taught: FingerprintTest, day: np.ndarray) -> None:
        rng = np.random.default_rng(6)
        images = torch.from_numpy(np.concatenate([draw(day, rng, 40), night(draw(day, rng, 40))]))
        likelihoods = taught.log_likelihoods(images, 3)
        assert likelihoods.shape == (80, 3)
        assert likelihoods[:, 2].tolist() == [-math.inf] * 80
        right = likelihoods.argmax(1) == torch.tensor([0] * 40 + [1] * 40)
        assert int(right.sum()) >= 76

    def test_p_values_of_each_environment(self, taught: FingerprintTest, day: np.ndarray) -> None:
        images = torch.from_numpy(draw(day, np.random.default_rng(7), 200))
        p_values = taught.image_p_values(images, 3)
        assert p_values[:, 2].tolist() == [0.0] * 200
        assert 0.02 < float((p_values[:, 0] < 0.1).double().mean()) < 0.2
        assert float((p_values[:, 0] < 1e-4).double().mean()) < 0.01
        checkerboard = (torch.arange(16)[:, None] + torch.arange(16)).remainder(2).float().expand(1, *SHAPE)
        assert float(taught.image_p_values(checkerboard, 2).max()) < 1e-4


def test_state_is_restored(taught: FingerprintTest, batch: torch.Tensor, day: np.ndarray) -> None:
    again, test = FingerprintTest(SHAPE), copy.deepcopy(taught)
    again.load_state_dict(test.state_dict())
    assert list(again.references) == [0, 1]
    for index in (0, 1):
        assert again.distance(index, batch) == test.distance(index, batch)
    for each in (again, test):
        teach(each, 1, night(day), 40, seed=3)
    assert again.distance(1, batch) == test.distance(1, batch)
