"""Two streams that the paper does not have: worlds that come back again and again, and many worlds in a row."""

from __future__ import annotations

from vase.experiments.analysis import detection, disentanglement, forgetting_table, quality, sharing
from vase.experiments.study import THREE_SEEDS, Condition, Experiment

RETURNS = Experiment(
    name="returns",
    title="worlds that come back: MNIST → Fashion → MNIST → Fashion → MNIST",
    stream="mnist,fashion,mnist,fashion,mnist",
    steps={"laptop": 1_000},
    conditions=(Condition("disentangled-SDA"),),
    tables={
        "forgetting": forgetting_table,
        "detection": detection,
        "disentanglement": disentanglement,
        "quality": quality,
        "sharing": sharing,
    },
)

TWELVE_WORLDS = Experiment(
    name="twelve-worlds",
    title="many worlds, soon: twelve sizes and inversions of the same sprites",
    stream=(
        "mnist,inverse-fashion,fashion:28,inverse-mnist:12,moving-fashion:14,mnist:28,inverse-mnist,fashion:12,"
        "moving-mnist:12,inverse-fashion:28,moving-inverse-mnist:14,mnist:12"
    ),
    steps={"laptop": 300},
    conditions=(Condition("disentangled-SDA", seeds=THREE_SEEDS),),
    tables={"detection": detection},
    options={"probes": "none", "measures": False},
)
