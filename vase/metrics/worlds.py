"""Evaluation of one world at one moment: disentanglement, reconstruction and dreams."""

from __future__ import annotations

from typing import Any, NamedTuple

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


class Inferred(NamedTuple):
    """What a learner says of the environment of some images."""

    verdict: int | None
    """None if it would take them for a new world."""
    candidate: int
    """The likeliest one by the classifier."""

    @property
    def home(self) -> int:
        """The environment in which the images are decoded: the verdict or, without one, the candidate."""
        return self.candidate if self.verdict is None else self.verdict


def infer_home(learner: Learner, images: np.ndarray) -> Inferred | None:
    """The environment of images of one world, by a batch of them; None if the learner infers none."""
    if not isinstance(learner, InfersEnvironments):
        return None
    inference = learner.infer_environment(images[:INFERENCE_BATCH])
    return Inferred(inference.environment, int(inference.probabilities.argmax()))


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
    inferred = infer_home(learner, batch.images)
    found: dict[str, Any] = {"environment": None}
    if inferred is not None:
        found = {"environment": inferred.verdict, "candidate": inferred.candidate}
    s = None if inferred is None else inferred.home
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
