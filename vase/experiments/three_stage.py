"""The appendix's ablation on a world that comes back: MNIST → Fashion → MNIST."""

from __future__ import annotations

from vase.experiments import figures
from vase.experiments.analysis import (
    ablations,
    best,
    change,
    detection,
    disentanglement,
    note,
    percent,
    quality,
    readable,
    sharing,
)
from vase.experiments.study import FIVE_SEEDS, Experiment, Results
from vase.experiments.tables import Entry, Reported, Table

PAPER = {
    "disentangled": {
        "DA": ("−7.9", "90.5"),
        "SD": ("−2.2", "91.0"),
        "S": ("−3.9", "90.8"),
        "A": ("−9.6", "90.2"),
        "SA": ("−5.9", "90.0"),
        "none": ("−4.4", "91.1"),
        "D": ("−6.0", "90.5"),
        "SDA": ("−0.9", "90.3"),
    },
    "entangled": {
        "DA": ("−12.1", "90.9"),
        "SD": ("−4.3", "92.1"),
        "S": ("−8.4", "91.5"),
        "A": ("−10.1", "91.7"),
        "SA": ("−10.3", "91.0"),
        "none": ("−6.6", "92.6"),
        "D": ("−6.9", "91.4"),
        "SDA": ("−2.5", "91.2"),
    },
}
"""The appendix's table: average decrease and average maximum of accuracy (%), in its order."""


def appendix_table(results: Results) -> Table:
    """The appendix's table beside the paper's numbers."""
    rows: list[tuple[Entry, ...]] = []
    for half, paper in PAPER.items():
        for letters, (decrease, highest) in paper.items():
            runs = results.of(f"{half}-{letters}")
            ours = percent(change(runs, "accuracy")), percent(best(runs, "accuracy"))
            name = readable(f"{half}-{letters}")
            rows.append((half, name, len(runs), ours[0], Reported(decrease), ours[1], Reported(highest)))
    columns = ("half", "condition", "seeds", "decrease (%)", "paper", "max (%)", "paper")
    notes = (
        "Average over MNIST, while Fashion is trained, and Fashion, while MNIST is trained again.",
        note(results),
    )
    return Table("Ablation, MNIST → Fashion → MNIST", columns, tuple(rows), notes)


THREE_STAGE = Experiment(
    name="three-stage",
    title="the appendix's table: MNIST → Fashion → MNIST, with and without S, D, A and disentanglement",
    stream="mnist,fashion,mnist",
    steps={"laptop": 1_000},
    conditions=ablations({"disentangled": FIVE_SEEDS, "entangled": (0,)}, shown=("disentangled-SDA",)),
    tables={
        "appendix": appendix_table,
        "detection": detection,
        "disentanglement": disentanglement,
        "quality": quality,
        "sharing": sharing,
    },
    figures={
        "traversals": lambda results: figures.traversals(results, "disentangled-SDA"),
        "disentanglement": figures.disentanglement,
    },
)
