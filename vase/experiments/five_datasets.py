"""The paper's longer stream (Figure 3): moving MNIST → Fashion → inverse Fashion → MNIST → moving Fashion."""

from __future__ import annotations

from vase.experiments import figures
from vase.experiments.analysis import ENTANGLED, axes, detection, disentanglement, forgetting_table, quality, sharing
from vase.experiments.study import Condition, Experiment

FIVE_DATASETS = Experiment(
    name="five-datasets",
    title="Figure 3: moving MNIST → Fashion → inverse Fashion → MNIST → moving Fashion",
    stream="moving-mnist,fashion,inverse-fashion,mnist,moving-fashion",
    steps={"laptop": 1_500},
    values={"paper": {"dreaming.tau": 5_000}},
    conditions=(
        Condition("disentangled-SDA", shown=True),
        Condition("entangled-SDA", ENTANGLED, seeds=(0,), shown=True),
    ),
    tables={
        "forgetting": forgetting_table,
        "detection": detection,
        "axes": axes,
        "disentanglement": disentanglement,
        "quality": quality,
        "sharing": sharing,
    },
    figures={
        "figure3": figures.figure3,
        "traversals": lambda results: figures.traversals(results, "disentangled-SDA"),
        "cross-domain": lambda results: figures.cross_domain(results, ("disentangled-SDA", "entangled-SDA")),
        "disentanglement": figures.disentanglement,
    },
)
