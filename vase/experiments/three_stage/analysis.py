"""The appendix's table, beside the paper's numbers."""

from __future__ import annotations

from vase.experiments.common.conditions import OURS, readable, split
from vase.experiments.common.numbers import best, change, note, percent
from vase.experiments.results import Results
from vase.experiments.tables import NONE, Entry, Reported, Table, standard_errors
from vase.metrics.forgetting import Probes

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


def appendix_frozen(results: Results) -> Table:
    """The appendix's table by fresh probes on the frozen encoder."""
    return appendix(results, "frozen")


def appendix(results: Results, probes: Probes = "appendix") -> Table:
    """The appendix's table beside the paper's numbers, and how far each condition is behind disentangled SDA."""
    rows: list[tuple[Entry, ...]] = []
    paper = {(half, letters): numbers for half, known in PAPER.items() for letters, numbers in known.items()}
    names = {split(condition.name): condition.name for condition in results.experiment.conditions}
    changes = {key: percent(change(results.of(name), "accuracy", probes=probes)) for key, name in names.items()}
    ours = changes.get(split(OURS))
    for key in (key for key in dict.fromkeys([*paper, *names]) if key in names):  # the paper's order, then others
        runs = results.of(names[key])
        decrease, highest = map(Reported, paper[key]) if key in paper else (NONE, NONE)
        behind = NONE if ours is None or names[key] == OURS or not runs else standard_errors(ours, changes[key], -1)
        reached = percent(best(runs, "accuracy", probes=probes))
        rows.append((key[0] or NONE, readable(names[key]), len(runs), changes[key], decrease, behind, reached, highest))
    columns = ("half", "condition", "seeds", "decrease (%)", "paper", "behind", "max (%)", "paper")
    notes = (
        "Average over MNIST, while Fashion is trained, and Fashion, while MNIST is trained again. behind: how much "
        "more is lost than with disentangled SDA, in standard errors of the difference of the two means.",
        note(results, probes),
    )
    title = "Ablation, MNIST → Fashion → MNIST" + ", frozen encoder" * (probes == "frozen")
    return Table(title, columns, tuple(rows), notes)
