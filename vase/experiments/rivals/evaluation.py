"""What is measured on every trained learner of the comparison: its memory, and the environments it infers."""

from __future__ import annotations

import numpy as np

from vase.experiments.experiment import Analysis
from vase.learners.protocol import InfersEnvironments, Learner, count_environments
from vase.metrics.detection import adjusted_rand
from vase.metrics.memory import memory_beyond_weights
from vase.metrics.record import Record
from vase.training.plan import Plan

BATCHES, IMAGES = 20, 64
"""Held-out batches of each world whose environment is asked for."""
_SALT = 20_261_117


def evaluate(learner: Learner, plan: Plan, record: Record) -> Analysis:
    """Bytes beyond the weights; for learners that infer environments, their number and the adjusted Rand index."""
    numbers: dict[str, float | None] = {"memory": memory_beyond_weights(learner), "rand": None, "environments": None}
    if isinstance(learner, InfersEnvironments):
        numbers |= {"rand": held_out_rand(learner, plan), "environments": count_environments(learner)}
    return Analysis(numbers)


def held_out_rand(learner: InfersEnvironments, plan: Plan) -> float:
    """Adjusted Rand index between worlds and the environments inferred for held-out batches, "none" among them."""
    worlds: list[int] = []
    found: list[int] = []
    for number, (_, test) in enumerate(plan.worlds.values()):
        rng = np.random.default_rng([plan.settings.seed, number, _SALT])
        for _ in range(BATCHES):
            environment = learner.infer_environment(test.sample(IMAGES, rng).images).environment
            worlds.append(number)
            found.append(-1 if environment is None else environment)
    return adjusted_rand(worlds, found)
