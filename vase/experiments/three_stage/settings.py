"""The appendix's ablation on a world that comes back: MNIST → Fashion → MNIST."""

from __future__ import annotations

from vase.experiments.common.conditions import FIGURES, TABLES, ablations, chosen
from vase.experiments.experiment import FIVE_SEEDS, Experiment

THREE_STAGE = Experiment(
    name="three-stage",
    title="the appendix's table: MNIST → Fashion → MNIST, with and without S, D, A and disentanglement",
    stream="mnist,fashion,mnist",
    steps={"laptop": 1_000},
    conditions=ablations({"disentangled": FIVE_SEEDS, "entangled": (0,)}, shown=("disentangled-SDA",)),
    tables={
        "appendix": "vase.experiments.three_stage.analysis:appendix_table",
        **chosen(
            TABLES, "forgetting-frozen", "detection", "disentanglement", "disentanglement-seen", "quality", "sharing"
        ),
    },
    figures=chosen(FIGURES, "traversals", "disentanglement"),
)
