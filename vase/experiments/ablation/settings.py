"""The paper's ablation study (Table 1 and Figure 2): moving Fashion → MNIST → moving MNIST."""

from __future__ import annotations

from dataclasses import replace

from vase.experiments.common.conditions import ENTANGLED, FIGURES, HALVES, OURS, TABLES, ablations, chosen
from vase.experiments.experiment import FIVE_SEEDS, THREE_SEEDS, Experiment

_HERE = "vase.experiments.ablation."
_ANALYSIS = f"{_HERE}analysis:"

ABLATION = Experiment(
    name="ablation",
    title="Table 1 and Figure 2: moving Fashion → MNIST → moving MNIST, with and without S, D, A and disentanglement",
    stream="moving-fashion,mnist,moving-mnist",
    steps={"laptop": 1_500},
    conditions=ablations(
        {"disentangled": FIVE_SEEDS, "entangled": THREE_SEEDS},
        shown=("disentangled-SDA", "disentangled-none", "entangled-SDA", "entangled-none"),
    ),
    tables={
        "table1": f"{_ANALYSIS}table1",
        "table1-frozen": f"{_ANALYSIS}table1_frozen",
        "headline": f"{_ANALYSIS}headline",
        "ranking": f"{_ANALYSIS}ranking",
        "twins": f"{_ANALYSIS}twins",
        "twins-frozen": f"{_ANALYSIS}twins_frozen",
        "detection": TABLES["detection"],
        "latents": f"{_ANALYSIS}latents",
        "axes": f"{_ANALYSIS}shown_axes",
        **chosen(TABLES, "disentanglement", "disentanglement-seen", "quality", "sharing", "sharing-seen"),
        "shown-disentanglement": f"{_ANALYSIS}shown_disentanglement",
        "shown-quality": f"{_ANALYSIS}shown_quality",
        "shown-sharing": f"{_ANALYSIS}shown_sharing",
    },
    figures={"figure2": f"{_HERE}figures:figure2", **FIGURES},
)

_TWINS = (OURS, ENTANGLED)

CODES = Experiment(
    name="codes",
    title="does disentangling protect? The SDA, SD and – of the ablation, longer stages, probes on frozen encoders",
    stream=ABLATION.stream,
    steps={"laptop": 3_000},
    conditions=tuple(
        replace(ABLATION.condition(name), seeds=FIVE_SEEDS, shown=name in _TWINS)
        for name in (f"{half}-{letters}" for half in HALVES for letters in ("none", "SD", "SDA"))
    ),
    tables={
        "table1-frozen": f"{_ANALYSIS}table1_frozen",
        "table1": f"{_ANALYSIS}table1",
        "twins-frozen": f"{_ANALYSIS}twins_frozen",
        "twins": f"{_ANALYSIS}twins",
        "ranking-frozen": f"{_ANALYSIS}ranking_frozen",
        "reuse": f"{_HERE}reuse:reuse",
        **chosen(TABLES, "detection", "axes", "disentanglement", "disentanglement-seen", "quality", "sharing"),
    },
    figures=chosen(FIGURES, "traversals", "cross-domain"),
    options={"probe_every": 500, "frozen_every": 3},
)

LONGER = replace(
    CODES,
    name="longer",
    title="does disentangling need time? The ablation's SDA, both halves, with long stages",
    steps={"laptop": 20_000, "paper": 300_000},
    conditions=tuple(replace(CODES.condition(name), shown=False, seeds=(0, 1)) for name in _TWINS),
    figures={},
    options={"probe_every": 2_000, "frozen_every": 5},
)

FEW_LATENTS = replace(
    CODES,
    name="few-latents",
    title="does disentangling protect where latents are few? The ablation's SDA, both halves, 10 latents instead of 24",
    values={"laptop": {"network.latents": 10}},
    conditions=tuple(replace(CODES.condition(name), shown=False, seeds=THREE_SEEDS) for name in _TWINS),
    figures={},
)
