"""Evaluation of one world at one moment: disentanglement, reconstruction and dreams."""

from __future__ import annotations

from typing import Any

import numpy as np

from vase.images import as_floats
from vase.learners.protocol import Decodes, Dreams, InfersEnvironments, Learner
from vase.metrics.adjusted import measure_adjusted
from vase.metrics.disentanglement import measure
from vase.metrics.factors import rounded
from vase.metrics.latents import seen_latents
from vase.metrics.samples import sample_quality
from vase.worlds.world import World

MEASURE_IMAGES = 2_000  # held-out images of one measurement, and dreams that are compared with half of them
INFERENCE_BATCH = 64  # images in the batch whose environment is asked for


def measure_world(learner: Learner, world: World, rng: np.random.Generator) -> dict[str, Any]:
    """Disentanglement, reconstruction and dreams of a world, as the learner would take its images.

    Codes are sampled from q(z|x), as the probes' are: the mean of a latent that nobody uses can be exact to the last
    digit and still say nothing through its noise. `seen` has the means beside the samples, adjusted for chance, with
    the latents that the environment does not see taken as absent.

    `environment` is the one inferred for a batch (Eq. 6, Alg. 1), None if the learner would take it for a new world;
    images and latents are then those of the classifier's candidate. What a learner cannot do is left out, and
    `environment` is None.
    """
    batch = world.sample(MEASURE_IMAGES, rng)
    mean, std = learner.posterior(batch.images)
    codes = mean + std * rng.standard_normal(mean.shape).astype(mean.dtype)
    dream_seed, seed = int(rng.integers(2**31)), int(rng.integers(2**31))
    found: dict[str, Any] = {"environment": None}
    s = None
    if isinstance(learner, InfersEnvironments):
        inference = learner.infer_environment(batch.images[:INFERENCE_BATCH])
        candidate = int(inference.probabilities.argmax())
        found = {"environment": inference.environment, "candidate": candidate}
        s = candidate if inference.environment is None else inference.environment
    found |= measure(codes, batch.factors, seed=seed)
    seen = seen_latents(learner, s)
    latents = np.ones(codes.shape[1], bool) if seen is None else seen
    kinds = {"means": mean, "samples": codes}
    adjusted = {name: measure_adjusted(z * latents, batch.factors, seed=seed) for name, z in kinds.items()}
    found["seen"] = {"latents": latents.tolist(), **adjusted}
    real = as_floats(batch.images)
    if isinstance(learner, Decodes):
        found["reconstruction"] = rounded(np.square(real - learner.reconstruct(batch.images, environment=s)).mean())
    if isinstance(learner, Dreams):
        quality = sample_quality(real, learner.dream(MEASURE_IMAGES // 2, environment=s, seed=dream_seed))
        found |= {"samples": rounded(quality["distance"]), "samples_floor": rounded(quality["floor"])}
    return found
