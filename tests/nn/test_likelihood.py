"""p(x|z,s): reconstruction error (Eq. 3), its floor, decoder proximity (Eq. 7) and curvature (App. A.2)."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import distributions

from vase.nn.likelihood import Bernoulli, Gaussian, Likelihood, make_likelihood


def image(*pixels: float) -> torch.Tensor:
    """One image of one row."""
    return torch.tensor(pixels, dtype=torch.float64).reshape(1, 1, 1, -1)


def divergence(p: Likelihood, old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    """KL(p_old ‖ p_new) as the objective computes it: −log p of the mean of the old one, above its floor (Eq. 7)."""
    return p.nll(new, p.mean(old)) - p.floor(p.mean(old))


def batch(seed: int, shape: tuple[int, ...] = (5, 2, 3, 4)) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


class TestBernoulli:
    p = Bernoulli()

    def test_error_by_hand(self):
        # Logit ln 3 is p = 3/4.
        # x = 1/4: −¼ ln ¾ − ¾ ln ¼ = 0.071921 + 1.039721 = 1.111641
        # x = 1, logit 0 (p = ½): ln 2 = 0.693147. Pixels are summed.
        nll = self.p.nll(image(math.log(3), 0.0), image(0.25, 1.0))
        assert nll.tolist() == pytest.approx([1.111641 + 0.693147], abs=1e-6)

    def test_floor_by_hand(self):
        # Entropy of ¼: ¼ ln 4 + ¾ ln 4/3 = 0.346574 + 0.215762 = 0.562335; black and white pixels have none.
        assert self.p.floor(image(0.25, 0.0, 1.0)).tolist() == pytest.approx([0.562335], abs=1e-6)

    def test_deviance_is_a_divergence_between_pixels(self):
        # KL(¼ ‖ ¾) = ¼ ln ⅓ + ¾ ln 3 = ½ ln 3 = 0.549306
        x, y = image(0.25), image(math.log(3))
        assert float(self.p.nll(y, x) - self.p.floor(x)) == pytest.approx(0.549306, abs=1e-6)

    def test_no_decoder_beats_the_floor(self):
        # The best logit of a grey pixel is its own: the deviance is zero there and only there.
        x = torch.sigmoid(batch(0))
        assert torch.allclose(self.p.nll(torch.logit(x), x), self.p.floor(x))
        assert bool((self.p.nll(torch.logit(x) + 0.1, x) > self.p.floor(x)).all())

    def test_divergence_by_hand(self):
        # old p = ¾ (logit ln 3), new p = ½: ¾ ln(¾/½) + ¼ ln(¼/½) = 0.304099 − 0.173287 = 0.130812; the other way
        # round ½ ln ⅔ + ½ ln 2 = −0.202733 + 0.346574 = 0.143841: the order of the arguments matters.
        assert float(divergence(self.p, image(math.log(3)), image(0.0))) == pytest.approx(0.130812, abs=1e-6)
        assert float(divergence(self.p, image(0.0), image(math.log(3)))) == pytest.approx(0.143841, abs=1e-6)

    def test_agrees_with_torch_distributions(self):
        old, new = batch(1), batch(2)
        x = (torch.sigmoid(batch(3)) > 0.5).double()
        q = distributions.Bernoulli(logits=old)
        assert torch.allclose(self.p.nll(old, x), -q.log_prob(x).flatten(1).sum(1))
        expected = distributions.kl_divergence(q, distributions.Bernoulli(logits=new)).flatten(1).sum(1)
        assert torch.allclose(divergence(self.p, old, new), expected)

    def test_mean(self):
        assert self.p.mean(image(math.log(3), 0.0)).flatten().tolist() == pytest.approx([0.75, 0.5])

    def test_curvature_by_hand_and_by_autograd(self):
        # p = ¾: ¾·¼ = 0.1875. It is the second derivative of the error, whatever the pixel.
        assert float(self.p.curvature(image(math.log(3)))) == pytest.approx(0.1875)
        y = image(0.7, -1.3)
        hessian = torch.autograd.functional.hessian(lambda v: self.p.nll(v, image(0.2, 0.9)).sum(), y)
        assert torch.allclose(torch.diag(hessian.reshape(2, 2)), self.p.curvature(y).flatten())

    @given(st.lists(st.tuples(st.floats(-100, 100), st.floats(-100, 100), st.floats(0, 1)), min_size=1, max_size=5))
    def test_extreme_outputs_stay_finite(self, rows):
        old, new, x = (torch.tensor(v, dtype=torch.float32).reshape(1, 1, 1, -1) for v in zip(*rows, strict=True))
        moving = new.clone().requires_grad_()
        total = divergence(self.p, old, moving).sum() + self.p.nll(moving, x).sum()
        (slope,) = torch.autograd.grad(total, [moving])
        value = divergence(self.p, old, new)
        assert float(value) >= -1e-4
        assert bool(torch.isfinite(value).all() & torch.isfinite(slope).all())
        assert float(divergence(self.p, old, old)) == pytest.approx(0, abs=1e-4)
        assert float(self.p.nll(new, x) - self.p.floor(x)) >= -1e-4


class TestGaussian:
    p = Gaussian(0.5)

    def test_error_by_hand(self):
        # x − y = ¼ is half a std: ½·¼ = 0.125; plus ln ½ + ½ ln 2π = −0.693147 + 0.918939 per pixel.
        # The second pixel is exact: only the constant 0.225791.
        nll = self.p.nll(image(0.25, 0.7), image(0.5, 0.7))
        assert nll.tolist() == pytest.approx([0.125 + 2 * 0.225791], abs=1e-6)

    def test_deviance_is_the_scaled_squared_error(self):
        # (0.25² + 0.5²) / (2·0.5²) = 0.3125 / 0.5 = 0.625
        x, y = image(0.5, 0.0), image(0.25, 0.5)
        assert self.p.floor(x).tolist() == pytest.approx([2 * 0.225791], abs=1e-6)
        assert float(self.p.nll(y, x) - self.p.floor(x)) == pytest.approx(0.625)

    def test_divergence_by_hand(self):
        # Same std, so ½·(Δ/std)²: Δ = 0.3 and 0.1: ½(0.36 + 0.04) = 0.2
        assert float(divergence(self.p, image(0.3, 0.5), image(0.0, 0.6))) == pytest.approx(0.2)

    def test_agrees_with_torch_distributions(self):
        old, new, x = batch(1), batch(2), batch(3)
        q = distributions.Normal(old, 0.5)
        assert torch.allclose(self.p.nll(old, x), -q.log_prob(x).flatten(1).sum(1))
        expected = distributions.kl_divergence(q, distributions.Normal(new, 0.5)).flatten(1).sum(1)
        assert torch.allclose(divergence(self.p, old, new), expected)

    def test_curvature_and_mean(self):
        # 1/0.5² = 4 everywhere; the decoder gives the mean itself.
        assert self.p.curvature(image(0.1, 7.0)).flatten().tolist() == [4.0, 4.0]
        assert self.p.mean(image(0.1, 7.0)).flatten().tolist() == pytest.approx([0.1, 7.0])


def test_chosen_by_name():
    assert make_likelihood("bernoulli", 0.1) == Bernoulli()
    assert make_likelihood("gaussian", 0.3) == Gaussian(0.3)
