"""What is answered about batches of one world, of two, of none that is known, and about single frames."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from photographs import draw, night, noisy, photographs

from vase import VASEConfig
from vase.learners.inference import best_environment, explain, unknown
from vase.learners.monitor import ShiftMonitor
from vase.method.environment_memory import EnvironmentRecord
from vase.method.shift_detector import Fit, ShiftDetector
from vase.method.shift_tests import FITS, Evidence, ShiftTest
from vase.method.statistics import BatchStatistics

RNG = np.random.default_rng
FITTING, FOREIGN = Fit(0.5, 0.0, ()), Fit(1e-9, 3.0, ("foreign",))


@pytest.fixture(scope="module")
def day() -> np.ndarray:
    return photographs(1500, RNG(0))


@pytest.fixture(scope="module")
def monitor(day: np.ndarray) -> ShiftMonitor:
    """It has seen day, then night; the tests only ask."""
    made, rng = ShiftMonitor(VASEConfig(image_shape=(3, 32, 32))), RNG(1)
    for pool in (day, night(day)):
        for _ in range(70):
            made.partial_fit(draw(pool, rng))
    assert (made.n_environments, made.environment) == (2, 1)
    return made


def checkerboards(n: int) -> np.ndarray:
    """Black and white squares of 1 to 4 pixels: nothing like photographs."""
    rows, columns, size = np.arange(32)[:, None], np.arange(32), RNG(3).integers(1, 5, (n, 1, 1))
    return np.repeat(((rows // size + columns // size) % 2)[:, None], 3, axis=1).astype(np.float32)


class NoImages(ShiftTest):
    def evidence(self, record: EnvironmentRecord, batch: BatchStatistics) -> Evidence:
        return FITS


def test_before_anything_is_learnt() -> None:
    found = unknown(3)
    assert (found.environment, found.verdict) == (None, "new environment")
    assert found.reasons == ("nothing has been learnt yet",)
    assert found.posterior.tolist() == [1.0]
    assert found.environments.tolist() == [-1, -1, -1]
    assert found.shares == {-1: 1.0}
    assert found.each.shape == (3, 0)
    assert found.image_posterior.tolist() == [[1.0]] * 3


@pytest.mark.parametrize("index", [0, 1])
def test_a_batch_of_a_known_world(monitor: ShiftMonitor, day: np.ndarray, index: int) -> None:
    images = draw((day, night(day))[index], RNG(2))
    found = monitor.infer_environment(images)
    assert (found.environment, found.verdict) == (index, f"environment {index}")
    assert found.reasons[-1] == f"the batch fits environment {index}"
    assert found.shares == {index: 1.0}
    assert found.posterior.argmax() == index
    assert found.posterior.sum() == pytest.approx(1.0)
    assert found.p_values[index] > 0.01 > 1e-4 > found.p_values[1 - index]
    assert found.effects[index] < 0.5 < found.effects[1 - index]
    assert np.mean(found.environments == index) > 0.9
    assert found.image_posterior.shape == (64, 3)
    assert found.image_posterior.sum(1).tolist() == pytest.approx([1.0] * 64, abs=1e-5)


def test_a_batch_of_a_new_world(monitor: ShiftMonitor) -> None:
    found = monitor.infer_environment(checkerboards(64))
    assert (found.environment, found.verdict) == (None, "new environment")
    assert found.posterior.argmax() == 2
    assert found.environments.tolist() == [-1] * 64
    assert found.shares == {-1: 1.0}
    assert len(found.reasons) == 2
    assert all("standard deviations from environment" in reason for reason in found.reasons)


@pytest.mark.parametrize("dark", [16, 32, 48])
def test_a_batch_of_two_worlds_says_so(monitor: ShiftMonitor, day: np.ndarray, dark: int) -> None:
    images = draw(day, RNG(4))
    images[:dark] = night(images[:dark])
    found = monitor.infer_environment(images)
    assert found.environment is None
    assert found.verdict.startswith("mixture: ")
    assert found.reasons[-1] == "its images fall into parts that fit environments of their own"
    assert found.shares[1] == pytest.approx(dark / 64, abs=0.06)
    assert found.shares[0] == pytest.approx(1 - dark / 64, abs=0.06)
    assert np.sum(found.environments != (np.arange(64) < dark)) <= 4


def test_half_of_a_batch_is_of_no_known_world(monitor: ShiftMonitor, day: np.ndarray) -> None:
    images = draw(day, RNG(5))
    images[::2] = checkerboards(32)
    found = monitor.infer_environment(images)
    assert found.verdict.startswith("mixture: ")
    assert "of no known environment" in found.verdict
    assert found.shares[0] == pytest.approx(0.5, abs=0.05)
    assert found.shares[-1] == pytest.approx(0.5, abs=0.05)


def test_single_frames(monitor: ShiftMonitor, day: np.ndarray) -> None:
    """40 by day, 40 at night, asked one by one."""
    rng = RNG(7)
    frames = np.concatenate([draw(day, rng, 40), night(draw(day, rng, 40))])
    found = [monitor.infer_environment(frame[None]) for frame in frames]
    answers = [f.environment for f in found]
    assert answers[:40].count(0) >= 38
    assert answers[40:].count(1) >= 38
    assert all(f.reasons[-1] == "weak evidence: 1 image" for f in found)
    assert all(f.environments.shape == (1,) for f in found)


def test_few_images_are_weak_evidence_but_better_than_one(monitor: ShiftMonitor, day: np.ndarray) -> None:
    rng = RNG(8)
    found = [monitor.infer_environment(night(draw(day, rng, 4))) for _ in range(20)]
    assert [f.environment for f in found] == [1] * 20
    assert {f.reasons[-1] for f in found} == {"weak evidence: 4 images"}
    assert "weak evidence" not in " ".join(monitor.infer_environment(draw(day, rng, 16)).reasons)


def test_asking_teaches_nothing(monitor: ShiftMonitor, day: np.ndarray) -> None:
    before = repr(monitor.state_dict())
    monitor.infer_environment(noisy(draw(day, RNG(9))))
    assert repr(monitor.state_dict()) == before


class TestBestEnvironment:
    def test_of_a_few_images_the_likeliest_that_fits(self, monitor: ShiftMonitor, day: np.ndarray) -> None:
        x = torch.from_numpy(night(draw(day, RNG(10), 8)))
        fits = {0: Fit(0.9, 0.0, ()), 1: Fit(0.02, 0.0, ())}
        assert best_environment(fits, x, monitor.detector) == 1
        assert best_environment({**fits, 1: FOREIGN}, x, monitor.detector) == 0

    def test_of_many_images_the_best_fit(self, monitor: ShiftMonitor, day: np.ndarray) -> None:
        x = torch.from_numpy(night(draw(day, RNG(10), 16)))
        assert best_environment({0: Fit(0.9, 0.0, ()), 1: Fit(0.02, 0.0, ())}, x, monitor.detector) == 0
        assert best_environment({0: FOREIGN, 1: FOREIGN}, x, monitor.detector) is None

    def test_without_a_fingerprint_the_best_fit(self, monitor: ShiftMonitor) -> None:
        detector = ShiftDetector([NoImages()], monitor.config.environments)
        assert best_environment({0: FITTING, 1: FITTING}, torch.zeros(1, 3, 32, 32), detector) == 0


def test_without_a_fingerprint_the_classifier_tells_single_images(monitor: ShiftMonitor) -> None:
    detector = ShiftDetector([NoImages()], monitor.config.environments)
    q = torch.tensor([[0.9, 0.1], [0.2, 0.8]])
    found = explain(None, {0: FOREIGN, 1: FOREIGN}, q, torch.zeros(2, 3, 32, 32), detector)
    assert found.environments.tolist() == [0, 1]
    assert found.image_posterior.tolist() == [pytest.approx([0.9, 0.1, 0.0]), pytest.approx([0.2, 0.8, 0.0])]
    assert found.probabilities.tolist() == pytest.approx([0.55, 0.45])
    assert found.verdict == "new environment"
    assert found.reasons == ("foreign", "foreign", "weak evidence: 2 images")


def test_what_is_printed_fits_on_a_screen(monitor: ShiftMonitor, day: np.ndarray) -> None:
    found = monitor.infer_environment(day[:64])
    assert len(repr(found)) < 1000, "one row per image is not printed"
    assert repr(monitor).startswith("<ShiftMonitor of 3×")
