"""A likelihood of your own: logistic, with heavier tails than a Gaussian, so that single wrong pixels count less.

python examples/logistic_likelihood.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from vase import VASE, VASEConfig
from vase.worlds import Schedule


@dataclass(frozen=True)
class Logistic:
    """p(x|y) = exp(−d) / (scale·(1 + exp(−d))²) with d = |x − y| / scale for each pixel; the decoder gives y."""

    scale: float = 0.15

    def mean(self, y: Tensor) -> Tensor:
        """E[x|z,s]."""
        return y

    def nll(self, y: Tensor, x: Tensor) -> Tensor:
        """−log p(x|z,s), summed over pixels."""
        d = (x - y).abs() / self.scale
        return (d + 2 * F.softplus(-d) + math.log(self.scale)).flatten(1).sum(1)

    def floor(self, x: Tensor) -> Tensor:
        """−log p of a perfect reconstruction: log(4·scale) per pixel."""
        return torch.full((len(x),), x[0].numel() * math.log(4 * self.scale), dtype=x.dtype, device=x.device)

    def curvature(self, y: Tensor) -> Tensor:
        """The Fisher information of the location: 1 / (3·scale²)."""
        return torch.full_like(y, 1 / (3 * self.scale**2))


def main() -> VASE:
    """Two small worlds with the logistic likelihood."""
    model = VASE(VASEConfig.smoke(), seed=0, likelihood=Logistic())
    for batch in Schedule.parse("digits:28,glyphs:16", steps=120, batch_size=32):
        step = model.partial_fit(batch.images)
        if step.switched:
            print(f"step {step.step}: environment {step.environment}", *step.reasons, sep="\n  ")
    print(f"deviance {step.deviance:.1f}; the likelihood is not part of a checkpoint: VASE.load(path, likelihood=...)")
    return model


if __name__ == "__main__":
    main()
