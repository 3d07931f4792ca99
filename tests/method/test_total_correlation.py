"""Total correlation and decorrelation: numbers by hand."""

from __future__ import annotations

import math

import pytest
import torch

from vase.config import IndependenceConfig
from vase.distributed import Distributed
from vase.method.total_correlation import DECAY, Independence, covariance, total_correlation

NARROW = -8.0
"""log σ² of posteriors that do not overlap."""
COPIES = torch.tensor([[-1.0, -1.0], [1.0, 1.0]])
CORNERS = torch.tensor([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
BOTH = torch.tensor([True, True])


def narrow(mean: torch.Tensor) -> torch.Tensor:
    return torch.full_like(mean, NARROW)


@pytest.mark.parametrize(
    ("mean", "found"),
    [
        (COPIES, math.log(2)),  # one latent tells the other: as much as there are images to tell apart
        (CORNERS, 0.0),
        (torch.tensor([[0.3, -2.0, 1.0]]), 0.0),  # a single image
        (torch.tensor([[-1.0, -1.0, -1.0], [1.0, 1.0, 1.0]]), 2 * math.log(2)),
    ],
)
def test_total_correlation_by_hand(mean, found):
    assert float(total_correlation(mean, mean, narrow(mean))) == pytest.approx(found, abs=1e-5)


def test_a_latent_that_equals_the_prior_adds_nothing():
    mean, log_var = torch.zeros(2, 3), torch.zeros(2, 3)
    mean[:, :2], log_var[:, :2] = COPIES, NARROW
    z = mean.clone()
    z[:, 2] = torch.tensor([0.4, -1.3])
    assert float(total_correlation(z, mean, log_var)) == pytest.approx(math.log(2), abs=1e-5)


def test_covariance_without_its_diagonal():
    assert covariance(COPIES).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert covariance(CORNERS).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert covariance(torch.tensor([[0.0, 5.0], [2.0, 1.0]]))[0, 1] == -2.0


@pytest.mark.parametrize(("age", "weight"), [(0, 1.0), (100, 1.0), (150, 0.5), (200, 0.0), (10_000, 0.0)])
def test_the_weight_falls_with_the_age_of_the_environment(age, weight):
    assert Independence(IndependenceConfig(hold=100, until=200)).weight(age) == pytest.approx(weight)


def make(**values) -> Independence:
    return Independence(IndependenceConfig(enabled=True, hold=100, until=200, **values))


def ask(part: Independence, mean: torch.Tensor, own=BOTH, environment: int = 0, age: int = 0):
    return part(mean, mean, narrow(mean), own, environment, age, Distributed())


def test_both_terms_with_their_weights():
    assert float(ask(make(total_correlation=3.0, decorrelation=0.0), COPIES)) == pytest.approx(3 * math.log(2))
    assert float(ask(make(total_correlation=0.0, decorrelation=5.0), COPIES)) == pytest.approx(5 * 2)
    half = ask(make(total_correlation=3.0, decorrelation=5.0), COPIES, age=150)
    assert float(half) == pytest.approx((3 * math.log(2) + 10) / 2)


def test_the_average_follows_and_begins_anew_in_another_environment():
    part = make(total_correlation=0.0, decorrelation=1.0)
    ask(part, COPIES)
    assert part.environment == -1  # a batch that is held, or given up, leaves no trace
    part.update()
    flipped = COPIES * torch.tensor([1.0, -1.0])
    expected = DECAY * 1.0 + (1 - DECAY) * -1.0
    assert float(ask(part, flipped)) == pytest.approx(2 * expected * -1.0)
    assert float(ask(part, flipped, environment=1)) == pytest.approx(2.0)


def test_nothing_for_old_environments_and_latents_of_others():
    part = make()
    assert ask(part, COPIES, age=200) is None
    assert ask(part, COPIES, own=torch.tensor([True, False])) is None
    assert (
        Independence(IndependenceConfig(enabled=False))(COPIES, COPIES, narrow(COPIES), BOTH, 0, 0, Distributed())
        is None
    )


def test_latents_of_others_get_no_gradient():
    mean = torch.tensor([[-1.0, -1.0, -1.0], [1.0, 1.0, 1.0]], requires_grad=True)
    loss = make()(mean, mean, torch.zeros(2, 3), torch.tensor([True, False, True]), 0, 0, Distributed())
    loss.backward()
    assert mean.grad[:, 1].tolist() == [0.0, 0.0]
    assert mean.grad[:, [0, 2]].abs().min() > 0


def test_a_state_continues_exactly():
    part, again = make(), make()
    ask(part, COPIES)
    part.update()
    again.load_state_dict(part.state_dict())
    assert torch.equal(ask(part, CORNERS), ask(again, CORNERS))
