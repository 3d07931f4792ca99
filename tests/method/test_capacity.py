"""The masked posterior (Eq. 2), the MDL objective in its three forms (Eq. 3) and the schedule of C (App. A.3)."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError
from torch import distributions

from vase.config import CapacityConfig, VASEConfig
from vase.method.capacity import capacity_target, capacity_term, kl_per_latent, sample_posterior

MASK = torch.tensor([True, False, True])


class TestMaskedPosterior:
    def test_sample_by_hand(self):
        # Active: μ + σ·ε = 1 + 2·0.5 = 2 and −3 + 0.5·(−2) = −4. Masked: the prior sample −1.5 itself.
        mean = torch.tensor([[1.0, 7.0, -3.0]])
        log_var = torch.tensor([[math.log(4), 5.0, math.log(0.25)]])
        z = sample_posterior(mean, log_var, MASK, torch.tensor([[0.5, -1.5, -2.0]]))
        assert z.flatten().tolist() == pytest.approx([2.0, -1.5, -4.0])

    def test_sample_has_the_moments_of_eq_2(self):
        mean = torch.tensor([[1.0, 7.0, -3.0]]).expand(40_000, 3)
        log_var = torch.tensor([[math.log(4), 5.0, math.log(0.25)]]).expand(40_000, 3)
        noise = torch.randn(40_000, 3, generator=torch.Generator().manual_seed(0))
        z = sample_posterior(mean, log_var, MASK, noise)
        # Five standard errors: 5·σ/√40000 = 0.025·σ for the mean, 0.025/√2·σ for the std.
        assert z.mean(0).tolist() == pytest.approx([1.0, 0.0, -3.0], abs=0.05)
        assert z.std(0).tolist() == pytest.approx([2.0, 1.0, 0.5], rel=0.02)

    def test_no_gradient_through_a_masked_latent(self):
        mean = torch.ones(2, 3, requires_grad=True)
        log_var = torch.zeros(2, 3, requires_grad=True)
        z = sample_posterior(mean, log_var, MASK, torch.ones(2, 3))
        (z.sum() + kl_per_latent(mean, log_var, MASK).sum()).backward()
        assert mean.grad is not None
        assert log_var.grad is not None
        # ∂z/∂μ = 1 and ∂KL/∂μ = μ/B = ½; ∂z/∂log σ² = ½σε = ½ and ∂KL/∂log σ² = ½(σ² − 1)/B = 0.
        assert mean.grad.tolist() == [[1.5, 0.0, 1.5]] * 2
        assert log_var.grad.tolist() == [[0.5, 0.0, 0.5]] * 2


class TestKL:
    def test_by_hand(self):
        # Latent 0: ½(μ² + σ² − 1 − ln σ²), first image μ = 1, σ² = 1: 0.5; second μ = 0, σ² = ¼:
        # ½(−¾ + 1.386294) = 0.318147; mean 0.409074. Latent 1 is masked. Latent 2 is the prior: 0.
        mean = torch.tensor([[1.0, 9.0, 0.0], [0.0, 9.0, 0.0]])
        log_var = torch.tensor([[0.0, 3.0, 0.0], [math.log(0.25), 3.0, 0.0]])
        assert kl_per_latent(mean, log_var, MASK).tolist() == pytest.approx([0.409074, 0.0, 0.0], abs=1e-6)

    def test_agrees_with_torch_distributions(self):
        g = torch.Generator().manual_seed(1)
        mean, log_var = torch.randn(6, 4, generator=g), torch.randn(6, 4, generator=g)
        posterior = distributions.Normal(mean, torch.exp(0.5 * log_var))
        expected = distributions.kl_divergence(posterior, distributions.Normal(0.0, 1.0)).mean(0)
        assert torch.allclose(kl_per_latent(mean, log_var, torch.ones(4, dtype=torch.bool)), expected, atol=1e-6)

    def test_wrong_shapes_are_noticed(self):
        with pytest.raises(TypeCheckError, match="log_var"):
            kl_per_latent(torch.zeros(2, 3), torch.zeros(2, 1), MASK)


class TestSchedule:
    @pytest.mark.parametrize(
        ("step", "expected"),
        # C_max 35, δC = 6.3e-6: 35·6.3e-6 = 2.205e-4 nats per step.
        [(0, 0.0), (1, 2.205e-4), (100_000, 22.05), (150_000, 33.075), (158_731, 35.0), (10**7, 35.0)],
    )
    def test_paper(self, step, expected):
        assert capacity_target(step, VASEConfig.paper().capacity) == pytest.approx(expected, rel=1e-5)

    @pytest.mark.parametrize(("step", "expected"), [(0, 0.0), (1, 5.0), (3, 15.0), (4, 20.0), (5, 20.0)])
    def test_by_hand(self, step, expected):
        # 20 nats in 4 steps: 5 per step, then flat.
        assert capacity_target(step, CapacityConfig(c_max=20.0, ramp_steps=4)) == expected

    @given(st.integers(0, 10**6), st.integers(0, 10**6))
    def test_never_falls(self, a, b):
        config = CapacityConfig(c_max=25.0, ramp_steps=3000)
        assert capacity_target(min(a, b), config) <= capacity_target(max(a, b), config) <= 25.0


class TestObjective:
    KL = torch.tensor([3.0, 0.5, 1.5])  # 5 nats together

    @pytest.mark.parametrize(
        ("objective", "target", "expected"),
        [
            # γ = 10. Eq. 3: 10·(5 − C)², on both sides of the target.
            ("square", 3.0, 40.0),
            ("square", 5.0, 0.0),
            ("square", 7.0, 40.0),
            # Ceiling: KL alone below the target, KL + 10·(5 − C)² above it.
            ("ceiling", 3.0, 45.0),
            ("ceiling", 5.0, 5.0),
            ("ceiling", 7.0, 5.0),
            # ELBO: KL whatever the target.
            ("elbo", 3.0, 5.0),
            ("elbo", 7.0, 5.0),
        ],
    )
    def test_by_hand(self, objective, target, expected):
        assert (
            float(capacity_term(self.KL, target, CapacityConfig(objective=objective, gamma=10.0, kl_weight=1.0)))
            == expected
        )

    @pytest.mark.parametrize(
        ("objective", "target", "expected"),
        # Half of 5 nats, and 10·(5 − 3)² above C = 3, which is not halved; the other objectives have no such weight.
        [("ceiling", 7.0, 2.5), ("ceiling", 3.0, 42.5), ("square", 7.0, 40.0), ("elbo", 7.0, 5.0)],
    )
    def test_the_weight_of_the_kl_is_that_of_the_ceiling(self, objective, target, expected):
        config = CapacityConfig(objective=objective, gamma=10.0, kl_weight=0.5)
        assert float(capacity_term(self.KL, target, config)) == expected

    @pytest.mark.parametrize(
        ("objective", "expected"),
        # Weights 1, 0, ½: the plain KL counts 3 + 0 + 0.75 = 3.75; the square above C = 3 sees all 5 nats: 10·4 = 40.
        [("square", 40.0), ("ceiling", 43.75), ("elbo", 3.75)],
    )
    def test_warm_up_weighs_the_plain_kl_only(self, objective, expected):
        weight = torch.tensor([1.0, 0.0, 0.5])
        config = CapacityConfig(objective=objective, gamma=10.0, kl_weight=1.0)
        assert float(capacity_term(self.KL, 3.0, config, weight)) == expected

    @pytest.mark.parametrize(
        ("objective", "target", "slope"),
        # d/dKL: 2γ(KL − C) = ±40 for the square; 1 + 2γ(KL − C) above the ceiling, 1 below; 1 for the ELBO.
        [
            ("square", 3.0, 40.0),
            ("square", 7.0, -40.0),
            ("ceiling", 3.0, 41.0),
            ("ceiling", 7.0, 1.0),
            ("elbo", 3.0, 1.0),
        ],
    )
    def test_pull(self, objective, target, slope):
        kl = self.KL.clone().requires_grad_()
        capacity_term(kl, target, CapacityConfig(objective=objective, gamma=10.0, kl_weight=1.0)).backward()
        assert kl.grad is not None
        assert kl.grad.tolist() == [slope] * 3
