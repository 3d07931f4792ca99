"""The stream of Figure 3, and each of its worlds alone: does the fifth world learn as well as an only one?"""

from __future__ import annotations

from vase.experiments.common.conditions import OURS, TABLES, chosen
from vase.experiments.experiment import FIVE_SEEDS, Condition, Experiment
from vase.experiments.five_datasets.settings import FIVE_DATASETS

ALONE = "alone-"
"""Before the name of a world that a learner meets and no other."""
_ANALYSIS = "vase.experiments.plasticity.analysis:"

PLASTICITY = Experiment(
    name="plasticity",
    title="five worlds in one learner, against five learners that meet one world each",
    stream=FIVE_DATASETS.stream,
    steps={"laptop": 2_000},
    conditions=(
        Condition(OURS, seeds=FIVE_SEEDS, shown=True),
        *(Condition(ALONE + world, seeds=(0, 1), stream=world) for world in FIVE_DATASETS.stream.split(",")),
    ),
    tables={
        **{name: f"{_ANALYSIS}{name}" for name in ("plasticity", "latents")},
        **chosen(TABLES, "forgetting-frozen", "detection", "quality"),
    },
    options={"probe_every": 500, "frozen_every": 0},
)
