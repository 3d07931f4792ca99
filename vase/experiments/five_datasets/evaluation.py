"""How much of a class survives in the reconstructions of a trained learner, in numbers and pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from vase.experiments.experiment import Analysis
from vase.experiments.five_datasets.settings import STREAM
from vase.images import as_bytes
from vase.learners.protocol import Decodes, Learner
from vase.metrics.reconstruction_accuracy import accuracy_on, train_reference_classifier
from vase.metrics.record import Record
from vase.metrics.worlds import infer_home
from vase.training.plan import Plan
from vase.worlds import Batch

TRAIN_IMAGES, TEST_IMAGES = 20_000, 2_000
_SALT = 20_261_118


def evaluate(learner: Learner, plan: Plan, record: Record) -> Analysis:
    """For every world: accuracy of a reference classifier on held-out images, and on their reconstructions."""
    if not isinstance(learner, Decodes):
        return Analysis({})
    numbers: dict[str, dict[str, Any]] = {}
    shown: dict[str, np.ndarray] = {}
    for world, (train, test) in plan.worlds.items():
        # A learner of one world is judged by the same classifier and images as one of all five.
        rng = np.random.default_rng([plan.settings.seed, _place(world), _SALT])
        classifier = train_reference_classifier(train.sample(TRAIN_IMAGES, rng), seed=plan.settings.seed)
        batch = test.sample(TEST_IMAGES, rng)
        inferred = infer_home(learner, batch.images)
        home = None if inferred is None else inferred.home
        reconstructions = learner.reconstruct(batch.images, environment=home)
        numbers[world] = {
            "environment": home,
            "images": accuracy_on(classifier, batch.images, batch),
            "reconstructions": accuracy_on(classifier, reconstructions, batch),
        }
        rows = first_of_each_class(batch)
        shown[f"reconstructions-{world}"] = np.stack([as_bytes(batch.images[rows]), as_bytes(reconstructions[rows])])
    return Analysis({"reconstruction_accuracy": numbers}, shown)


def _place(world: str) -> int:
    """The place of a world in the stream of five; behind them for any other."""
    worlds = STREAM.split(",")
    return worlds.index(world) if world in worlds else len(worlds)


def first_of_each_class(batch: Batch) -> list[int]:
    """The first image of every class, in the order of the classes: nobody chooses which."""
    labels = np.asarray(batch.factors["label"])
    return [int(np.flatnonzero(labels == label)[0]) for label in np.unique(labels)]
