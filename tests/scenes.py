"""Pictures that look natural: smooth random fields, edges, a horizon's gradient; and what may happen to a camera."""

from __future__ import annotations

import numpy as np


def smooth(images: np.ndarray, times: int = 1) -> np.ndarray:
    """Blur with [1 2 1]/4 along both axes, edges repeated."""
    for _ in range(times):
        padded = np.pad(images, [(0, 0)] * (images.ndim - 2) + [(1, 1), (1, 1)], mode="edge")
        rows = padded[..., 2:, :] + 2 * padded[..., 1:-1, :] + padded[..., :-2, :]
        images = (rows[..., 2:] + 2 * rows[..., 1:-1] + rows[..., :-2]) / 16
    return images


def scenes(n: int, rng: np.random.Generator, *, channels: int = 3, side: int = 32, sky: float = 0.0) -> np.ndarray:
    """Images (n, C, side, side) in [0, 1]; `sky` makes the top brighter than the bottom by this much."""
    field = smooth(rng.standard_normal((n, 1, side, side), np.float32), 12)
    field = field / field.std(axis=(2, 3), keepdims=True)
    rows, columns = np.mgrid[:side, :side] / side
    angle, offset = rng.uniform(0, 2 * np.pi, (2, n, 1, 1, 1))
    half = np.cos(angle) * (rows - 0.5) + np.sin(angle) * (columns - 0.5) > 0.2 * np.cos(offset)
    texture = rng.standard_normal((n, 1, side, side), np.float32)
    level = rng.uniform(0.38, 0.58, (n, 1, 1, 1))
    grey = level + 0.07 * field + 0.2 * (half - 0.5) + 0.01 * texture + sky * (0.5 - rows)
    if channels == 1:
        return np.clip(grey, 0, 1).astype(np.float32)
    hue = smooth(rng.standard_normal((n, channels, side, side), np.float32), 12)
    hue = 0.05 * hue / hue.std(axis=(2, 3), keepdims=True) + rng.normal(0, 0.02, (n, channels, 1, 1))
    return np.clip(grey * (1 + hue - hue.mean(axis=1, keepdims=True)), 0, 1).astype(np.float32)
