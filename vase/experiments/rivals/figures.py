"""What methods cost and what they keep: accuracy against memory, forgetting against time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vase.experiments.common.conditions import OURS
from vase.experiments.common.numbers import Numbers, change, last
from vase.experiments.results import Results
from vase.experiments.rivals.analysis import memory, milliseconds, name_of, told
from vase.experiments.rivals.settings import RIVALS
from vase.experiments.tables import Spread, spread
from vase.files import read_json
from vase.plots.style import new_figure, styled

MARKERS = {"no": "o", "yes": "^", "all at once": "s"}
"""Whether a method is told where worlds change -> marker."""


def cost(results: Results) -> Figure:
    """Accuracy at the end against memory beyond the weights, and forgetting against the time of a step.

    Times on the first stream are those of the benchmark of all methods on one processor, if its file lies beside the
    results: runs may have been trained on different ones.
    """
    first = results.experiment.name == RIVALS.name and results.preset == "laptop"  # what the benchmark measures
    costs = _benchmark(results.folder.parents[1] / "speed" / "rivals.json") if first else None
    with styled():
        figure = new_figure(13, 5.6)
        left, right = figure.subplots(1, 2)
        handles = []
        for number, (condition, runs) in enumerate(results.finished):
            look: dict[str, Any] = {
                "marker": MARKERS[told(condition)],
                "color": "black" if condition.name == OURS else f"C{number % 10}",
                "fillstyle": "full" if number < 10 or condition.name == OURS else "none",
            }
            end, lost = (score(runs, "accuracy", None, "frozen") for score in (last, change))
            time = milliseconds(runs) if costs is None else [costs.get(condition.name)]
            for axis, across, scale, up in ((left, memory(condition, runs), 1e-6, end), (right, time, 1.0, lost)):
                _point(axis, spread(across, scale=scale), _percent(up), look)
            handles.append(left.plot([], [], linestyle="none", label=name_of(condition.name), **look)[0])
        left.set(xlabel="memory beyond the weights (MB)", ylabel="identity at the end (%)", xscale="log")
        unit = "ms" if costs is None else "relative to a fine-tuned VAE"
        right.set(xlabel=f"time of a step ({unit})", ylabel="change of identity after a world (%)")
        figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize="small")
    return figure


def _benchmark(path: Path) -> dict[str, float] | None:
    """Condition -> time of a step, as `python -m benchmarks.speed rivals` measured it; None without its file."""
    if not path.exists():
        return None
    return {row["condition"]: row["relative to fine-tuned VAE"] for row in read_json(path)["parts"]["rivals"]["rows"]}


def _percent(values: Numbers) -> Spread:
    return spread(values, scale=100)


def _point(axis: Axes, across: Spread, up: Spread, look: dict[str, Any]) -> None:
    """A method as a point with the standard error of its height; nothing if it was not measured."""
    if across.mean is not None and up.mean is not None:
        axis.errorbar(across.mean, up.mean, yerr=up.error or 0.0, linestyle="none", capsize=2, **look)
