"""Ambiguous images between two worlds, with context (Figure 4A): faces → inverse Fashion."""

from __future__ import annotations

from vase.experiments.common.conditions import OURS
from vase.experiments.experiment import THREE_SEEDS, Condition, Experiment

_HERE = "vase.experiments.ambiguity."

AMBIGUITY = Experiment(
    name="ambiguity",
    title="Figure 4A: mixtures of faces and inverse Fashion, with context",
    stream="faces,soft-inverse-fashion:32",
    steps={"laptop": 3_000, "paper": 30_000},
    conditions=(Condition(OURS, seeds=THREE_SEEDS, shown=True),),
    tables={
        "perception": f"{_HERE}analysis:perception",
        "context": f"{_HERE}analysis:context",
        "doubt": f"{_HERE}doubt:doubt",
    },
    figures={"figure4a": f"{_HERE}figures:figure4a"},
    options={"probes": "none", "measures": False, "canvas": 32},
    values={
        "paper": {
            "capacity.gamma": 200,
            "capacity.c_max": 20,
            "capacity.ramp_steps": 58_824,
            "mask.threshold": 0.8,
            "environments.kappa": 1.1,
        }
    },
    analyse=f"{_HERE}evaluation:analyse",
    figure_data=(),
)
