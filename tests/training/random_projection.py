"""A learner outside the package, without torch and without environments, decoder or dreams: a random projection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vase.config import VASEConfig
from vase.learners.records import Step


class RandomProjection:
    """z = W (x − mean), with a fixed random W and the running mean of all images; σ = `noise`."""

    def __init__(self, config: VASEConfig, *, seed: int = 0, device: str = "auto", size: str = "5", noise: float = 0.1):
        pixels = int(np.prod(config.image_shape))
        self.n_latents, self.steps, self.noise = int(size), 0, float(noise)
        self._weights = np.random.default_rng(seed).standard_normal((pixels, self.n_latents)) / np.sqrt(pixels)
        self._mean = np.zeros(pixels)

    def partial_fit(self, images: Any) -> Step:
        self.steps += 1
        flat = self._flat(images)
        self._mean += (flat.mean(0) - self._mean) / self.steps
        return Step(self.steps, loss=float(np.square(flat - self._mean).mean()))

    def posterior(self, images: Any) -> tuple[np.ndarray, np.ndarray]:
        mean = ((self._flat(images) - self._mean) @ self._weights).astype(np.float32)
        return mean, np.full_like(mean, self.noise)

    def state_dict(self) -> dict[str, Any]:
        return {"steps": self.steps, "mean": self._mean.tolist()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.steps, self._mean = state["steps"], np.array(state["mean"])

    def _flat(self, images: Any) -> np.ndarray:
        return np.asarray(images).reshape(len(images), -1) / 255


class NoPosterior:
    """Not a learner."""

    def partial_fit(self, images: Any) -> Step:
        return Step(1)

    def state_dict(self) -> dict[str, Any]:
        return {}


class NoSteps(RandomProjection):
    """Lacks a member that only instances have."""

    def __init__(self, config: VASEConfig, *, seed: int = 0, device: str = "auto") -> None:
        super().__init__(config, seed=seed)
        del self.steps
