"""Many worlds in quick succession, a stream that the paper does not have."""

from __future__ import annotations

from vase.experiments.common.conditions import OURS, TABLES, chosen
from vase.experiments.experiment import THREE_SEEDS, Condition, Experiment

TWELVE_WORLDS = Experiment(
    name="twelve-worlds",
    title="many worlds, soon: twelve sizes and inversions of the same sprites",
    stream=(
        "mnist,inverse-fashion,fashion:28,inverse-mnist:12,moving-fashion:14,mnist:28,inverse-mnist,fashion:12,"
        "moving-mnist:12,inverse-fashion:28,moving-inverse-mnist:14,mnist:12"
    ),
    steps={"laptop": 300},
    conditions=(Condition(OURS, seeds=THREE_SEEDS),),
    tables=chosen(TABLES, "detection"),
    options={"probes": "none", "measures": False},
)
