"""Pictures that look natural: smooth random fields, edges, a horizon's gradient; and what may happen to a camera."""

from __future__ import annotations

import numpy as np


def smooth(images: np.ndarray, times: int = 1) -> np.ndarray:
    """Blur with [1 2 1]/4 along both axes, edges repeated."""
    for _ in range(times):
        for axis in (-2, -1):
            pad = [(1, 1) if axis % images.ndim == i else (0, 0) for i in range(images.ndim)]
            padded = np.pad(images, pad, mode="edge")
            n = images.shape[axis]
            parts = [np.take(padded, np.arange(n) + i, axis=axis) for i in range(3)]
            images = (parts[0] + 2 * parts[1] + parts[2]) / 4
    return images


def scenes(n: int, rng: np.random.Generator, *, channels: int = 3, side: int = 32, sky: float = 0.0) -> np.ndarray:
    """Images (n, C, side, side) in [0, 1]; `sky` makes the top brighter than the bottom by this much."""
    field = smooth(rng.normal(size=(n, 1, side, side)), 12)
    field = field / field.std(axis=(2, 3), keepdims=True)
    rows, columns = np.mgrid[:side, :side] / side
    angle, offset = rng.uniform(0, 2 * np.pi, (2, n, 1, 1, 1))
    half = np.cos(angle) * (rows - 0.5) + np.sin(angle) * (columns - 0.5) > 0.2 * np.cos(offset)
    texture = rng.normal(size=(n, 1, side, side))
    level = rng.uniform(0.38, 0.58, (n, 1, 1, 1))
    grey = level + 0.07 * field + 0.2 * (half - 0.5) + 0.01 * texture + sky * (0.5 - rows)
    if channels == 1:
        return np.clip(grey, 0, 1).astype(np.float32)
    hue = smooth(rng.normal(size=(n, channels, side, side)), 12)
    hue = 0.05 * hue / hue.std(axis=(2, 3), keepdims=True) + rng.normal(0, 0.02, (n, channels, 1, 1))
    return np.clip(grey * (1 + hue - hue.mean(axis=1, keepdims=True)), 0, 1).astype(np.float32)
