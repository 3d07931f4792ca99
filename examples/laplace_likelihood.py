"""A likelihood of your own: Laplace, which forgives single wrong pixels more than a Gaussian does.

python examples/laplace_likelihood.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from vase import VASE, VASEConfig
from vase.worlds import Schedule


@dataclass(frozen=True)
class Laplace:
    """p(x|y) = exp(−|x − y| / scale) / (2·scale) for each pixel; the decoder gives y."""

    scale: float = 0.1

    def mean(self, y: Tensor) -> Tensor:
        """E[x|z,s]."""
        return y

    def nll(self, y: Tensor, x: Tensor) -> Tensor:
        """−log p(x|z,s), summed over pixels."""
        return ((x - y).abs() / self.scale + math.log(2 * self.scale)).flatten(1).sum(1)

    def floor(self, x: Tensor) -> Tensor:
        """−log p of a perfect reconstruction."""
        return torch.full((len(x),), x[0].numel() * math.log(2 * self.scale), dtype=x.dtype, device=x.device)

    def curvature(self, y: Tensor) -> Tensor:
        """The Fisher information of the location: 1/scale²."""
        return torch.full_like(y, self.scale**-2)


def main() -> VASE:
    """Two small worlds with the Laplace likelihood."""
    model = VASE(VASEConfig.smoke(), seed=0, likelihood=Laplace())
    for batch in Schedule.parse("digits:28,glyphs:16", steps=120, batch_size=32):
        step = model.partial_fit(batch.images)
        if step.switched:
            print(f"step {step.step}: environment {step.environment}", *step.reasons, sep="\n  ")
    print(f"deviance {step.deviance:.1f}; the likelihood is not part of a checkpoint: VASE.load(path, likelihood=...)")
    return model


if __name__ == "__main__":
    main()
