"""Decorrelation and total correlation: numbers by hand."""

from __future__ import annotations

import math

import pytest
import torch

from vase.config import IndependenceConfig, VASEConfig
from vase.distributed import Distributed
from vase.method.independence import DECAY, Independence, covariances, total_correlation

NARROW = -8.0
"""log σ² of posteriors that do not overlap."""
COPIES = torch.tensor([[-1.0, -1.0], [1.0, 1.0]])
CORNERS = torch.tensor([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
ALONE = Distributed()
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


def test_covariances_without_their_diagonals():
    assert covariances(COPIES, ALONE).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert covariances(CORNERS, ALONE).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert covariances(torch.tensor([[0.0, 5.0], [2.0, 1.0]]), ALONE)[0, 1] == -2.0


@pytest.mark.parametrize(("age", "share"), [(0, 1.0), (100, 1.0), (150, 0.5), (200, 0.0), (10_000, 0.0)])
def test_the_total_correlation_fades_with_the_age_of_the_environment(age, share):
    assert Independence(IndependenceConfig(fade_from=100, fade_to=200)).fading(age) == pytest.approx(share)


def make(**values) -> Independence:
    return Independence(IndependenceConfig(enabled=True, fade_from=100, fade_to=200, **{"means": 0.0, **values}))


def ask(part: Independence, mean: torch.Tensor, own=BOTH, environment: int = 0, age: int = 0):
    return part(mean, narrow(mean), torch.zeros_like(mean), own, environment, age, ALONE)


def test_each_term_with_its_weight():
    assert float(ask(make(total_correlation=3.0), COPIES)) == pytest.approx(3 * math.log(2))
    assert float(ask(make(means=5.0), COPIES)) == pytest.approx(5 * 2)
    half = ask(make(total_correlation=3.0, means=5.0), COPIES, age=150)
    assert float(half) == pytest.approx(3 * math.log(2) / 2 + 10)


def test_the_average_follows_and_begins_anew_in_another_environment():
    part = make(means=1.0)
    ask(part, COPIES)
    assert part.environment == -1  # a batch that is held, or given up, leaves no trace
    part.update()
    flipped = COPIES * torch.tensor([1.0, -1.0])
    expected = DECAY * 1.0 + (1 - DECAY) * -1.0
    assert float(ask(part, flipped)) == pytest.approx(2 * expected * -1.0)
    assert float(ask(part, flipped, environment=1)) == pytest.approx(2.0)


def test_after_a_rotation_the_average_begins_from_nothing():
    part = make(means=1.0)
    ask(part, COPIES)
    part.update()
    part.forget()
    assert float(ask(part, COPIES)) == pytest.approx(2 * (1 - DECAY))


def test_batches_without_own_latents_bring_nothing_back():
    """Neither the average before a rotation, nor the covariances of a batch that was held."""
    part = make(means=1.0)
    ask(part, COPIES)
    part.update()
    part.forget()
    part.update()
    assert part.average.tolist() == [[0, 0], [0, 0]]
    ask(part, COPIES, environment=1)
    assert ask(part, COPIES, own=torch.tensor([True, False])) is None
    part.update()
    assert part.environment == 0
    assert part.average.tolist() == [[0, 0], [0, 0]]


def test_nothing_for_latents_of_others():
    part = make(means=1.0)
    assert ask(part, COPIES, own=torch.tensor([True, False])) is None


@pytest.mark.parametrize(
    ("values", "demanded"),
    [({}, True), ({"independence.enabled": False}, False), ({"capacity.objective": "elbo"}, False)],
)
def test_a_standard_vae_demands_no_independence(values, demanded):
    assert VASEConfig.laptop().with_values(values).demands_independence == demanded


def test_latents_of_others_get_no_gradient():
    mean = torch.tensor([[-1.0, -1.0, -1.0], [1.0, 1.0, 1.0]], requires_grad=True)
    loss = make(total_correlation=6.0, means=20.0)(
        mean, torch.zeros(2, 3), torch.zeros(2, 3), torch.tensor([True, False, True]), 0, 0, Distributed()
    )
    loss.backward()
    assert mean.grad[:, 1].tolist() == [0.0, 0.0]
    assert mean.grad[:, [0, 2]].abs().min() > 0


def test_a_state_continues_exactly():
    part, again = make(means=1.0), make(means=1.0)
    ask(part, COPIES)
    part.update()
    again.load_state_dict(part.state_dict())
    assert torch.equal(ask(part, CORNERS), ask(again, CORNERS))
