"""The one vector that decisions depend on."""

import math

import pytest
import torch

from vase import VASEConfig
from vase.method.atypicality import atypicality, kl_of_moments
from vase.method.statistics import from_vector, kl_in, to_vector

CONFIG = VASEConfig.smoke().with_values({"capacity.balance": "paper"})


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


class TestVector:
    def test_by_hand(self):
        # Two latents, two environments; moments of the means ±1 and 3: m = (0, 3), E μ² = (1, 9), σ² = (1, 2).
        terms = [torch.tensor(v) for v in (10.0, 4.0, 0.5, 2.0, 0.25)]
        mean = torch.tensor([[-1.0, 3.0], [1.0, 3.0]])
        log_var = torch.tensor([[0.0, math.log(2.0)]] * 2)
        vector = to_vector(terms, torch.tensor([1.5, 0.5]), mean, log_var, torch.tensor([[0.0, 1.0], [0.0, 3.0]]))
        assert kl_in(vector, 2).tolist() == [1.5, 0.5]
        losses, statistics, candidate = from_vector(vector, torch.tensor(7.0), 2, CONFIG)
        weights = CONFIG.dreaming
        loss = 4 * (10 + 2 * weights.decoder_weight) + 7 + 0.25 + 0.5 * weights.encoder_weight
        assert losses == {
            "loss": pytest.approx(loss),
            "reconstruction": 10.0,
            "deviance": 4.0,
            "kl": 2.0,
            "dream_encoder": 0.5,
            "dream_decoder": 2.0,
            "classifier": 0.25,
        }
        assert candidate == 1
        assert statistics.tolist() == [[0.0, 3.0], [1.0, 9.0], [1.0, pytest.approx(2.0)]]
        alpha = kl_of_moments(statistics)
        # α_0 = ½(2 + 0 − 1 − log 2), α_1 = ½(2 + 9 − 1 − log 2)
        assert alpha.tolist() == pytest.approx([0.5 * (1 - math.log(2)), 0.5 * (10 - math.log(2))])
        assert alpha.tolist() == pytest.approx(atypicality(mean, log_var).tolist())

    def test_the_mean_over_halves_is_that_of_the_whole(self):
        mean, log_var = torch.randn(8, 3, generator=rng()), torch.randn(8, 3, generator=rng(1))
        logits, kl = torch.randn(8, 2, generator=rng(2)), torch.zeros(3)
        terms = [torch.tensor(0.0)] * 5
        whole = to_vector(terms, kl, mean, log_var, logits)
        halves = [to_vector(terms, kl, mean[i : i + 4], log_var[i : i + 4], logits[i : i + 4]) for i in (0, 4)]
        assert torch.allclose(whole, (halves[0] + halves[1]) / 2, atol=1e-6)
