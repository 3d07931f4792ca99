"""What a stranger recognises in the reconstructions of a trained learner: shares, and a picture of every class."""

from __future__ import annotations

import numpy as np

from vase.experiments.experiment import Analysis
from vase.images import as_bytes
from vase.learners.protocol import Decodes, Learner
from vase.metrics.recognition import recognised, train_stranger
from vase.metrics.record import Record
from vase.training.plan import Plan
from vase.worlds import Batch

TRAIN_IMAGES, TEST_IMAGES, CHUNK = 20_000, 2_000, 250
_SALT = 20_261_118


def evaluate(learner: Learner, plan: Plan, record: Record) -> Analysis:
    """For every world: the share of real held-out images that the stranger recognises, and of their reconstructions."""
    if not isinstance(learner, Decodes):
        return Analysis({})
    numbers: dict[str, dict[str, float]] = {}
    shown: dict[str, np.ndarray] = {}
    for number, (world, (train, test)) in enumerate(plan.worlds.items()):
        rng = np.random.default_rng([plan.settings.seed, number, _SALT])
        stranger = train_stranger(train.sample(TRAIN_IMAGES, rng), seed=plan.settings.seed)
        batch = test.sample(TEST_IMAGES, rng)
        again = [learner.reconstruct(batch.images[i : i + CHUNK]) for i in range(0, TEST_IMAGES, CHUNK)]
        seen = np.concatenate(again)
        numbers[world] = {
            "images": recognised(stranger, batch.images, batch),
            "reconstructions": recognised(stranger, seen, batch),
        }
        rows = first_of_each_class(batch)
        shown[f"recognition-{world}"] = np.stack([as_bytes(batch.images[rows]), as_bytes(seen[rows])])
    return Analysis({"recognition": numbers}, shown)


def first_of_each_class(batch: Batch) -> list[int]:
    """The first image of every class, in the order of the classes: nobody chooses which."""
    labels = np.asarray(batch.factors["label"])
    return [int(np.flatnonzero(labels == label)[0]) for label in np.unique(labels)]
