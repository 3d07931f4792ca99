"""Imagination (Figure 4C): moving Fashion → MNIST → moving MNIST; digits that never moved are imagined to move."""

from __future__ import annotations

from vase.experiments.common.conditions import TABLES, chosen
from vase.experiments.experiment import THREE_SEEDS, Condition, Experiment

_HERE = "vase.experiments.imagination."
_MOVED = {"imagination": "mnist"}
_BASELINES = (
    Condition("random-translation", seeds=THREE_SEEDS, shown=True, options={**_MOVED, "imagination_policy": "random"}),
    Condition("passive-128", seeds=THREE_SEEDS, shown=True, options={"batch_size": 128}),
)
_VARIANTS = (
    # Static digits are four fifths of a batch instead of half: at half, they end where passive is after half the stage.
    Condition("imagination-quarter", seeds=THREE_SEEDS, options={**_MOVED, "imagination_share": 0.25}),
    # Static digits are learnt first; if the mixture passes for a new environment, dreams protect them from then on.
    Condition("imagination-late", seeds=THREE_SEEDS, options={**_MOVED, "imagination_start": 1_500}),
    # Spare latents are recruited by static digits mostly; movement joins slowly, so that it is no new environment.
    Condition("imagination-ramp", seeds=THREE_SEEDS, options={**_MOVED, "imagination_ramp": 1_500}),
)
"""Attempts to lower what imagination costs static MNIST; batches are counted for stages of 3,000."""

IMAGINATION = Experiment(
    name="imagination",
    title="Figure 4C: digits that never moved are imagined to move, before they do",
    stream="moving-fashion,mnist,moving-mnist",
    steps={"laptop": 3_000, "paper": 45_000},
    conditions=(
        Condition("passive", seeds=THREE_SEEDS, shown=True),
        Condition("imagination", seeds=THREE_SEEDS, shown=True, options=_MOVED),
        *_BASELINES,
        *_VARIANTS,
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
