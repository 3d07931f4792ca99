"""A learner with two environments, dark and light images of 16×16, that takes a second to train."""

from __future__ import annotations

import numpy as np

from vase import VASE, VASEConfig

CONFIG = VASEConfig.smoke((1, 16, 16)).with_values(
    {"network.latents": 4, "network.hidden": 16, "dreaming.pool": 64, "batch_size": 8}
)


def images(n: int, *, light: bool, seed: int = 0) -> np.ndarray:
    """Random images of one environment."""
    low, high = (0.6, 1.0) if light else (0.0, 0.3)
    return np.random.default_rng([seed, light]).uniform(low, high, (n, 1, 16, 16)).astype(np.float32)


def learner(batches: int = 24) -> VASE:
    """A learner that has met as many batches of each environment."""
    model = VASE(CONFIG, seed=0, device="cpu")
    for light in (False, True):
        for i in range(batches):
            model.partial_fit(images(8, light=light, seed=i))
    assert len(model.environments) == 2
    return model
