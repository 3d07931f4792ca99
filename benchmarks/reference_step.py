"""The plain step of benchmarks/reference.py as a contestant, and a matrix product."""

from __future__ import annotations

import torch

from benchmarks.reference import Reference
from vase.bench.contestants import FIRST, SECOND, block, floats
from vase.config import VASEConfig


class ReferenceStep:
    """The plain step, with one or two environments known. A call is one step."""

    def __init__(self, config: VASEConfig, environments: int = 1) -> None:
        self.reference = Reference(config, seed=0)
        self.images = floats(FIRST, config)
        steps = block(config)
        if environments > 1:
            for _ in range(steps):
                self()
            self.reference.add_environment()
            self.images = floats(SECOND, config)
        with torch.no_grad():  # as in vase.bench.contestants.Learner
            self.reference.nets.classifier.weight.fill_(-1)[self.reference.current] = 1
        for _ in range(2 * steps):
            self()
        self.environments = environments

    def __call__(self) -> None:
        """Learn one batch."""
        self.reference.step(next(self.images))

    @property
    def disturbed(self) -> int:
        """Environments that were found where there was nothing new."""
        return len(self.reference.environments) - self.environments


class Gemm:
    """A square matrix product, the fastest arithmetic a processor has. A call is one product."""

    def __init__(self, side: int = 1024, dtype: torch.dtype = torch.float32) -> None:
        self.a, self.b = (torch.randn(side, side).to(dtype) for _ in range(2))
        self.out = torch.empty_like(self.a)
        self.flops = 2 * side**3

    def __call__(self) -> None:
        """Multiply."""
        torch.mm(self.a, self.b, out=self.out)
