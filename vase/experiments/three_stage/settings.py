"""The appendix's ablation on a world that comes back: MNIST → Fashion → MNIST."""

from __future__ import annotations

from vase.experiments.common.conditions import FIGURES, TABLES, ablations, chosen
from vase.experiments.experiment import THREE_SEEDS, Experiment

_ANALYSIS = "vase.experiments.three_stage.analysis:"

THREE_STAGE = Experiment(
    name="three-stage",
    title="the appendix's table: MNIST → Fashion → MNIST, with and without S, D, A and disentanglement",
    stream="mnist,fashion,mnist",
    steps={"laptop": 2_000},
    conditions=ablations({"disentangled": THREE_SEEDS, "entangled": (0,)}, shown=("disentangled-SDA",)),
    tables={
        "appendix-frozen": f"{_ANALYSIS}appendix_frozen",
        "appendix": f"{_ANALYSIS}appendix",
        **chosen(
            TABLES, "forgetting-frozen", "detection", "disentanglement", "disentanglement-seen", "quality", "sharing"
        ),
    },
    figures=chosen(FIGURES, "traversals", "disentanglement"),
    options={"probe_every": 500, "frozen_every": 2},
)
