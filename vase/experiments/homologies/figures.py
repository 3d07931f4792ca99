"""Figure 4B from saved results: frames of two worlds, each decoded as the other, above their real twins."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from vase.experiments.common.conditions import ENTANGLED, OURS, heading
from vase.experiments.common.figures import pictures
from vase.experiments.results import Result, Results
from vase.plots.pictures import draw_rows
from vase.plots.style import new_figure, styled
from vase.worlds.spec import title


def figure4b(results: Results) -> Figure:
    """Both directions below each other, conditions side by side; the first seed of each."""
    runs = {condition: results.first(condition) for condition in (OURS, ENTANGLED)}
    with styled():
        figure = new_figure(0.1 + 6.3 * len(runs), 0.1 + 2 * 3.3)
        grid = figure.subplots(2, len(runs), squeeze=False)
        for column, (condition, run) in zip(grid.T, runs.items(), strict=True):
            first, second = run.analysis["worlds"]
            for axis, (a, b) in zip(column, ((first, second), (second, first)), strict=True):
                draw_rows(axis, decoded(run, a, b))
                axis.set_title(f"{heading(condition)}: {title(a)} decoded as {title(b)}")
                axis.set_xlabel(caption(run, a, b), loc="left", fontsize=8)
                axis.set_anchor("NW")
    return figure


def decoded(run: Result, world: str, other: str) -> dict[str, np.ndarray]:
    """Rows of pictures: frames of a world, as it, as the other, and the same scenes there if they are known."""
    images = pictures(run)
    rows = {
        title(world): images[world],
        "reconstruction": images[f"{world} own"],
        f"as {title(other)}": images[f"{world} as {other}"],
    }
    return {**rows, f"{title(other)}, real": images[other]} if run.analysis["twins"] else rows


def caption(run: Result, world: str, other: str) -> str:
    """The error against the twins in numbers, or why there is none."""
    if not run.analysis["twins"]:
        return str(run.analysis["note"])
    errors = run.analysis["twins"][f"{world} as {other}"]
    return (
        f"squared error of a pixel × 1000 against the real frame: {1e3 * errors['cross']:.1f}; "
        f"of the mean frame: {1e3 * errors['mean']:.1f}"
    )
