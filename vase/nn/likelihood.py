"""The decoder's distribution p(x|z,s) (App. A.1) and what is measured with it.

Symbols: x images in [0,1], y decoder outputs (logits for Bernoulli, means for Gaussian).
Losses are summed over pixels, one number per image.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

Images = Float[Tensor, "B C H W"]


def _sum_pixels(values: Images) -> Float[Tensor, "B"]:
    return values.flatten(1).sum(1)


def _x_log_x(x: Images) -> Images:
    """x log x, zero at zero; `torch.xlogy` is the same, computed one number at a time."""
    return x.clamp_min(torch.finfo(x.dtype).tiny).log_().mul_(x)


@dataclass(frozen=True)
class Bernoulli:
    """A product of independent Bernoulli distributions over pixels; the decoder gives logits."""

    def mean(self, y: Images) -> Images:
        """E[x|z,s]."""
        return torch.sigmoid(y)

    def nll(self, y: Images, x: Images) -> Float[Tensor, "B"]:
        """−log p(x|z,s), the reconstruction error of Eq. 3."""
        return _sum_pixels(F.binary_cross_entropy_with_logits(y, x, reduction="none"))

    def floor(self, x: Images) -> Float[Tensor, "B"]:
        """The smallest −log p(x|·) that any decoder can reach: the entropy of grey pixels."""
        return -_sum_pixels(_x_log_x(x).add_(_x_log_x(1 - x)))

    def curvature(self, y: Images) -> Images:
        """−∂² log p/∂y² (expected): p(1−p), the Gauss-Newton weight of a logit."""
        p = torch.sigmoid(y)
        return p * (1 - p)


@dataclass(frozen=True)
class Gaussian:
    """A product of Gaussians of fixed standard deviation (App. A.1, DM Lab); the decoder gives means."""

    std: float

    def mean(self, y: Images) -> Images:
        """E[x|z,s]."""
        return y

    def nll(self, y: Images, x: Images) -> Float[Tensor, "B"]:
        """−log p(x|z,s), the reconstruction error of Eq. 3."""
        constant = math.log(self.std) + 0.5 * math.log(2 * math.pi)
        return _sum_pixels(0.5 * ((x - y) / self.std).square() + constant)

    def floor(self, x: Images) -> Float[Tensor, "B"]:
        """The smallest −log p(x|·): that of a perfect reconstruction."""
        constant = math.log(self.std) + 0.5 * math.log(2 * math.pi)
        return torch.full((len(x),), constant * x[0].numel(), dtype=x.dtype, device=x.device)

    def curvature(self, y: Images) -> Images:
        """−∂² log p/∂y²: 1/std²."""
        return torch.full_like(y, self.std**-2)


@runtime_checkable
class Likelihood(Protocol):
    """p(x|z,s), one factor per pixel. Any object with these methods can be passed as `VASE(likelihood=...)`."""

    def mean(self, y: Images) -> Images:
        """E[x|z,s] from the decoder's outputs."""

    def nll(self, y: Images, x: Images) -> Float[Tensor, "B"]:
        """−log p(x|z,s), summed over pixels."""

    def floor(self, x: Images) -> Float[Tensor, "B"]:
        """The smallest −log p(x|·) that any decoder can reach."""

    def curvature(self, y: Images) -> Images:
        """The Gauss-Newton weight of each output: the expected −∂² log p/∂y²."""


def make_likelihood(name: str, std: float) -> Likelihood:
    """The likelihood that a configuration names."""
    return Bernoulli() if name == "bernoulli" else Gaussian(std)
