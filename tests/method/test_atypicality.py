"""Atypicality (Eq. 4) and the mask with hysteresis (Eq. 5, App. A.2)."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError
from torch import distributions

from vase.config import MaskConfig
from vase.method.atypicality import atypicality, update_mask


def bits(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.bool)


class TestAtypicality:
    def test_by_hand(self):
        # Two images, four latents.
        # 0: μ = 1, −1 and σ² = ½: m = 0, v = 1 + ½ = 1.5: ½(1.5 − 1 − ln 1.5) = 0.047267
        # 1: μ = 2, 2 and σ² = ¼: m = 2, v = ¼: ½(¼ + 4 − 1 + ln 4) = 2.318147
        # 2: the prior itself: 0
        # 3: μ = 0, 1 and σ² = ½, 1: m = ½, v = ¼ + ¾ = 1: ½(1 + ¼ − 1 − 0) = 0.125
        mean = torch.tensor([[1.0, 2.0, 0.0, 0.0], [-1.0, 2.0, 0.0, 1.0]])
        var = torch.tensor([[0.5, 0.25, 1.0, 0.5], [0.5, 0.25, 1.0, 1.0]])
        assert atypicality(mean, var.log()).tolist() == pytest.approx([0.047267, 2.318147, 0.0, 0.125], abs=1e-6)

    def test_agrees_with_torch_distributions(self):
        g = torch.Generator().manual_seed(0)
        mean, log_var = torch.randn(32, 5, generator=g), torch.randn(32, 5, generator=g)
        m, v = mean.mean(0), mean.var(0, unbiased=False) + log_var.exp().mean(0)
        expected = distributions.kl_divergence(distributions.Normal(m, v.sqrt()), distributions.Normal(0.0, 1.0))
        assert torch.allclose(atypicality(mean, log_var), expected, atol=1e-6)

    def test_is_what_fitting_a_gaussian_to_samples_estimates(self):
        # The paper's way: samples of the batch-marginal, their mean and variance, the KL of that Gaussian.
        g = torch.Generator().manual_seed(1)
        mean = torch.randn(64, 3, generator=g) * torch.tensor([1.0, 0.1, 2.0]) + torch.tensor([0.0, 1.0, -1.0])
        log_var = torch.randn(64, 3, generator=g) - 1
        rows = torch.arange(64).repeat_interleave(4000)
        z = mean[rows] + torch.exp(0.5 * log_var)[rows] * torch.randn(len(rows), 3, generator=g)
        fitted = distributions.Normal(z.mean(0), z.std(0))
        expected = distributions.kl_divergence(fitted, distributions.Normal(0.0, 1.0))
        assert atypicality(mean, log_var).tolist() == pytest.approx(expected.tolist(), rel=0.02)

    def test_is_never_above_the_true_divergence_of_a_marginal_with_tails(self):
        # For a fixed mean and variance the Gaussian is the distribution closest to N(0,1): the fit is a lower bound.
        # ±2 with σ = ½: m = 0, v = 4.25: ½(3.25 − ln 4.25) = 0.901541; the mixture itself by quadrature.
        mean, log_var = torch.tensor([[2.0], [-2.0]]), torch.full((2, 1), math.log(0.25))
        z = torch.linspace(-8, 8, 20_001, dtype=torch.float64)
        pdf = sum(distributions.Normal(m, 0.5).log_prob(z).exp() for m in (2.0, -2.0)) / 2
        true = torch.trapezoid(pdf * (pdf.log() - distributions.Normal(0.0, 1.0).log_prob(z)), z)
        assert float(atypicality(mean, log_var)) == pytest.approx(0.901541, abs=1e-6)
        assert float(atypicality(mean, log_var)) < float(true)

    def test_constant_images_with_the_smallest_variance_stay_finite(self):
        # m = 0, v = e⁻¹⁴: ½(0 − 1 + 14) = 6.5
        assert float(atypicality(torch.zeros(8, 1), torch.full((8, 1), -14.0))) == pytest.approx(6.5, abs=1e-5)

    def test_a_typical_latent_at_batch_64_is_far_below_the_threshold(self):
        mean = torch.randn(64, 1000, generator=torch.Generator().manual_seed(2)) * 0.9
        alpha = atypicality(mean, torch.full((64, 1000), math.log(1 - 0.81)))
        assert float(alpha.max()) < MaskConfig().low / 2
        assert float(alpha.mean()) < 0.02

    @given(
        st.lists(st.tuples(st.floats(-5, 5), st.floats(-14, 6)), min_size=2, max_size=6),
        st.randoms(use_true_random=False),
    )
    def test_zero_or_more_whatever_the_order_of_the_batch(self, rows, random):
        def alpha() -> float:
            mean, log_var = torch.tensor(rows, dtype=torch.float64).unbind(1)
            return float(atypicality(mean[:, None], log_var[:, None]))

        before = alpha()
        random.shuffle(rows)
        assert before >= -1e-12
        assert alpha() == pytest.approx(before, rel=1e-9, abs=1e-12)

    def test_wrong_shapes_are_noticed(self):
        with pytest.raises(TypeCheckError, match="log_var"):
            atypicality(torch.zeros(4, 3), torch.zeros(4, 2))


class TestMask:
    LOW, HIGH = 0.48, 0.72
    ALL = bits(1, 1, 1, 1, 1, 1)

    def test_thresholds_of_the_paper(self):
        # λ = 0.6 with a filter of ∓20 %: 0.48 and 0.72.
        assert (MaskConfig().low, MaskConfig().high) == pytest.approx((self.LOW, self.HIGH))

    def test_three_zones(self):
        # Below λ0 active, above λ1 masked, between them as before, for a latent that was active and one that was not.
        alpha = torch.tensor([0.47, 0.47, 0.60, 0.60, 0.73, 0.73])
        before = bits(0, 1, 0, 1, 0, 1)
        assert update_mask(before, alpha, self.LOW, self.HIGH, self.ALL).tolist() == bits(1, 1, 0, 1, 0, 0).tolist()

    def test_on_the_borders_a_latent_keeps_its_state(self):
        alpha = torch.tensor([0.5, 0.5, 0.75, 0.75])
        before = bits(0, 1, 0, 1)
        assert update_mask(before, alpha, 0.5, 0.75, self.ALL[:4]).tolist() == before.tolist()

    def test_hysteresis_through_time(self):
        mask, history = bits(1), []
        for alpha in (0.5, 0.71, 0.8, 0.6, 0.5, 0.47, 0.6, 0.71, 0.73):
            mask = update_mask(mask, torch.tensor([alpha]), self.LOW, self.HIGH, bits(1))
            history.append(bool(mask))
        assert history == [True, True, False, False, False, True, True, True, False]

    def test_without_hysteresis_it_is_eq_5(self):
        # a = 1 if α < λ, else 0, whatever it was.
        alpha = torch.tensor([0.59, 0.61, 0.59, 0.61])
        assert update_mask(bits(0, 0, 1, 1), alpha, 0.6, 0.6, self.ALL[:4]).tolist() == bits(1, 0, 1, 0).tolist()

    def test_uninformative_latents_are_unmasked(self):
        # q(z|x) = p(z): α = 0 (Section 3.3, "spare latent capacity").
        alpha = atypicality(torch.zeros(8, 3), torch.zeros(8, 3))
        assert update_mask(bits(0, 0, 0), alpha, self.LOW, self.HIGH, bits(1, 1, 1)).all()

    def test_only_protected_latents_can_be_masked(self):
        alpha = torch.tensor([9.0, 9.0, 9.0, 9.0])
        assert update_mask(bits(1, 1, 0, 0), alpha, self.LOW, self.HIGH, bits(1, 0, 1, 0)).tolist() == [
            False,
            True,
            False,
            True,
        ]

    @given(st.lists(st.lists(st.floats(0, 50), min_size=3, max_size=3), max_size=8))
    def test_unprotected_latents_cannot_collapse(self, history):
        # However the first environment drifts, no latent of it is ever lost: nothing is protected yet.
        mask = bits(1, 1, 1)
        for alpha in history:
            mask = update_mask(mask, torch.tensor(alpha), self.LOW, self.HIGH, bits(0, 0, 0))
            assert mask.all()

    def test_a_minimum_of_the_least_atypical_latents_stays(self):
        # All six are atypical and maskable: without a minimum nothing is left, with 2 the latents of 0.9 and 1.1.
        alpha = torch.tensor([3.0, 0.9, 2.0, 1.1, 5.0, 4.0])
        assert not update_mask(self.ALL, alpha, self.LOW, self.HIGH, self.ALL).any()
        kept = update_mask(self.ALL, alpha, self.LOW, self.HIGH, self.ALL, minimum=2)
        assert kept.tolist() == bits(0, 1, 0, 1, 0, 0).tolist()

    def test_active_latents_count_towards_the_minimum(self):
        # Latent 4 cannot be masked, so a minimum of 2 adds one more: the least atypical.
        alpha = torch.tensor([3.0, 0.9, 2.0, 1.1, 5.0, 4.0])
        kept = update_mask(self.ALL, alpha, self.LOW, self.HIGH, bits(1, 1, 1, 1, 0, 1), minimum=2)
        assert kept.tolist() == bits(0, 1, 0, 0, 1, 0).tolist()

    @given(
        st.lists(st.tuples(st.booleans(), st.floats(0, 3), st.booleans()), min_size=1, max_size=8), st.integers(0, 8)
    )
    def test_the_minimum_only_adds(self, rows, minimum):
        mask, alpha, maskable = (torch.tensor(column) for column in zip(*rows, strict=True))
        before, alpha_before = mask.clone(), alpha.clone()
        plain = update_mask(mask, alpha, self.LOW, self.HIGH, maskable)
        kept = update_mask(mask, alpha, self.LOW, self.HIGH, maskable, minimum=min(minimum, len(rows)))
        assert bool((kept | ~plain).all())
        assert int(kept.sum()) == max(int(plain.sum()), min(minimum, len(rows)))
        assert torch.equal(mask, before)
        assert torch.equal(alpha, alpha_before)

    def test_wrong_shapes_are_noticed(self):
        with pytest.raises(TypeCheckError, match="alpha"):
            update_mask(bits(1, 1, 1), torch.zeros(2), self.LOW, self.HIGH, bits(1, 1, 1))
