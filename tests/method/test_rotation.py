"""Rotations onto independent axes: numbers by hand, and what they leave alone."""

from __future__ import annotations

import math

import pytest
import torch

from vase.config import VASEConfig
from vase.method.rotation import (
    MAX_IMAGES,
    MIN_IMAGES,
    WINDOW,
    LatentRotator,
    best_angle,
    find_rotation,
    independent_axes,
    pair_cumulants,
)
from vase.nn.networks import Networks
from vase.nn.optim import rotate_moments

CORNERS = torch.tensor([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]], dtype=torch.float64)
GRID = torch.cartesian_prod(*[torch.linspace(-1.5, 1.5, 40, dtype=torch.float64)] * 2)
"""Two uniform factors."""
BOTH = torch.tensor([True, True])


def turn(degrees: float) -> torch.Tensor:
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64)


def test_cumulants_by_hand():
    """Two values have E[u⁴] = 1 and κ₄ = 1 − 3. Turned by 45 degrees, u is 0 or ±√2: E[u⁴] = 2, E[u²v²] = 0."""
    assert pair_cumulants(*CORNERS.T).tolist() == [-2, 0, 0, 0, -2]
    assert pair_cumulants(*(CORNERS @ turn(45).T).T).tolist() == pytest.approx([-1, 0, -1, 0, -1])


def test_the_best_angle_by_hand():
    """κ₄ of (u + v)/√2 is (−1 + 6·(−1) − 1)/4 = −2, and so is that of (v − u)/√2: 4 + 4 instead of 1 + 1."""
    angle, gain = best_angle(torch.tensor([-1.0, 0, -1, 0, -1], dtype=torch.float64))
    assert math.degrees(angle) == pytest.approx(45)
    assert gain == pytest.approx(8 - 2)
    assert best_angle(torch.tensor([-2.0, 0, 0, 0, -2], dtype=torch.float64)) == (pytest.approx(0), pytest.approx(0))


@pytest.mark.parametrize("degrees", [-40, -12, 7, 25, 44])
def test_turned_factors_come_back_to_their_axes(degrees):
    white = GRID / GRID.std(0, correction=0)
    found = independent_axes(white @ turn(degrees).T)
    assert torch.allclose(found @ turn(degrees), torch.eye(2, dtype=torch.float64), atol=0.01)


def test_long_tails_tell_nothing():
    """Kurtoses of 4 and 0, turned by 45 degrees, are 1 and 1: turned back, 4² − 1² − 1² would be gained, if it counted.

    Those of −1 and 4 are (−1 + 4)/4 each: turned back, (−1)² is gained, and 4² does not count.
    """
    assert best_angle(torch.tensor([1.0, 1, 1, 1, 1], dtype=torch.float64))[1] == pytest.approx(0)
    assert best_angle(torch.tensor([1.0, 0, 0, 0, 2], dtype=torch.float64)) == (0, 0)
    angle, gain = best_angle(torch.tensor([0.75, 1.25, 0.75, 1.25, 0.75], dtype=torch.float64))
    assert abs(math.degrees(angle)) == pytest.approx(45)
    assert gain == pytest.approx(1)


def test_a_factor_with_long_tails_beside_uniform_ones():
    """A sparse factor has κ₄ = 46: none of it gets into the others."""
    generator = torch.Generator().manual_seed(0)
    sparse = (torch.rand(8192, 1, generator=generator) < 0.02).double() * 7 - 0.14
    uniform = torch.rand(8192, 2, generator=generator, dtype=torch.float64) * 12**0.5 - 3**0.5
    found = independent_axes(torch.cat([uniform, sparse], 1))
    assert float(found.diagonal()[:2].min()) > math.cos(math.radians(6))


def test_normal_latents_are_left_alone():
    normal = torch.randn(8192, 4, generator=torch.Generator().manual_seed(1))
    assert find_rotation(normal, torch.ones(4) > 0) is None
    assert find_rotation(GRID.float(), BOTH) is None
    assert find_rotation(GRID.float(), torch.tensor([True, False])) is None


