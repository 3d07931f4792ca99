"""What the learner knows of a world at one moment, in numbers that the paper does not give."""

from __future__ import annotations

from typing import Any

import numpy as np

from vase.learners.vase import VASE
from vase.metrics.disentanglement import measure, sample_quality
from vase.worlds import World

MEASURE_IMAGES = 2_000
"""Held-out images of one measurement, and dreams that are compared with half of them."""

JUDGED = 64
"""Images in the batch whose environment is asked for."""


def measure_world(model: VASE, world: World, rng: np.random.Generator) -> dict[str, Any]:
    """Disentanglement, reconstruction and dreams of a world, as the learner would take its images.

    Codes are sampled from q(z|x), as the probes' are: the mean of a latent that nobody uses can be exact to the last
    digit and still say nothing through its noise. `environment` is the verdict on a batch (Eq. 6, Alg. 1), None if the
    learner would take it for a new world; pictures are then made in the classifier's candidate.
    """
    batch = world.sample(MEASURE_IMAGES, rng)
    mean, std = model.posterior(batch.images)
    codes = mean + std * rng.standard_normal(mean.shape).astype(mean.dtype)
    inference = model.infer_environment(batch.images[:JUDGED])
    candidate = int(inference.probabilities.argmax())
    s = candidate if inference.environment is None else inference.environment
    real = np.asarray(batch.images, np.float32) / (255 if batch.images.dtype == np.uint8 else 1)
    error = real - model.reconstruct(batch.images, environment=s)
    dreams = model.dream(MEASURE_IMAGES // 2, environment=s, seed=int(rng.integers(2**31)))
    quality = sample_quality(real, dreams)
    return {
        "environment": inference.environment,
        "candidate": candidate,
        **measure(codes, batch.factors, seed=int(rng.integers(2**31))),
        "reconstruction": _digits(np.square(error).mean()),
        "samples": _digits(quality["distance"]),
        "samples_floor": _digits(quality["floor"]),
    }


def _digits(value: float) -> float:
    return float(f"{value:.6g}")
