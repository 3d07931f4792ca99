"""Resizing of image stacks: area averages when shrinking, linear interpolation when enlarging."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float32, UInt8


def weights(source: int, target: int) -> Float32[np.ndarray, "target source"]:
    """Return the matrix that resizes one axis; every row sums to 1, so a constant image stays constant."""
    if target >= source:
        centres = np.clip((np.arange(target) + 0.5) * source / target - 0.5, 0, source - 1)
        matrix = np.maximum(0, 1 - np.abs(centres[:, None] - np.arange(source)[None, :]))
    else:
        edges = np.arange(target + 1) * source / target
        left, right = np.arange(source), np.arange(source) + 1
        matrix = np.clip(np.minimum(edges[1:, None], right) - np.maximum(edges[:-1, None], left), 0, None)
    return (matrix / matrix.sum(axis=1, keepdims=True)).astype(np.float32)


def resize(images: np.ndarray, size: int) -> UInt8[np.ndarray, "N size size"]:
    """Resize grey images (N, H, W) with values in [0, 255] to ``size`` × ``size``."""
    n, height, width = images.shape
    if images.dtype == np.uint8 and (height, width) == (size, size):
        return np.array(images)
    rows, columns = weights(height, size), weights(width, size).T
    out = np.empty((n, size, size), np.uint8)
    for start in range(0, n, 4096):
        part = images[start : start + 4096].astype(np.float32)
        half = (part.reshape(-1, width) @ columns).reshape(-1, height, size)
        out[start : start + 4096] = np.clip(np.rint(rows @ half), 0, 255)
    return out
