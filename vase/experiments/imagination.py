"""Imagination (Figure 4C): moving Fashion → MNIST → moving MNIST; digits that never moved are imagined to move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from vase.experiments.analysis import detection, disentanglement, forgetting_table, note, quality, sharing
from vase.experiments.bands import SHADE, band
from vase.experiments.study import THREE_SEEDS, Condition, Experiment, Result, Results
from vase.experiments.tables import Entry, Table, spread
from vase.metrics.record import title
from vase.plots.curves import label_steps, shade
from vase.plots.pictures import draw_rows
from vase.plots.style import GREY, INK, new_figure, styled

PASSIVE, IMAGINATION_ON = "passive", "imagination"
Measure = Callable[[Result], float | None]

# ------------------------------------------------------------------------------------------------ numbers of one run


def looks_ahead(run: Result) -> list[dict[str, Any]]:
    """The scores on the world to come, while the static one was trained on."""
    return [row for row in run.of("imagination") if "unmet" in row]


def final(run: Result, name: str) -> float | None:
    """The last of these scores: `accuracy` by what was met, or its `ceiling` by the world itself."""
    rows = looks_ahead(run)
    return float(rows[-1][name]) if rows else None


def share(part: float | None, whole: float | None) -> float | None:
    """part / whole, where both are known."""
    return None if part is None or not whole else part / whole


def probe(run: Result, world: str, metric: str, *, after: int = 0, until: int | None = None) -> list[float]:
    """Scores of the appendix's probe of a world at steps after < t <= until."""
    return [
        float(row[metric])
        for row in run.of("probe")
        if row["world"] == world and metric in row and after < row["step"] and (until is None or row["step"] <= until)
    ]


def last_probe(number: int, *, static: bool, metric: str = "accuracy") -> Measure:
    """The score of the world of a stage, as the static stage (the second) ended or at the end of the run."""

    def measure(run: Result) -> float | None:
        stages = run.record.stages
        until = stages[0][1] + stages[1][1] if static else None
        found = probe(run, stages[number][0], metric, until=until)
        return found[-1] if found else None

    return measure


def first_in_its_stage(run: Result) -> float | None:
    """The first score of the third world's probe in its own stage."""
    stages = run.record.stages
    found = probe(run, stages[2][0], "accuracy", after=stages[0][1] + stages[1][1])
    return found[0] if found else None


def way(moment: str) -> Measure:
    """Distance from z* as the static stage ended: root of the mean square over the latents aimed at."""

    def measure(run: Result) -> float | None:
        rows = [row for row in run.of("imagination") if moment in row]
        return float(np.sqrt(np.mean(np.square(rows[-1][moment])))) if rows else None

    return measure


_UNMET_END, _MET_END = last_probe(2, static=False), last_probe(1, static=False)
MEASURES: tuple[tuple[str, Measure, float, int, str], ...] = (
    ("moving MNIST, classifier of what was met (%)", lambda run: final(run, "accuracy"), 100, 1, "gain ≥ 25"),
    ("the same classifier on real moving MNIST (%)", lambda run: final(run, "ceiling"), 100, 1, ""),
    ("what was met / real (%)", lambda r: share(final(r, "accuracy"), final(r, "ceiling")), 100, 1, "≥ 85"),
    ("appendix probe of moving MNIST (%)", last_probe(2, static=True), 100, 1, ""),
    ("its position error (pixels)", last_probe(2, static=True, metric="pixels"), 1, 2, ""),
    ("appendix probe of MNIST (%)", last_probe(1, static=True), 100, 1, "gain ≥ −1"),
    ("appendix probe of moving Fashion (%)", last_probe(0, static=True), 100, 1, "gain ≥ −1"),
    ("distance from z*, before acting", way("before"), 1, 2, ""),
    ("distance from z*, after acting", way("after"), 1, 2, ""),
    ("later: moving MNIST, first score in its stage (%)", first_in_its_stage, 100, 1, ""),
    ("later: moving MNIST, end of the run (%)", _UNMET_END, 100, 1, ""),
    ("what was met / end of the run (%)", lambda r: share(final(r, "accuracy"), _UNMET_END(r)), 100, 1, ""),
    ("later: MNIST, end of the run (%)", _MET_END, 100, 1, ""),
    ("later: moving Fashion, end of the run (%)", last_probe(0, static=False), 100, 1, ""),
    ("environments", lambda run: run.summary["environments"], 1, 1, ""),
    ("false alarms", lambda run: run.summary["false_alarms"], 1, 1, ""),
)
"""(what, of a run, scale, digits, the bar it has to pass)."""


