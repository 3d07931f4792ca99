"""The paper's ablation study (Table 1 and Figure 2): moving Fashion → MNIST → moving MNIST."""

from __future__ import annotations

from dataclasses import replace

from vase.experiments.common.conditions import (
    BASELINE,
    ENTANGLED,
    FIGURES,
    HALVES,
    HEADLINE,
    OURS,
    TABLES,
    ablations,
    chosen,
)
from vase.experiments.experiment import FIVE_SEEDS, THREE_SEEDS, Experiment

_HERE = "vase.experiments.ablation."
_ANALYSIS = f"{_HERE}analysis:"

ABLATION = Experiment(
    name="ablation",
    title="Table 1 and Figure 2: moving Fashion → MNIST → moving MNIST, with and without S, D, A and disentanglement",
    stream="moving-fashion,mnist,moving-mnist",
    steps={"laptop": 3_000},
    conditions=tuple(
        replace(condition, seeds=FIVE_SEEDS) if condition.name in HEADLINE else condition
        for condition in ablations(dict.fromkeys(HALVES, THREE_SEEDS), shown=(OURS, BASELINE, ENTANGLED))
    ),
    tables={
        "table1-frozen": f"{_ANALYSIS}table1_frozen",
        "table1": f"{_ANALYSIS}table1",
        "headline": f"{_ANALYSIS}headline",
        "ranking-frozen": f"{_ANALYSIS}ranking_frozen",
        "ranking": f"{_ANALYSIS}ranking",
        "twins-frozen": f"{_ANALYSIS}twins_frozen",
        "orderings": f"{_HERE}orderings:orderings",
        "twins": f"{_ANALYSIS}twins",
        "reuse": f"{_HERE}reuse:reuse",
        "latents": f"{_ANALYSIS}latents",
        "axes": f"{_ANALYSIS}shown_axes",
        **chosen(TABLES, "detection", "disentanglement", "disentanglement-seen", "quality", "sharing", "sharing-seen"),
        "shown-disentanglement": f"{_ANALYSIS}shown_disentanglement",
        "shown-quality": f"{_ANALYSIS}shown_quality",
        "shown-sharing": f"{_ANALYSIS}shown_sharing",
    },
    figures={"figure2": f"{_HERE}figures:figure2", **FIGURES},
    options={"probe_every": 500, "frozen_every": 3},
)

_TWINS = (OURS, ENTANGLED)

LONGER = replace(
    ABLATION,
    name="longer",
    title="does disentangling need time? The ablation's SDA, both halves, with long stages",
    steps={"laptop": 20_000, "paper": 300_000},
    conditions=tuple(replace(ABLATION.condition(name), shown=False, seeds=(0, 1)) for name in _TWINS),
    figures={},
    options={"probe_every": 2_000, "frozen_every": 5},
)

FEW_LATENTS = replace(
    ABLATION,
    name="few-latents",
    title="does disentangling protect where latents are few? The ablation's SDA, both halves, 10 latents instead of 24",
    values={"laptop": {"network.latents": 10}},
    conditions=tuple(replace(ABLATION.condition(name), shown=False, seeds=THREE_SEEDS) for name in _TWINS),
    figures={},
)
