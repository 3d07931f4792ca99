"""Natural images and drawings in colour: CIFAR-10's animals → vehicles → emoji → animals again."""

from __future__ import annotations

from vase.experiments.common.conditions import FIGURES, OURS, TABLES, chosen
from vase.experiments.experiment import THREE_SEEDS, Condition, Experiment

ANIMALS, VEHICLES = "cifar10:classes=2-7", "cifar10:classes=0-1+8-9"

COLOUR = Experiment(
    name="colour",
    title="colour: CIFAR-10's animals → vehicles → emoji → animals",
    stream=f"{ANIMALS},{VEHICLES},emoji-google,{ANIMALS}",
    steps={"laptop": 1_500},
    conditions=(Condition(OURS, seeds=THREE_SEEDS, shown=True),),
    tables=chosen(TABLES, "forgetting-frozen", "detection", "quality"),
    figures=chosen(FIGURES, "cross-domain", "traversals"),
    options={"probe_every": 1_500, "frozen_every": 0},
)