def imagination_table(results: Results) -> Table:
    """With imagination and without: at the end of the static stage, and what became of it later."""
    runs = {condition: {run.seed: run for run in results.of(condition)} for condition in (PASSIVE, IMAGINATION_ON)}
    rows: list[tuple[Entry, ...]] = []
    for name, measure, scale, digits, bar in MEASURES:
        found = {condition: {seed: measure(run) for seed, run in some.items()} for condition, some in runs.items()}
        gains = [_difference(found[IMAGINATION_ON].get(seed), value) for seed, value in found[PASSIVE].items()]
        spreads = (
            spread(list(values), scale=scale, digits=digits) for values in (*map(_values, found.values()), gains)
        )
        rows.append((name, *spreads, bar or "–"))
    seeds = ", ".join(f"{len(some)} {condition}" for condition, some in runs.items())
    notes = (
        "At the end of the static MNIST stage, unless it says later. The first two classifiers have the size of the "
        "appendix's probes, learn during that stage only, and are tested on held-out moving MNIST; the first one "
        "learns from static digits and, with imagination, from as many that the policy moved. gain: imagination − "
        "passive, seed by seed. distance from z*: root of the mean square over the latents that the policy aims at.",
        f"Seeds: {seeds}. {note(results)}",
    )
    return Table(
        "Imagination: moving MNIST before it is met", ("", PASSIVE, IMAGINATION_ON, "gain", "bar"), tuple(rows), notes
    )


def _values(found: dict[int, float | None]) -> list[float | None]:
    return list(found.values())


def _difference(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a - b


# ------------------------------------------------------------------------------------------------ Figure 4C

_LOOKS: dict[str, dict[str, Any]] = {IMAGINATION_ON: {"color": INK}, PASSIVE: {"color": GREY}}


def figure4c(results: Results) -> Figure:
    """Accuracy on moving MNIST through training, with imagination and without, and what is imagined."""
    firsts = {condition: results.first(condition) for condition in _LOOKS}
    panels = _pictures(firsts)
    with styled():
        heights = [3.6, 0.5 + 0.55 * max(map(len, panels.values()))]
        figure = new_figure(13, sum(heights))
        grid = figure.add_gridspec(2, 1, height_ratios=heights)
        above, below = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
        left, right = above.subplots(1, 2, width_ratios=[1, 1.35])
        _draw_look_ahead(left, results)
        _draw_probe(right, results)
        for axis in (left, right):
            axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f}"))
            axis.set_ylim(bottom=0)
        left.set_ylabel("accuracy on moving MNIST (%)")
        for axis, (name, rows) in zip(
            np.ravel(below.subplots(1, len(panels), squeeze=False)), panels.items(), strict=True
        ):
            draw_rows(axis, rows)
            axis.set_title(name)
            axis.set_anchor("NW")
    return figure


