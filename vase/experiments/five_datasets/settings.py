"""The paper's longer stream (Figure 3): moving MNIST → Fashion → inverse Fashion → MNIST → moving Fashion."""

from __future__ import annotations

from vase.experiments.common.conditions import ENTANGLED, ENTANGLED_LOSS, FIGURES, OURS, TABLES
from vase.experiments.experiment import Condition, Experiment

FIVE_DATASETS = Experiment(
    name="five-datasets",
    title="Figure 3: moving MNIST → Fashion → inverse Fashion → MNIST → moving Fashion",
    stream="moving-mnist,fashion,inverse-fashion,mnist,moving-fashion",
    steps={"laptop": 1_500},
    values={"paper": {"dreaming.tau": 5_000}},
    conditions=(Condition(OURS, shown=True), Condition(ENTANGLED, ENTANGLED_LOSS, seeds=(0,), shown=True)),
    tables=TABLES,
    figures={"figure3": "vase.experiments.five_datasets.figures:figure3", **FIGURES},
)
