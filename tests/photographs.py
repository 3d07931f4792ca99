"""Pictures as varied as photographs, made by spectra that fall like those of natural images; and what happens to them.

Exposure, contrast, sharpness and colour differ from image to image, so that a change of all is small beside them.
"""

from __future__ import annotations

import numpy as np
from scenes import smooth


def photographs(
    n: int, rng: np.random.Generator, *, channels: int = 3, side: int = 32, sky: float = 0.25, fall: float = 1.3
) -> np.ndarray:
    """Images (n, C, side, side) in [0, 1]: amplitudes fall as frequency^−fall, and the top is brighter by `sky`."""
    frequency = np.hypot(np.fft.fftfreq(side)[:, None], np.fft.rfftfreq(side)) * side
    frequency[0, 0] = np.inf
    sharpness = rng.normal(fall, 0.15, (n, 1, 1, 1))
    spectrum = np.fft.rfft2(rng.standard_normal((n, channels + 1, side, side))) * frequency**-sharpness
    field = np.fft.irfft2(spectrum, s=(side, side))
    field /= field.std(axis=(2, 3), keepdims=True)
    contrast = rng.lognormal(np.log(0.15), 0.3, (n, 1, 1, 1))
    exposure = rng.uniform(0.3, 0.65, (n, 1, 1, 1))
    gradient = sky * rng.uniform(0, 2, (n, 1, 1, 1)) * (0.5 - np.arange(side) / side)[:, None]
    grey = exposure + contrast * field[:, :1] + gradient
    if channels == 1:
        return np.clip(grey, 0, 1).astype(np.float32)
    tint = 0.2 * contrast * field[:, 1:] + rng.normal(0, 0.04, (n, channels, 1, 1))
    return np.clip(grey + tint, 0, 1).astype(np.float32)


def draw(pool: np.ndarray, rng: np.random.Generator, n: int = 64) -> np.ndarray:
    """A batch of different images of a pool."""
    return pool[rng.choice(len(pool), n, replace=False)]


def night(images: np.ndarray) -> np.ndarray:
    return 0.35 * images


def blurred(images: np.ndarray) -> np.ndarray:
    return smooth(images, 1)


def upside_down(images: np.ndarray) -> np.ndarray:
    return images[:, :, ::-1].copy()


def grey(images: np.ndarray) -> np.ndarray:
    return np.repeat(images.mean(axis=1, keepdims=True), images.shape[1], axis=1)


def white_balance(images: np.ndarray) -> np.ndarray:
    return np.clip(images * np.array([1.1, 1.0, 0.85], np.float32)[:, None, None], 0, 1)


def dimmed(images: np.ndarray) -> np.ndarray:
    return 0.7 * images


def noisy(images: np.ndarray) -> np.ndarray:
    noise = np.random.default_rng(99).normal(0, 0.05, images.shape)
    return np.clip(images + noise, 0, 1).astype(np.float32)


def dirty(images: np.ndarray) -> np.ndarray:
    """A dark spot at the bottom left, where a lens is dirty."""
    images = images.copy()
    images[:, :, -10:, :10] *= 0.5
    return images
