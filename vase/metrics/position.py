"""Where a representation keeps the position of objects."""

from __future__ import annotations

from typing import Any

import numpy as np

from vase.learners.vase import VASE
from vase.worlds import World

POSITION_IMAGES = 1_000
"""Held-out images on which the position latents are looked for."""


def moves(environment: World) -> bool:
    """Whether the objects of a world change place."""
    factors = environment.sample(16, np.random.default_rng(0)).factors
    return {"x", "y"} <= factors.keys() and any(np.ptp(factors[axis]) > 0 for axis in "xy")


def position_latents(model: VASE, environment: World, rng: np.random.Generator) -> dict[str, dict[str, Any]]:
    """For x and for y, the latent whose mean is most correlated with it, in absolute value, on held-out images."""
    batch = environment.sample(POSITION_IMAGES, rng)
    mean = np.asarray(model.encode(batch.images).mean, np.float64)
    centred = mean - mean.mean(0)
    found = {}
    for axis in "xy":
        target = batch.factors[axis] - batch.factors[axis].mean()
        scale = np.linalg.norm(centred, axis=0) * np.linalg.norm(target)
        correlation = np.divide(target @ centred, scale, out=np.zeros(centred.shape[1]), where=scale > 0)
        latent = int(np.abs(correlation).argmax())
        found[axis] = {"latent": latent, "correlation": round(float(correlation[latent]), 4)}
    return found
