"""The paper's longer stream (Figure 3), and each of its worlds alone: does the fifth learn as well as an only one?"""

from __future__ import annotations

from vase.experiments.common.conditions import ENTANGLED, ENTANGLED_LOSS, FIGURES, OURS, TABLES
from vase.experiments.experiment import Condition, Experiment

STREAM = "moving-mnist,fashion,inverse-fashion,mnist,moving-fashion"
ALONE = "alone-"
"""Before the name of a world that a learner meets and no other."""
_PLASTICITY = "vase.experiments.five_datasets.plasticity:"

FIVE_DATASETS = Experiment(
    name="five-datasets",
    title="Figure 3: moving MNIST → Fashion → inverse Fashion → MNIST → moving Fashion, and each of these worlds alone",
    stream=STREAM,
    steps={"laptop": 2_000},
    values={"paper": {"dreaming.tau": 5_000}},
    conditions=(
        Condition(OURS, shown=True),
        Condition(ENTANGLED, ENTANGLED_LOSS, seeds=(0,), shown=True),
        *(Condition(ALONE + world, seeds=(0, 1), stream=world) for world in STREAM.split(",")),
    ),
    tables={**{name: f"{_PLASTICITY}{name}" for name in ("plasticity", "latents")}, **TABLES},
    figures={"figure3": "vase.experiments.five_datasets.figures:figure3", **FIGURES},
    options={"probe_every": 500, "frozen_every": 0},
)
