"""Sample quality: the Fréchet distance between dreams and real images."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from sklearn.decomposition import PCA

COMPONENTS = 50


def frechet(a: Float[np.ndarray, "A D"], b: Float[np.ndarray, "M D"]) -> float:
    """Fréchet distance of the Gaussians fitted to two sets: |m - m'|² + tr(C + C' - 2 (C^½ C' C^½)^½).

    The trace of the last root is the sum of the singular values of C^½ C'^½: real, and exact for singular covariances.
    """
    a, b = _vectors(a), _vectors(b)
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"vectors of {a.shape[1]} and of {b.shape[1]} features: use the same picture_features.")
    shift = a.mean(0) - b.mean(0)
    first, second = (np.atleast_2d(np.cov(values, rowvar=False)) for values in (a, b))
    overlap = np.linalg.svd(_root(first) @ _root(second), compute_uv=False).sum()
    return max(0.0, float(shift @ shift + np.trace(first) + np.trace(second) - 2 * overlap))


def picture_features(real: np.ndarray) -> Callable[[np.ndarray], Float[np.ndarray, "B D"]]:
    """A function from images to their principal components, at most 50, as fitted to real images.

    Images are bytes or floats in [0, 1], of any shape (B, ...). What lies outside these components, such as fine noise,
    is not seen.
    """
    pixels = _flat(real)
    pca = PCA(min(COMPONENTS, len(pixels) - 1, pixels.shape[1]), svd_solver="randomized", random_state=0).fit(pixels)

    def features(images: np.ndarray) -> Float[np.ndarray, "B D"]:
        flat = _flat(images)
        if flat.shape[1] != pixels.shape[1]:
            found = f"images of {flat.shape[1]} values, but the real ones have {pixels.shape[1]}"
            raise ValueError(f"{found}: bring them to one shape.")
        return pca.transform(flat)

    return features


def sample_quality(real: np.ndarray, samples: np.ndarray) -> dict[str, float]:
    """Fréchet distance from samples to real images in the space of `picture_features`, and its floor.

    One half of the real images fits the features and is the reference of both numbers; the floor is the distance of
    the other half, with as many images as there are samples (or of samples as there are images), because few images
    look farther away than many. So perfect samples reach the floor, not 0. `images` is that number; compare only
    distances from the same real images with the same number.
    """
    reference, rest = np.split(np.random.default_rng(0).permutation(len(real)), [len(real) // 2])
    size = min(len(rest), len(samples))
    features = picture_features(real[reference])
    there = features(real[reference])
    return {
        "distance": frechet(there, features(samples[:size])),
        "floor": frechet(there, features(real[rest[:size]])),
        "images": size,
    }


def _root(covariance: Float[np.ndarray, "D D"]) -> Float[np.ndarray, "D D"]:
    """Symmetric square root."""
    values, vectors = np.linalg.eigh(covariance)
    return (vectors * np.sqrt(values.clip(0))) @ vectors.T


def _vectors(values: np.ndarray) -> Float[np.ndarray, "B D"]:
    values = np.asarray(values, np.float64)
    if values.ndim != 2 or len(values) < 2 or not np.isfinite(values).all():
        raise ValueError(f"features of shape {values.shape}: pass at least two finite vectors, one per row.")
    return values


def _flat(images: np.ndarray) -> Float[np.ndarray, "B P"]:
    images = np.asarray(images)
    if images.ndim < 2 or len(images) < 2:
        raise ValueError(f"images of shape {images.shape}: pass at least two, as (B, ...).")
    flat = images.reshape(len(images), -1).astype(np.float64) / (255 if images.dtype == np.uint8 else 1)
    if not (flat.min() >= 0 and flat.max() <= 1):
        found = f"image values from {flat.min():g} to {flat.max():g}"
        raise ValueError(f"{found}: must lie in [0, 1]; divide by 255 or pass uint8.")
    return flat
