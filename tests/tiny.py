"""A configuration and worlds of 16×16 pixels for learners that have to be trained in a second."""

from __future__ import annotations

from typing import Any

import numpy as np

from vase.config import VASEConfig

SHAPE = (1, 16, 16)


def tiny(**values: Any) -> VASEConfig:
    """Two small convolutions and four latents; `values` by the names of the last parts of fields."""
    known = {"objective": "capacity.objective", "balance": "capacity.balance"}
    small = {"network.channels": "4,8", "network.hidden": 16, "network.latents": 4, "capacity.balance": "sum"}
    return VASEConfig.smoke(SHAPE).with_values({**small, **{known[name]: value for name, value in values.items()}})


def bars(n: int, seed: int, *, upright: bool = True) -> np.ndarray:
    """A world of bars at random places, upright or lying."""
    place = np.random.default_rng(seed).integers(2, 14, n)
    rows = np.abs(np.arange(16)[None] - place[:, None]) < 2
    images = np.repeat(rows[:, None, None, :], 16, 2) if upright else np.repeat(rows[:, None, :, None], 16, 3)
    return images.astype(np.uint8) * np.uint8(255)
