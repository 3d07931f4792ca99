"""The paper's longer stream (Figure 3): moving MNIST → Fashion → inverse Fashion → MNIST → moving Fashion."""

from __future__ import annotations

from vase.experiments import figures
from vase.experiments.analysis import (
    ENTANGLED,
    best,
    change,
    detection,
    disentanglement,
    note,
    percent,
    quality,
    sharing,
    tenthousandths,
)
from vase.experiments.study import Condition, Experiment, Results
from vase.experiments.tables import Entry, Table
from vase.report.record import title


def forgetting_table(results: Results) -> Table:
    """Accuracy and position error of each world: best during its stage, change until the end of the stream."""
    rows: list[tuple[Entry, ...]] = []
    for condition in results.experiment.conditions:
        runs = results.of(condition.name)
        worlds = runs[0].record.worlds if runs else ()
        for label, chosen in [*((title(world), (world,)) for world in worlds), ("mean", worlds)]:
            rows.append(
                (
                    condition.name,
                    label,
                    len(runs),
                    percent(best(runs, "accuracy", chosen)),
                    percent(change(runs, "accuracy", chosen)),
                    tenthousandths(best(runs, "mse", chosen)),
                    tenthousandths(change(runs, "mse", chosen)),
                )
            )
    columns = (
        "condition",
        "world",
        "seeds",
        "ID max (%)",
        "ID change (%)",
        "position min (1e-4)",
        "position change (1e-4)",
    )
    notes = ("The paper prints no numbers for this stream, only curves.", note(results))
    return Table("Five datasets", columns, tuple(rows), notes)


EXPERIMENT = Experiment(
    name="five-datasets",
    title="Figure 3: moving MNIST → Fashion → inverse Fashion → MNIST → moving Fashion",
    stream="moving-mnist,fashion,inverse-fashion,mnist,moving-fashion",
    steps={"laptop": 1_500},
    conditions=(
        Condition("disentangled-SDA", shown=True),
        Condition("entangled-SDA", ENTANGLED, seeds=(0,), shown=True),
    ),
    tables={
        "forgetting": forgetting_table,
        "detection": detection,
        "disentanglement": disentanglement,
        "quality": quality,
        "sharing": sharing,
    },
    figures={
        "figure3": figures.figure3,
        "traversals": lambda results: figures.traversals(results, "disentangled-SDA"),
        "cross-domain": lambda results: figures.cross_domain(results, ("disentangled-SDA", "entangled-SDA")),
        "disentanglement": figures.disentanglement,
    },
)
