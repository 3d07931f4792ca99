"""The appendix's table, beside the paper's numbers."""

from __future__ import annotations

from vase.experiments.common.conditions import readable, split
from vase.experiments.common.numbers import best, change, note, percent
from vase.experiments.results import Results
from vase.experiments.tables import NONE, Entry, Reported, Table

PAPER = {
    "disentangled": {
        "DA": ("−7.9", "90.5"),
        "SD": ("−2.2", "91.0"),
        "S": ("−3.9", "90.8"),
        "A": ("−9.6", "90.2"),
        "SA": ("−5.9", "90.0"),
        "–": ("−4.4", "91.1"),
        "D": ("−6.0", "90.5"),
        "SDA": ("−0.9", "90.3"),
    },
    "entangled": {
        "DA": ("−12.1", "90.9"),
        "SD": ("−4.3", "92.1"),
        "S": ("−8.4", "91.5"),
        "A": ("−10.1", "91.7"),
        "SA": ("−10.3", "91.0"),
        "–": ("−6.6", "92.6"),
        "D": ("−6.9", "91.4"),
        "SDA": ("−2.5", "91.2"),
    },
}
"""The appendix's table: average decrease and average maximum of accuracy (%), in its order."""


def appendix_table(results: Results) -> Table:
    """The appendix's table beside the paper's numbers."""
    rows: list[tuple[Entry, ...]] = []
    paper = {(half, letters): numbers for half, known in PAPER.items() for letters, numbers in known.items()}
    names = {split(condition.name): condition.name for condition in results.experiment.conditions}
    for key in (key for key in dict.fromkeys([*paper, *names]) if key in names):  # the paper's order, then others
        runs = results.of(names[key])
        decrease, highest = map(Reported, paper[key]) if key in paper else (NONE, NONE)
        ours = percent(change(runs, "accuracy")), percent(best(runs, "accuracy"))
        rows.append((key[0] or NONE, readable(names[key]), len(runs), ours[0], decrease, ours[1], highest))
    columns = ("half", "condition", "seeds", "decrease (%)", "paper", "max (%)", "paper")
    notes = (
        "Average over MNIST, while Fashion is trained, and Fashion, while MNIST is trained again.",
        note(results),
    )
    return Table("Ablation, MNIST → Fashion → MNIST", columns, tuple(rows), notes)
