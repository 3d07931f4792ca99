"""The paper's longer stream (Figure 3), and each of its worlds alone: does the fifth learn as well as an only one?"""

from __future__ import annotations

from dataclasses import replace

from vase.experiments.common.conditions import (
    ALL_DREAMS,
    ENTANGLED,
    ENTANGLED_LOSS,
    FIGURES,
    MORE_DREAMS,
    OURS,
    TABLES,
)
from vase.experiments.experiment import Condition, Experiment

STREAM = "moving-mnist,fashion,inverse-fashion,mnist,moving-fashion"
ALONE = "alone-"
"""Before the name of a world that a learner meets and no other."""


def _alone(seeds: tuple[int, ...]) -> tuple[Condition, ...]:
    """A learner for each world."""
    return tuple(Condition(ALONE + world, seeds=seeds, stream=world) for world in STREAM.split(","))


_HERE = "vase.experiments.five_datasets."

FIVE_DATASETS = Experiment(
    name="five-datasets",
    title="Figure 3: moving MNIST → Fashion → inverse Fashion → MNIST → moving Fashion, and each of these worlds alone",
    stream=STREAM,
    steps={"laptop": 2_000},
    values={"paper": {"dreaming.tau": 5_000}},
    conditions=(
        Condition(OURS, shown=True),
        Condition(ENTANGLED, ENTANGLED_LOSS, seeds=(0,), shown=True),
        *_alone((0, 1)),
    ),
    tables={**{name: f"{_HERE}analysis:{name}" for name in ("plasticity", "latents")}, **TABLES},
    figures={"figure3": f"{_HERE}figures:figure3", **FIGURES},
    options={"probe_every": 500, "frozen_every": 0},
)

FIVE_LONGER = replace(
    FIVE_DATASETS,
    name="five-longer",
    title="the five worlds with longer stages: does a classifier of real images read the reconstructions?",
    steps={"laptop": 6_000},
    conditions=(
        replace(FIVE_DATASETS.condition(OURS), seeds=(0,)),
        Condition(MORE_DREAMS, ALL_DREAMS, seeds=(0,)),
        *_alone((0,)),
    ),
    tables={"reconstruction-accuracy": f"{_HERE}analysis:reconstruction_accuracy", **TABLES},
    figures={"reconstructions": f"{_HERE}figures:reconstructions", **FIVE_DATASETS.figures},
    options={"probe_every": 2_000, "frozen_every": 0},
    analyse=f"{_HERE}evaluation:evaluate",
)
