"""Worlds that come back again and again, a stream that the paper does not have."""

from __future__ import annotations

from vase.experiments.common.conditions import OURS, TABLES, chosen
from vase.experiments.experiment import Condition, Experiment

RETURNS = Experiment(
    name="returns",
    title="worlds that come back: MNIST → Fashion → MNIST → Fashion → MNIST",
    stream="mnist,fashion,mnist,fashion,mnist",
    steps={"laptop": 2_000},
    conditions=(Condition(OURS),),
    tables=chosen(
        TABLES,
        "forgetting",
        "forgetting-frozen",
        "detection",
        "disentanglement",
        "disentanglement-seen",
        "quality",
        "sharing",
    ),
    options={"probe_every": 500, "frozen_every": 2},
)