def test_the_map_keeps_scales_and_undoes_correlation():
    """x with std 2, and half of it in y: independent again, with about the variances that the latents had."""
    mixed = GRID.float() * torch.tensor([2.0, 1.0])
    mixed[:, 1] += 0.25 * mixed[:, 0]
    found = find_rotation(mixed, BOTH)
    assert found is not None
    after = mixed @ found.matrix.T
    assert abs(float(torch.corrcoef(after.T)[0, 1])) < 1e-3
    correlation = torch.corrcoef(torch.cat([after, GRID.float()], 1).T)[:2, 2:]
    assert float(correlation.diagonal().min()) > 0.995
    assert float(after.var(0).sum() / mixed.var(0).sum()) == pytest.approx(1, abs=0.01)
    assert torch.allclose(found.shares.sum(0), torch.ones(2))
    assert torch.allclose(found.shares.sum(1), torch.ones(2))
    assert 0 < found.angle < 20


def test_a_constant_latent_is_left_alone():
    """Its scale is zero, by which nothing can be divided."""
    turned = torch.cat([GRID @ turn(30).T, torch.full((len(GRID), 1), 0.3)], 1).float()
    found = find_rotation(turned, torch.ones(3) > 0)
    assert found is not None
    assert found.latents.tolist() == [0, 1]
    assert found.matrix.isfinite().all()
    assert find_rotation(turned, torch.tensor([True, False, True])) is None


def test_latents_that_tell_the_same_are_left_alone():
    """The difference of two equal latents is nothing but rounding, and would be blown up by a factor of 700."""
    assert find_rotation(torch.stack([GRID[:, 0], 2 * GRID[:, 0] + 1], 1).float(), BOTH) is None
    assert find_rotation(torch.rand(3, 8, generator=torch.Generator().manual_seed(0)), torch.ones(8) > 0) is None


def networks() -> Networks:
    return Networks(VASEConfig.smoke(), torch.Generator().manual_seed(0))


LATENTS = torch.tensor([1, 4, 6])
MATRIX = torch.tensor([[0.8, 0.5, 0.1], [-0.6, 0.9, 0.0], [0.2, 0.0, 1.1]])
SHARES = torch.tensor([[0.7, 0.3, 0.0], [0.3, 0.6, 0.1], [0.0, 0.1, 0.9]])


def test_reconstructions_of_means_stay_and_other_latents_too():
    nets, x, s = networks(), torch.rand(4, 1, 32, 32), torch.zeros(4, dtype=torch.long)
    _, before, noise = nets.encode(x)
    image = nets.decode(before, s)
    nets.rotate(LATENTS, MATRIX, SHARES)
    _, after, new_noise = nets.encode(x)
    torch.testing.assert_close(after[:, LATENTS], before[:, LATENTS] @ MATRIX.T)
    torch.testing.assert_close(new_noise[:, LATENTS], noise[:, LATENTS] @ SHARES.T)
    others = [n for n in range(before.shape[1]) if n not in LATENTS.tolist()]
    assert torch.equal(after[:, others], before[:, others])
    assert torch.equal(new_noise[:, others], noise[:, others])
    torch.testing.assert_close(nets.decode(after, s), image)


def test_first_moments_are_those_of_gradients_in_the_new_basis():
    x, s = torch.rand(4, 1, 32, 32, generator=torch.Generator().manual_seed(2)), torch.zeros(4, dtype=torch.long)

    def gradients(nets: Networks) -> None:
        nets.decode(nets.encode(x)[1], s).square().mean().backward()

    nets, reference = networks(), networks()
    adam = torch.optim.Adam(nets.parameters(), lr=0.0)
    gradients(nets)
    adam.step()
    nets.rotate(LATENTS, MATRIX, SHARES)
    rotate_moments(adam, nets, LATENTS, MATRIX, SHARES)
    reference.rotate(LATENTS, MATRIX, SHARES)
    gradients(reference)
    n = reference.decoder.from_latents.in_features
    into = reference.decoder.from_latents.weight
    assert into.grad is not None
    torch.testing.assert_close(adam.state[nets.decoder.from_latents.weight]["exp_avg"], 0.1 * into.grad)
    for mine, theirs in zip(nets.encoder.posterior.parameters(), reference.encoder.posterior.parameters(), strict=True):
        assert theirs.grad is not None
        torch.testing.assert_close(adam.state[mine]["exp_avg"][:n], 0.1 * theirs.grad[:n])


