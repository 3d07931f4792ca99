"""Dreaming (Eq. 7): encoder proximity, and which environments are dreamt of."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError

from vase.method.dreaming import draw_environments, encoder_proximity


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


class TestEncoderProximity:
    def test_by_hand(self):
        # Image 0: Δμ = 3 and −4, σ = 1 against 3 in the first latent: 9 + 4 + 16 = 29.
        # Image 1: the same Gaussians: 0. Nothing is averaged over the batch.
        mean = torch.tensor([[3.0, 0.0], [1.0, 2.0]])
        old_mean = torch.tensor([[0.0, 4.0], [1.0, 2.0]])
        log_var = torch.zeros(2, 2)
        old_log_var = torch.tensor([[math.log(9), 0.0], [0.0, 0.0]])
        distance = encoder_proximity(mean, log_var, old_mean, old_log_var)
        assert distance.tolist() == pytest.approx([29.0, 0.0], abs=1e-5)

    def test_only_gated_latents_count(self):
        # 9 + 4 from the first latent of image 0 only; 16 from its second is shut out.
        mean, old_mean = torch.tensor([[3.0, 0.0]]), torch.tensor([[0.0, 4.0]])
        old_log_var = torch.tensor([[math.log(9), 0.0]])
        gate = torch.tensor([[1.0, 0.0]])
        distance = encoder_proximity(mean, torch.zeros(1, 2), old_mean, old_log_var, gate)
        assert distance.tolist() == pytest.approx([13.0], abs=1e-5)

    def test_is_the_cost_of_the_best_transport(self):
        # In one dimension the best plan pairs quantiles: the mean squared gap between sorted samples.
        samples = torch.distributions.Normal(0.0, 1.0).icdf((torch.arange(100_000) + 0.5) / 100_000)
        a, b = 0.5 + 2.0 * samples, -1.0 + 0.7 * samples
        expected = float((a.sort().values - b.sort().values).square().mean())
        got = encoder_proximity(
            torch.tensor([[0.5]]), torch.tensor([[2 * math.log(2.0)]]), torch.tensor([[-1.0]]),
            torch.tensor([[2 * math.log(0.7)]]),
        )  # fmt: skip
        # (0.5 + 1)² + (2 − 0.7)² = 2.25 + 1.69 = 3.94
        assert float(got) == pytest.approx(3.94, rel=1e-5)
        assert float(got) == pytest.approx(expected, rel=1e-3)

    @given(st.lists(st.tuples(*[st.floats(-5, 5)] * 4), min_size=1, max_size=4))
    def test_is_a_distance(self, rows):
        mean, log_var, old_mean, old_log_var = (torch.tensor([c], dtype=torch.float64) for c in zip(*rows, strict=True))
        there = float(encoder_proximity(mean, log_var, old_mean, old_log_var))
        back = float(encoder_proximity(old_mean, old_log_var, mean, log_var))
        assert there == back >= 0
        assert float(encoder_proximity(mean, log_var, mean, log_var)) == 0

    def test_wrong_shapes_are_noticed(self):
        with pytest.raises(TypeCheckError):
            encoder_proximity(torch.zeros(2, 3), torch.zeros(2, 3), torch.zeros(1, 3), torch.zeros(1, 3))


class TestEnvironmentsOfDreams:
    @pytest.mark.parametrize("current", [0, 1, 3])
    def test_uniform_over_the_others(self, current):
        s = draw_environments(30_000, [i for i in range(4) if i != current], rng())
        counts = torch.bincount(s, minlength=4)
        assert counts[current] == 0
        # 10,000 each; the standard deviation is √(30000·⅓·⅔) = 82.
        assert all(abs(int(c) - 10_000) < 400 for i, c in enumerate(counts) if i != current)

    def test_of_one_only_that_one(self):
        assert draw_environments(50, [3], rng()).unique().tolist() == [3]

    def test_repeatable(self):
        assert torch.equal(draw_environments(100, [0, 2, 5], rng(7)), draw_environments(100, [0, 2, 5], rng(7)))

    @given(st.lists(st.integers(0, 40), min_size=1, unique=True), st.integers(0, 999))
    def test_none_but_the_given_ones(self, environments, seed):
        s = draw_environments(64, environments, rng(seed))
        assert s.shape == (64,)
        assert set(s.tolist()) <= set(environments)
