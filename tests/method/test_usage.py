"""Used latents (App. A.2): noise tolerance in closed form, the paper's optimisation of it, and gates."""

import math

import pytest
import torch

from vase.config import EnvironmentConfig, NetworkConfig, VASEConfig
from vase.method.usage import LARGEST_STD, close_gates, noise_tolerance
from vase.nn.likelihood import Bernoulli, Gaussian, Likelihood
from vase.nn.networks import Networks

SMALL = NetworkConfig(channels=(8, 8, 16, 16), hidden=64, latents=8)


def linear(weights: torch.Tensor):
    """The decoder y = z·W, as images of one row."""
    return lambda z: (z @ weights).reshape(len(z), 1, 1, -1)


def optimised_noise(
    decode, z: torch.Tensor, x: torch.Tensor, p: Likelihood, *, steps: int, generator: torch.Generator
) -> torch.Tensor:
    """The same σ by the paper's stochastic optimisation of Σ: the reference for `noise_tolerance`."""
    log_std = torch.full((z.shape[1],), -1.0, dtype=z.dtype, device=z.device, requires_grad=True)
    optimiser = torch.optim.Adam([log_std], lr=0.1)
    eye = torch.eye(z.shape[1], dtype=z.dtype, device=z.device)
    for _ in range(steps):
        noise = torch.randn(len(z), 1, z.shape[1], generator=generator, dtype=z.dtype, device=z.device)
        moved = z[:, None] + eye * (noise * log_std.exp())
        error = p.nll(decode(moved.flatten(0, 1)), x.repeat_interleave(z.shape[1], 0)).unflatten(0, (len(z), -1))
        loss = (error.mean(0) - log_std).sum()
        optimiser.zero_grad()
        (log_std.grad,) = torch.autograd.grad(loss, [log_std])
        optimiser.step()
        with torch.no_grad():
            log_std.clamp_(max=torch.tensor(LARGEST_STD).log())
    return log_std.detach().exp()


# Latent 0 moves pixels by 3 and 4 per unit, latent 1 moves the first by 0.1, latent 2 is ignored.
W = torch.tensor([[3.0, 4.0], [0.1, 0.0], [0.0, 0.0]])