def _draw_look_ahead(axis: Axes, results: Results) -> None:
    """Measure (ii): during the static stage, from what was met (bold) and from the world to come (dotted)."""
    record = results.first(IMAGINATION_ON).record
    shade(axis, record)
    handles = []
    for condition, look in _LOOKS.items():
        runs = results.of(condition)
        _draw_band(axis, [_series(looks_ahead(run), "accuracy") for run in runs], linewidth=2.2, **look)
        _draw_band(axis, [_series(looks_ahead(run), "ceiling") for run in runs], linewidth=1.1, linestyle=":", **look)
        text = f"{condition}, {len(runs)} seed{'s' * (len(runs) != 1)}"
        handles.append(Line2D([], [], linewidth=2.2, label=text, **look))
    handles.append(Line2D([], [], color=INK, linewidth=1.1, linestyle=":", label="trained on real moving MNIST"))
    label_steps(axis, record)
    axis.set_xlim(record.visits[1].start, record.visits[1].end)
    axis.set_title(f"A  Classifier trained on what was met in {title(record.stages[1][0])}")
    axis.legend(handles=handles, loc="best")


def _draw_probe(axis: Axes, results: Results) -> None:
    """Measure (i): the appendix's probe of the moving digits along the whole stream."""
    record = results.first(IMAGINATION_ON).record
    shade(axis, record)
    world = record.stages[2][0]
    for condition, look in _LOOKS.items():
        scores = [run.record.scores("accuracy") for run in results.of(condition)]
        _draw_band(axis, [one[world] for one in scores if world in one], linewidth=1.6, **look)
    label_steps(axis, record)
    axis.set_title(f"B  The appendix's probe, trained on {title(world)}")
    for span in record.visits:
        where = ((span.start + span.end) / 2, 0.02)
        axis.text(*where, title(span.name), ha="center", va="bottom", fontsize=8, transform=axis.get_xaxis_transform())


def _series(rows: Sequence[dict[str, Any]], name: str) -> tuple[list[int], list[float]]:
    return [row["step"] for row in rows], [row[name] for row in rows]


def _draw_band(axis: Axes, series: Sequence[tuple[Any, Any]], *, color: str, **look: Any) -> None:
    """Mean over seeds, with one standard deviation around it."""
    found = band(series)
    axis.fill_between(
        found.steps, found.mean - found.std, found.mean + found.std, color=color, alpha=SHADE, linewidth=0
    )
    axis.plot(found.steps, found.mean, color=color, zorder=3, **look)


def _pictures(firsts: dict[str, Result]) -> dict[str, dict[str, np.ndarray]]:
    """Panels of rows of pictures: what was imagined, and what is made of digits that really move."""
    met, unmet = (world for world, _ in firsts[PASSIVE].record.stages[1:3])
    found = {condition: run.pictures for condition, run in firsts.items()}
    return {
        "C  Imagination at the end of the static stage": {
            "digit": found[IMAGINATION_ON][f"{met}: met"],
            "imagined: its z, moved to z*": found[IMAGINATION_ON][f"{met}: imagined"],
            "what the action makes of it": found[IMAGINATION_ON][f"{met}: acted"],
        },
        f"D  {title(unmet)}, before any of it is met": {
            "held-out image": found[PASSIVE][f"{met}: {unmet}"],
            **{
                f"reconstructed, {condition}": pictures[f"{met}: {unmet} reconstructed"]
                for condition, pictures in reversed(found.items())
            },
        },
    }


IMAGINATION = Experiment(
    name="imagination",
    title="Figure 4C: digits that never moved are imagined to move, before they do",
    stream="moving-fashion,mnist,moving-mnist",
    steps={"laptop": 3_000, "paper": 45_000},
    conditions=(
        Condition(PASSIVE, seeds=THREE_SEEDS, shown=True),
        Condition(IMAGINATION_ON, seeds=THREE_SEEDS, shown=True, options={"imagination": "mnist"}),
    ),
    tables={
        "imagination": imagination_table,
        "forgetting": forgetting_table,
        "detection": detection,
        "disentanglement": disentanglement,
        "quality": quality,
        "sharing": sharing,
    },
    figures={"figure4c": figure4c},
    options={"anticipation": "mnist>moving-mnist"},
    values={
        "paper": {
            "capacity.gamma": 200,
            "capacity.c_max": 35,
            "capacity.ramp_steps": 142_857,
            "mask.threshold": 0.7,
            "environments.kappa": 1.5,
            "dreaming.tau": 500,
        }
    },
    albums=(),
)
