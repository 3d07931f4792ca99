"""Loss and latents against their own spread: numbers by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from vase.method.environment_memory import EnvironmentRecord
from vase.method.learnt_tests import MIN_BATCHES, LatentSpreadTest, LossSpreadTest, RunningSpread, student_tails
from vase.method.statistics import BatchStatistics

ONES = torch.ones(3, dtype=torch.bool)


def record(index: int = 0, used: torch.Tensor = ONES) -> EnvironmentRecord:
    return EnvironmentRecord(index, mask=ONES.clone(), gate=ONES.clone(), used=used)


def batch(deviance: float = 10.0, alpha=(0.1, 0.1, 0.1), images: int = 64) -> BatchStatistics:
    return BatchStatistics(torch.zeros(2, 1, 4, 4), {"deviance": deviance}, torch.tensor(alpha), images)


def learnt(test, batches, s: EnvironmentRecord):
    for b in batches:
        test.update(s, b)
    return test


def wobble(i: int) -> float:
    """10 nats, up and down by a tenth of a logarithm."""
    return 10 * math.exp(0.1 * (-1) ** i)


@pytest.mark.parametrize(
    ("t", "freedom", "tail"),
    [(2.228, 10.0, 0.05), (4.587, 10.0, 0.001), (2.776, 4.0, 0.05), (1.0, 30.0, 0.3253)],  # from a table
)
def test_tails_of_students_t(t, freedom, tail):
    assert float(student_tails(np.array([t]), freedom)[0]) == pytest.approx(tail, rel=0.03)


def test_the_running_mean_and_spread_by_hand():
    spread = RunningSpread()
    spread.update(0, np.array([2.0]), 64)  # the mean is the first value
    spread.update(0, np.array([4.0]), 64)  # keeps 2/11
    assert float(spread.mean[0]) == pytest.approx(2 + (9 / 11) * 2)
    assert float(spread.variance[0]) == pytest.approx((9 / 11) * 4)
    spread.update(1, np.array([7.0]), 64)  # another environment begins anew
    assert (float(spread.mean[0]), float(spread.variance[0]), spread.count) == (7.0, 0.0, 1)


@pytest.mark.parametrize("factor", [0.3, 3.0])
def test_a_loss_is_strange_on_either_side(factor):
    test = learnt(LossSpreadTest(), (batch(wobble(i)) for i in range(MIN_BATCHES)), record())
    assert test.evidence(record(), batch(10.0)).p_value > 0.3
    found = test.evidence(record(), batch(10 * factor))
    assert found.p_value < 1e-4
    ratio = float(found.reason.split()[1])  # "loss 3.01 times that of environment 0 ..."
    assert ratio == pytest.approx(factor, rel=0.15)


def test_nothing_is_said_of_a_young_or_another_environment():
    test = learnt(LossSpreadTest(), (batch(wobble(i)) for i in range(MIN_BATCHES - 1)), record())
    assert test.evidence(record(), batch(1000.0)).p_value == 1
    test.update(record(), batch(10.0))
    assert test.evidence(record(), batch(1000.0)).p_value < 1e-6
    assert test.evidence(record(1), batch(1000.0)).p_value == 1


def test_fewer_images_scatter_more():
    test = learnt(LossSpreadTest(), (batch(wobble(i)) for i in range(MIN_BATCHES)), record())
    many, few = (test.evidence(record(), batch(15.0, images=n)).p_value for n in (64, 4))
    assert many < 0.01 < few


@pytest.mark.parametrize("kind", [LossSpreadTest, LatentSpreadTest])
def test_a_batch_like_the_recent_ones_as_the_same_weights_see_them_is_not_strange(kind):
    rows = [batch(wobble(i), alpha=(0.1 * math.exp(0.2 * (-1) ** i), 0.1, 0.1)) for i in range(MIN_BATCHES)]
    test = learnt(kind(), rows, record())
    thrown = batch(30.0, alpha=(2.0, 0.1, 0.1))  # what weights that were thrown off make of any batch
    assert test.evidence(record(), thrown).p_value < 1e-4
    assert test.evidence(record(), replace(thrown, recent=batch(29.0, alpha=(1.9, 0.1, 0.1)))).p_value > 0.1
    assert test.evidence(record(), replace(thrown, recent=batch(10.0))).p_value < 1e-3  # a shift


def test_only_used_latents_count_times_their_number():
    rows = [batch(alpha=(0.1 * math.exp(0.2 * (-1) ** i), 0.1, 0.1)) for i in range(MIN_BATCHES)]
    moved = batch(alpha=(2.0, 0.1, 0.1))
    test = learnt(LatentSpreadTest(), rows, record())
    found = test.evidence(record(), moved)
    assert found.p_value < 1e-4
    assert found.reason.startswith("latent 0 of environment 0: atypicality 2.00")
    alone = test.evidence(record(used=torch.tensor([True, False, False])), moved)
    assert found.p_value == pytest.approx(3 * alone.p_value, rel=1e-4)
    assert test.evidence(record(used=torch.tensor([False, True, True])), moved).p_value == 1
    assert test.evidence(record(), batch(alpha=(2.0, 0.1, 0.1), images=8)).p_value == 1  # too few to tell


@pytest.mark.parametrize("kind", [LossSpreadTest, LatentSpreadTest])
def test_a_state_continues_exactly(kind):
    rows = [batch(wobble(i), alpha=(0.1 * wobble(i), 0.2, 0.3)) for i in range(MIN_BATCHES + 5)]
    whole = learnt(kind(), rows, record())
    part, again = learnt(kind(), rows[:40], record()), kind()
    again.load_state_dict(part.state_dict())
    learnt(again, rows[40:], record())
    asked = record(), batch(30.0, alpha=(0.9, 0.2, 0.3))
    assert again.evidence(*asked) == whole.evidence(*asked)


def test_they_know_only_the_current_environment():
    assert not LossSpreadTest.knows_all
    assert not LatentSpreadTest.knows_all
