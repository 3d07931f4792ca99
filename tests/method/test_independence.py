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
CROSS = torch.tensor([[2.0, 0.0], [-2.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
BENT = torch.tensor([[-1.0, 0.5], [0.0, -1.0], [1.0, 0.5]])
"""A factor along a curve: the second latent follows the square of the first."""
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
    """Copies move together, but their squares do not vary; the arms of a cross exclude each other; bends."""
    nothing = [[0.0, 0.0], [0.0, 0.0]]
    copies = [[[0.0, 1.0], [1.0, 0.0]], nothing, nothing, [[0.0, -2.0], [-2.0, 0.0]]]  # c³ − 3c of c = ±1 is −2c
    assert covariances(COPIES, ALONE).tolist() == copies
    assert covariances(CORNERS, ALONE).tolist() == [nothing] * 4
    assert covariances(CROSS, ALONE).tolist() == [nothing, [[0.0, -4.0], [-4.0, 0.0]], nothing, nothing]
    bent = torch.tensor([nothing, [[0.0, -1 / 6], [-1 / 6, 0.0]], [[0.0, 0.0], [1 / 3, 0.0]], nothing])
    torch.testing.assert_close(covariances(BENT, ALONE), bent)
    assert covariances(torch.tensor([[0.0, 5.0], [2.0, 1.0]]), ALONE)[0, 0, 1] == -2.0


def test_the_squares_of_rotated_uniform_factors_covary():
    """cov(u², v²) of u, v = (x ± y)/√2 is ½E[x⁴] − 1½E[x²]² = −0.6 E[x²]² for uniform x and y."""
    grid = torch.linspace(-1, 1, 2001, dtype=torch.float64)
    x, y = (axis.flatten() for axis in torch.meshgrid(grid[::20], grid[::20], indexing="ij"))
    rotated = torch.stack([x + y, x - y], 1) / 2**0.5
    variance = float(x.square().mean())
    assert float(covariances(torch.stack([x, y], 1), ALONE).abs().max()) < 1e-12
    found = covariances(rotated, ALONE)
    assert float(found[0].abs().max()) < 1e-12
    assert float(found[1, 0, 1]) == pytest.approx(-0.6 * variance**2, rel=0.05)


@pytest.mark.parametrize("angle", [0.05, 0.3, math.pi / 4])
def test_cubes_see_what_squares_cannot(angle):
    """Two values, excess kurtosis −2, and three values, +2, turned by θ: squares depend by nothing, cubes by sin 2θ.

    ±1, and ±√5 or 0 with probabilities of 0.1, 0.1 and 0.8, have variance 1. κ(z₂, z₁, z₁, z₁) of z₁ = c·x + s·y and
    z₂ = c·y − s·x is −k₁·c³·s + k₂·s³·c = 2·c·s.
    """
    three = torch.tensor([5**0.5, -(5**0.5), *[0.0] * 8], dtype=torch.float64)
    x, y = torch.cartesian_prod(torch.tensor([-1.0, 1.0], dtype=torch.float64), three).T
    c, s = math.cos(angle), math.sin(angle)
    found = covariances(torch.stack([c * x + s * y, c * y - s * x], 1), ALONE)
    assert float(found[:3].abs().max()) < 1e-12
    assert float(found[3, 1, 0]) == pytest.approx(math.sin(2 * angle))


@pytest.mark.parametrize(("age", "share"), [(0, 1.0), (100, 1.0), (150, 0.5), (200, 0.0), (10_000, 0.0)])
def test_the_total_correlation_fades_with_the_age_of_the_environment(age, share):
    assert Independence(IndependenceConfig(fade_from=100, fade_to=200)).fading(age) == pytest.approx(share)


def make(**values) -> Independence:
    off = {"means": 0.0, "squares": 0.0, "cubes": 0.0}
    return Independence(IndependenceConfig(enabled=True, fade_from=100, fade_to=200, **{**off, **values}))


def ask(part: Independence, mean: torch.Tensor, own=BOTH, environment: int = 0, age: int = 0):
    return part(mean, narrow(mean), torch.zeros_like(mean), own, environment, age, ALONE)


def test_each_term_with_its_weight():
    assert float(ask(make(total_correlation=3.0), COPIES)) == pytest.approx(3 * math.log(2))
    assert float(ask(make(means=5.0), COPIES)) == pytest.approx(5 * 2)
    assert float(ask(make(squares=7.0), CROSS)) == pytest.approx(7 * 2 * 4**2)
    assert float(ask(make(cubes=9.0), COPIES)) == pytest.approx(9 * 2 * 2**2)
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


@pytest.mark.parametrize(("values", "left"), [({"squares": 1.0}, 0.1), ({"squares": 1.0, "cubes": 1.0}, 0.02)])
def test_pressure_turns_rotated_codes_back(values, left):
    """Descent on an angle: codes of two uniform factors, turned by 30 degrees, end on the axes."""
    factors = torch.cartesian_prod(*[torch.linspace(-1.5, 1.5, 8)] * 2)
    angle, part = torch.tensor(0.52, requires_grad=True), make(**values)
    for _ in range(300):
        cos, sin = angle.cos(), angle.sin()
        turned = factors @ torch.stack([torch.stack([cos, sin]), torch.stack([-sin, cos])])
        loss = ask(part, turned)
        part.update()
        (slope,) = torch.autograd.grad(loss, angle)
        angle = (angle - 0.02 * slope).detach().requires_grad_()
    assert abs(float(angle.detach())) < left


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
    part, again = make(means=1.0, squares=2.0), make(means=1.0, squares=2.0)
    ask(part, COPIES)
    part.update()
    again.load_state_dict(part.state_dict())
    assert torch.equal(ask(part, CORNERS), ask(again, CORNERS))
