"""A learner of your own, outside the package: incremental principal components.

    PYTHONPATH=examples vase train --learner pca_learner:PCALearner --stream mnist,fashion --steps 300 --out runs/pca
    PYTHONPATH=examples vase experiment run pca_experiment:EXPERIMENT

Probes, measures, summary, tables and figures treat it like any other. `check_learner(PCALearner)` tells whether it
keeps the contract.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vase import Step, VASEConfig
from vase.images import as_images


class PCALearner:
    """Running mean and covariance of the pixels; codes are the standardised leading components."""

    def __init__(self, config: VASEConfig, *, seed: int = 0, device: str = "cpu", components: int | str = 10) -> None:
        self.image_shape = config.image_shape
        self.n_latents = int(components)  # options from the command line are text
        size = int(np.prod(self.image_shape))
        self.count, self.steps = 0, 0
        self.mean, self.scatter = torch.zeros(size, dtype=torch.float64), torch.zeros(size, size, dtype=torch.float64)

    def partial_fit(self, images: Any) -> Step:
        """Add one batch to mean and covariance (Chan et al. 1979)."""
        x = self._flat(images, minimum=2)
        self.steps += 1
        before, self.count = self.count, self.count + len(x)
        shift, centred = x.mean(0) - self.mean, x - x.mean(0)
        self.mean = self.mean + shift * len(x) / self.count
        self.scatter = self.scatter + centred.T @ centred + torch.outer(shift, shift) * before * len(x) / self.count
        return Step(step=self.steps)

    def posterior(self, images: Any) -> tuple[np.ndarray, np.ndarray]:
        """Codes, and zeros: principal components have no uncertainty."""
        values, vectors = torch.linalg.eigh(self.scatter / max(self.count, 1))
        axes = vectors[:, -self.n_latents :] / values[-self.n_latents :].clamp_min(1e-8).sqrt()
        codes = ((self._flat(images) - self.mean) @ axes).float().numpy()
        return codes, np.zeros_like(codes)

    def state_dict(self) -> dict[str, Any]:
        """Everything that an exact continuation needs."""
        return {"steps": self.steps, "count": self.count, "sums": {"mean": self.mean, "scatter": self.scatter}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.steps, self.count = state["steps"], state["count"]
        self.mean, self.scatter = state["sums"]["mean"], state["sums"]["scatter"]

    def _flat(self, images: Any, minimum: int = 1) -> Tensor:
        return as_images(images, self.image_shape, minimum=minimum).flatten(1).double()