class TestClosedForm:
    def test_gaussian_by_hand(self):
        # H = ‖w‖²/std² with std ½: 25·4 = 100, 0.01·4 = 0.04, 0. σ = 1/√H: 0.1, 5, and the largest value there is.
        # In double precision: the difference of two outputs in single precision is as rough as the tolerance.
        z = torch.randn(4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        sigma = noise_tolerance(linear(W.double()), z, Gaussian(0.5))
        assert sigma.tolist() == pytest.approx([0.1, 5.0, LARGEST_STD], rel=1e-4)

    def test_bernoulli_by_hand(self):
        # At z = 0 every p = ½, so p(1−p) = ¼: H = 25/4 and 0.01/4: σ = 2/5 and 2/0.1.
        sigma = noise_tolerance(linear(W), torch.zeros(4, 3), Bernoulli())
        assert sigma.tolist() == pytest.approx([0.4, 20.0, LARGEST_STD], rel=1e-4)

    def test_curvature_is_averaged_over_images(self):
        # z₁ = 0: p = ½, weight ¼. z₁ = ln 3 with w = 1: p = ¾, weight 3/16. H = (4/16 + 3/16)/2 = 7/32.
        z = torch.tensor([[0.0], [math.log(3)]])
        assert float(noise_tolerance(linear(torch.ones(1, 1)), z, Bernoulli())) == pytest.approx(
            math.sqrt(32 / 7), rel=1e-4
        )

    def test_minimises_the_objective(self):
        # E[½(wε/std)²] − ln σ = ½σ²H − ln σ is exact for a linear Gaussian decoder; H = 100, and no other σ is better.
        sigma = float(noise_tolerance(linear(W), torch.zeros(1, 3), Gaussian(0.5))[0])

        def objective(s: float) -> float:
            return 0.5 * s**2 * 100 - math.log(s)

        assert objective(sigma) == pytest.approx(0.5 + math.log(10), rel=1e-4)
        assert all(objective(sigma) < objective(sigma * factor) for factor in (0.9, 0.99, 1.01, 1.1))

    def test_forward_difference_is_the_jacobian_of_a_real_decoder(self):
        nets = Networks(VASEConfig(network=SMALL), torch.Generator().manual_seed(0)).double()
        z = torch.randn(2, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

        def decode(v: torch.Tensor) -> torch.Tensor:
            return nets.decode(v, torch.zeros(len(v), dtype=torch.long))

        rows = []
        for image in z:
            slope = torch.autograd.functional.jacobian(lambda v: decode(v[None])[0].flatten(), image)
            p = torch.sigmoid(decode(image[None])[0].flatten())
            rows.append((slope.square() * (p * (1 - p))[:, None]).sum(0))
        exact = torch.stack(rows).mean(0).rsqrt()
        with torch.no_grad():
            # A smaller step than in use: a ReLU network has kinks, and the derivative is only then exact.
            assert torch.allclose(noise_tolerance(decode, z, Bernoulli(), delta=1e-5), exact, rtol=1e-3)
            assert torch.allclose(noise_tolerance(decode, z, Bernoulli()), exact, rtol=0.05)
            # Latents that the decoder does not see are not tried, and the others keep their numbers.
            seen = torch.tensor([True, False, True, True, False, True, True, True])
            part = noise_tolerance(lambda v: decode(v * seen), z, Bernoulli(), seen)
            whole = noise_tolerance(lambda v: decode(v * seen), z, Bernoulli())
            assert torch.allclose(part, whole)
            assert part[~seen].tolist() == [LARGEST_STD] * 2


class TestOptimisation:
    def test_finds_the_exact_optimum_of_a_linear_decoder(self):
        z = torch.zeros(64, 3)
        x = torch.zeros(64, 1, 1, 2)
        sigma = optimised_noise(linear(W), z, x, Gaussian(0.5), steps=200, generator=torch.Generator().manual_seed(0))
        assert sigma[:2].tolist() == pytest.approx([0.1, 5.0], rel=0.15)
        assert 100 < float(sigma[2]) <= LARGEST_STD * 1.001

    def test_both_agree_on_what_is_used(self):
        # A convolutional decoder that ignores latents 1, 4 and 6 (and hardly hears 5).
        g = torch.Generator().manual_seed(3)
        nets = Networks(VASEConfig((1, 16, 16), SMALL), g).requires_grad_(False)
        nets.decoder.from_latents.weight.mul_(10)
        nets.decoder.from_latents.weight[:, [1, 4, 6]] = 0
        nets.decoder.from_latents.weight[:, 5] *= 1e-3

        def decode(z: torch.Tensor) -> torch.Tensor:
            return nets.decode(z, torch.zeros(len(z), dtype=torch.long))

        z = torch.randn(8, 8, generator=g)
        x = torch.sigmoid(decode(z))
        closed = noise_tolerance(decode, z, Bernoulli())
        slow = optimised_noise(decode, z, x, Bernoulli(), steps=150, generator=g)
        threshold = EnvironmentConfig().usage_threshold
        assert (closed < threshold).tolist() == [True, False, True, True, False, False, False, True]
        assert torch.equal(closed < threshold, slow < threshold)
        # "Picking a threshold is very easy": between used and unused lies a wide gap in both.
        used = closed < threshold
        for sigma in (closed, slow):
            assert float(sigma[~used].min()) > 3 * float(sigma[used].max())


class TestGates:
    """Loss 10 with all gates open; shutting latent n costs COST[n]."""

    COST = torch.tensor([0.0, 4.0, 0.2, 0.5])
    NOISE = torch.tensor([5.0, 0.1, 3.0, 1.0])

    def loss(self, gate: torch.Tensor) -> float:
        self.asked = getattr(self, "asked", 0) + 1
        return 10 + float(self.COST[~gate].sum())

    def gates(self, tolerance: float, gate: tuple[int, ...] = (1, 1, 1, 1)) -> tuple[list[int], float]:
        closed, loss = close_gates(self.loss, self.NOISE, torch.tensor(gate, dtype=torch.bool), tolerance)
        return closed.int().tolist(), loss

    @pytest.mark.parametrize(
        ("tolerance", "gate", "loss"),
        [
            # In order of falling noise: 0 (10.0), 2 (10.2), 3 (10.7), 1 (14.7).
            (0.0, [0, 1, 1, 1], 10.0),
            (0.01, [0, 1, 1, 1], 10.0),
            (0.03, [0, 1, 0, 1], 10.2),
            (0.10, [0, 1, 0, 0], 10.7),
            (0.50, [0, 0, 0, 0], 14.7),
        ],
    )
    def test_by_hand(self, tolerance, gate, loss):
        closed, value = self.gates(tolerance)
        assert closed == gate
        assert value == pytest.approx(loss)

    def test_the_limit_counts_from_the_given_gate(self):
        # Latent 1 is shut from the start: 14.0. Three percent are 14.42: 0 and 2 go (14.2), 3 would make it 14.7.
        closed, value = self.gates(0.03, (1, 0, 1, 1))
        assert closed == [0, 0, 0, 1]
        assert value == pytest.approx(14.2)

    def test_a_latent_that_matters_does_not_save_the_next(self):
        # Latent 2 must stay; latent 3 bears less noise but costs nothing here, so it goes.
        self.COST = torch.tensor([0.0, 4.0, 2.0, 0.0])
        assert self.gates(0.03)[0] == [0, 1, 1, 0]
        assert self.asked == 5  # the given gate, then each latent once

    def test_the_given_gate_is_not_changed(self):
        gate = torch.ones(4, dtype=torch.bool)
        close_gates(self.loss, self.NOISE, gate, 0.5)
        assert gate.all()

    def test_nothing_to_shut(self):
        closed, value = self.gates(0.03, (0, 0, 0, 0))
        assert closed == [0, 0, 0, 0]
        assert value == pytest.approx(14.7)
