"""Imagination (Figure 4C): moving Fashion → MNIST → moving MNIST; digits that never moved are imagined to move."""

from __future__ import annotations

from vase.experiments.common.conditions import TABLES, chosen
from vase.experiments.experiment import THREE_SEEDS, Condition, Experiment

_HERE = "vase.experiments.imagination."

IMAGINATION = Experiment(
    name="imagination",
    title="Figure 4C: digits that never moved are imagined to move, before they do",
    stream="moving-fashion,mnist,moving-mnist",
    steps={"laptop": 3_000, "paper": 45_000},
    conditions=(
        Condition("passive", seeds=THREE_SEEDS, shown=True),
        Condition("imagination", seeds=THREE_SEEDS, shown=True, options={"imagination": "mnist"}),
    ),
    tables={
        "imagination": f"{_HERE}analysis:imagination_table",
        **chosen(TABLES, "forgetting", "detection", "disentanglement", "quality", "sharing"),
    },
    figures={"figure4c": f"{_HERE}figures:figure4c"},
    options={"anticipation": "mnist>moving-mnist"},
    values={
        "paper": {
            "capacity.gamma": 200,
            "capacity.c_max": 35,
            "capacity.ramp_steps": 142_857,
            "mask.threshold": 0.7,
            "environments.kappa": 1.5,
            "dreaming.tau": 500,
        }
    },
    figure_data=(),
)