def test_weights_of_double_precision_are_rotated_too():
    nets, x, s = networks().double(), torch.rand(4, 1, 32, 32).double(), torch.zeros(4, dtype=torch.long)
    adam = torch.optim.Adam(nets.parameters(), lr=0.0)
    image = nets.decode(nets.encode(x)[1], s)
    image.mean().backward()
    adam.step()
    nets.rotate(LATENTS, MATRIX, SHARES)
    rotate_moments(adam, nets, LATENTS, MATRIX, SHARES)
    torch.testing.assert_close(nets.decode(nets.encode(x)[1], s), image)
    found = find_rotation(GRID @ turn(30).T, BOTH)
    assert found is not None
    assert found.matrix.dtype == torch.float64


def observed(rotator: LatentRotator, means: torch.Tensor, log_var: float = -6.0) -> None:
    rotator.observe(means.float(), torch.full(means.shape, log_var))


def test_it_watches_before_it_rotates_and_only_the_environment_that_is_new():
    rotator = LatentRotator(256, 2)
    assert not rotator.wants(0, 256)
    rotator.begin(3)
    assert [age for age in range(1, 600) if rotator.wants(3, age)] == [
        *range(257 - WINDOW, 257),
        *range(513 - WINDOW, 513),
    ]
    assert not rotator.wants(2, 256)
    rotator.end()
    assert not rotator.wants(3, 256)
    never = LatentRotator(0, 2)
    never.begin(0)
    assert not never.wants(0, 256)


def test_latents_with_more_noise_than_signal_are_not_rotated():
    rotator = LatentRotator(2, 2)
    rotator.begin(0)
    for _ in range(2):
        observed(rotator, GRID @ turn(30).T)
    assert rotator.is_due(2)
    assert not rotator.is_due(3)
    found = rotator.rotation(BOTH)
    assert found is not None
    assert found.angle == pytest.approx(30, abs=1)
    rotator.begin(0)
    observed(rotator, GRID @ turn(30).T, log_var=1.0)
    observed(rotator, GRID @ turn(30).T, log_var=1.0)
    assert rotator.rotation(BOTH) is None


def test_few_images_decide_nothing():
    """Kurtoses of few images are noise, from which independent latents would be rotated."""
    rotator, generator = LatentRotator(4, 8), torch.Generator().manual_seed(0)
    for size, found in ((MIN_IMAGES // 2 - 1, False), (MIN_IMAGES // 2, True)):
        rotator.begin(0)
        for _ in range(2):
            uniform = torch.rand(size, 8, generator=generator) * 4
            uniform[:, :2] = uniform[:, :2] @ turn(30).T.float()
            observed(rotator, uniform)
        assert (rotator.rotation(torch.ones(8) > 0) is not None) == found


def test_large_batches_are_thinned_out_and_old_ones_dropped():
    rotator = LatentRotator(1000, 2)
    rotator.begin(0)
    rows = torch.arange(2.0 * MAX_IMAGES + 1)[:, None].expand(-1, 2)
    observed(rotator, rows)
    assert rotator.means[0][:, 0].tolist() == list(range(0, 2 * MAX_IMAGES + 1, 3))
    observed(rotator, rows[:MAX_IMAGES])
    assert torch.equal(rotator.means[1], rows[:MAX_IMAGES])
    for _ in range(WINDOW):
        observed(rotator, GRID[:2])
    assert [len(mean) for mean in rotator.means] == [2] * WINDOW
    assert len(rotator.noise) == WINDOW


def test_no_more_is_kept_than_what_was_observed():
    """Not a view of the whole pass, with dreams and log-variances."""
    whole = torch.zeros(96, 48)
    rotator = LatentRotator(4, 24)
    rotator.observe(whole[:64, :24], whole[:64, 24:])
    assert rotator.means[0].untyped_storage().nbytes() == 64 * 24 * 4


def test_what_was_observed_is_saved():
    rotator, again = LatentRotator(4, 2), LatentRotator(4, 2)
    again.load_state_dict(rotator.state_dict())
    assert not again.means
    assert again.environment == -1
    rotator.begin(1)
    observed(rotator, GRID[:3])
    observed(rotator, GRID[3:8])
    again.load_state_dict(rotator.state_dict())
    assert again.environment == 1
    assert [len(mean) for mean in again.means] == [3, 5]
    assert len(again.noise) == 2
    assert all(map(torch.equal, again.means, rotator.means))
