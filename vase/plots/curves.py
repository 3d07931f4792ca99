"""Curves through training, from saved rows alone: stages, atypicality, probes (the paper's Figure 2, bottom)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from vase.metrics.forgetting import Metric, Probes, forgetting, maximum, probe_rows
from vase.metrics.record import Period, Record
from vase.plots.style import GREY, INK, LATENT_COLOURS, new_figure, styled, tint, world_colour
from vase.worlds.spec import title
from vase.worlds.timeline import Span

_AXES: dict[Metric, tuple[str, str]] = {
    "accuracy": ("Object identity: accuracy", "accuracy"),
    "pixels": ("Object position: error in pixels", "pixels (RMS)"),
    "mse": ("Object position: mean squared error", "MSE"),
}
_TICKS = (0, 0.1, 0.3, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_ROOMY = 6  # worlds whose legend has two lines each; more are set in one line and smaller
_HIGHLIGHTED = len(LATENT_COLOURS)
_LASTING = 0.02  # share of the run that a latent must spend above λ to be named


def atypicality(record: Record) -> Figure:
    """α_n of every latent through training, with λ, the true switches and the announced ones (Eq. 4)."""
    with styled():
        figure = new_figure(10, 4.6)
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[1, 5])
        draw_stages(top, record, 8)
        draw_atypicality(bottom, record)
        label_steps(bottom, record)
    return figure


def probe_curves(record: Record) -> Figure:
    """What probes can read from the representation: class of each world, and position where objects move."""
    kinds: tuple[Probes, ...] = ("appendix", "frozen")
    found = [(metric, probes) for probes in kinds for metric in score_metrics(record, probes)]
    panels = max(1, len(found))
    with styled():
        figure = new_figure(10, 1.4 + 2.6 * panels)
        axes = figure.subplots(1 + panels, 1, sharex=True, height_ratios=[0.7] + [2.2] * panels)
        draw_stages(axes[0], record, 6.2)
        for axis, (metric, probes) in zip(axes[1:], found, strict=False):
            draw_scores(axis, record, metric, probes)
        if not found:
            _say(axes[1], "this run has no probe rows")
        label_steps(axes[-1], record)
    return figure


def score_metrics(record: Record, probes: Probes = "appendix") -> list[Metric]:
    """What the probes of this run reported: accuracy, and the position's error (in pixels if they are known)."""
    position: Metric = "pixels" if record.scores("pixels", probes=probes) else "mse"
    metrics: tuple[Metric, ...] = ("accuracy", position)
    return [metric for metric in metrics if record.scores(metric, probes=probes)]


def draw_stages(axis: Axes, record: Record, width: float) -> None:
    """Two strips: the world the stream showed, and the environment the learner inferred; `width` in inches."""
    numbers = {world: i for i, world in enumerate(record.worlds)}
    inch = width / max(1, record.total)
    for span in record.visits:
        _bar(axis, 1, span, world_colour(numbers[span.name]), (title(span.name),), inch)
    for period in record.environments:
        world, s = record.world_of.get(period.environment), period.environment
        colour = world_colour(numbers[world]) if world is not None else GREY
        _bar(axis, 0, period, colour, (f"environment {s}", str(s)), inch)
    axis.set_yticks([1, 0], ["stream", "inferred"])
    axis.set_ylim(-0.5, 1.5)
    axis.set_xlim(0, max(1, record.total))
    axis.tick_params(length=0, labelbottom=False)
    axis.spines[:].set_visible(False)


def _bar(axis: Axes, y: float, span: Span | Period, colour: str, texts: tuple[str, ...], inch: float) -> None:
    """One bar with the first text that fits, on one line or, in smaller letters, on two."""
    length = span.end - span.start
    axis.barh(y, length, 0.86, left=span.start, color=tint(colour, 0.55), edgecolor="white", linewidth=1.2)
    for text, size in ((text, size) for text in texts for size in (8.0, 6.0)):
        label = text if size == 8 else _halves(text)
        if max(map(len, label.split("\n"))) * size * 0.62 / 72 < length * inch:
            where = ((span.start + span.end) / 2, y)
            axis.text(*where, label, ha="center", va="center", fontsize=size, linespacing=0.95)
            return


def _halves(text: str) -> str:
    """Break a text at the space nearest to its middle."""
    spaces = [i for i, letter in enumerate(text) if letter == " "]
    middle = min(spaces, key=lambda i: abs(i - len(text) / 2), default=None)
    return text if middle is None else f"{text[:middle]}\n{text[middle + 1 :]}"


def shade(axis: Axes, record: Record) -> None:
    """Tint each stage with its world's colour, with thin lines at the true switches."""
    numbers = {world: i for i, world in enumerate(record.worlds)}
    for span in record.visits:
        axis.axvspan(span.start, span.end, color=tint(world_colour(numbers[span.name]), 0.10), linewidth=0, zorder=0)
    for step in record.true_switches:
        axis.axvline(step, color=INK, linewidth=0.7, zorder=1)
    axis.set_xlim(0, max(1, record.total))


def label_steps(axis: Axes, record: Record) -> None:
    """Name the shared x axis."""
    axis.set_xlabel("training step (batches seen)")
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axis.xaxis.set_major_locator(MaxNLocator(7, integer=True))
    axis.set_xlim(0, max(1, record.total))


def draw_atypicality(axis: Axes, record: Record) -> None:
    """One line per latent on a square-root scale; those that stayed above λ for a while are coloured and named."""
    shade(axis, record)
    axis.set_title("Atypicality of each latent")
    axis.set_ylabel("α (nats, square-root scale)")
    steps, alpha = record.atypicality()
    if not len(steps):
        _say(axis, "this run has no atypicality")
        return
    above = (alpha > record.threshold).mean(axis=0)
    lasting = above > (_LASTING if (above > _LASTING).any() else 0)
    crossing = [int(n) for n in np.argsort(-above, kind="stable")[:_HIGHLIGHTED] if lasting[n]]
    for latent in range(alpha.shape[1]):
        if latent not in crossing:
            axis.plot(steps, alpha[:, latent], color=GREY, linewidth=0.5, alpha=0.6, zorder=2)
    handles: list[Line2D] = []
    for latent in sorted(crossing):
        colour = LATENT_COLOURS[crossing.index(latent)]
        handles += axis.plot(steps, alpha[:, latent], color=colour, linewidth=1.0, zorder=3, label=f"z{latent}")
    if len(crossing) < alpha.shape[1]:
        handles.append(Line2D([], [], color=GREY, linewidth=0.8, label="other latents"))
    handles.append(axis.axhline(record.threshold, color=INK, linestyle="--", linewidth=1.1, zorder=4, label="λ"))
    top = 1.35 * max(2 * record.threshold, float(np.nanmax(alpha)))
    axis.set_yscale("function", functions=(lambda a: np.sqrt(np.clip(a, 0, None)), np.square))
    axis.set_ylim(0, top)
    axis.set_yticks([tick for tick in _TICKS if tick < top])
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    handles += _draw_switches(axis, record, 0.88 * top)
    axis.legend(handles=handles, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.4)


def _draw_switches(axis: Axes, record: Record, height: float) -> list[Line2D]:
    """Triangles at announced switches: filled for a new environment, hollow for a return."""
    handles = []
    for is_new, face, label in ((True, INK, "new environment"), (False, "white", "return")):
        steps = [int(row["step"]) for row in record.switches if bool(row["is_new"]) is is_new]
        if steps:
            look: dict[str, Any] = {"marker": "v", "markersize": 6.5, "markerfacecolor": face, "zorder": 5}
            handles += axis.plot(steps, [height] * len(steps), linestyle="none", color=INK, label=label, **look)
    return handles


def draw_scores(axis: Axes, record: Record, metric: Metric, probes: Probes = "appendix") -> None:
    """Scores of each world's probe: bold while the learner trains on that world, thin elsewhere, faint before."""
    shade(axis, record)
    stages = record.stages
    change, best = (score(record.rows, stages, metric, probes=probes) for score in (forgetting, maximum))
    series = record.scores(metric, probes=probes)
    crowded = len(series) > _ROOMY
    handles = []
    for world, (steps, values) in series.items():
        number = record.worlds.index(world) if world in record.worlds else len(record.worlds)
        colour = world_colour(number)
        spans = [span for span in record.visits if span.name == world]
        first = spans[0].start if spans else 0
        before = steps <= first
        axis.plot(steps[before], values[before], color=colour, linewidth=1.2, alpha=0.7, linestyle=":", zorder=2)
        later = steps >= max(steps[before], default=first)
        marker = "" if probes == "appendix" else "o"  # seldom scored: one point is no line
        axis.plot(steps[later], values[later], color=colour, linewidth=1.1, marker=marker, markersize=4, zorder=3)
        for span in spans:
            during = (steps >= span.start) & (steps <= span.end)
            axis.plot(steps[during], values[during], color=colour, linewidth=2.6, solid_capstyle="round", zorder=4)
        numbers = _numbers(metric, best.worlds.get(world), change.worlds.get(world))
        text = f"{title(world)}{', ' if crowded else chr(10)}{numbers}" if numbers else title(world)
        handles.append(Line2D([], [], color=colour, linewidth=2.2, label=text))
    modes = sorted({row["mode"] for row in probe_rows(record.rows, probes) if "mode" in row})
    name, unit = _AXES[metric]
    axis.set_title(name + f" ({', '.join(modes)} probes)" * bool(modes))
    axis.set_ylabel(unit)
    if metric == "accuracy":
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.3g} %"))
    else:
        axis.set_ylim(bottom=0)
    room = {"fontsize": 6.5, "labelspacing": 0.35} if crowded else {"labelspacing": 0.9}
    axis.legend(handles=handles, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.2, **room)


def _numbers(metric: Metric, best: float | None, change: float | None) -> str:
    """Best score during, and change afterwards, as the legend prints them."""
    if best is None:
        return ""
    form, unit, scale = {"accuracy": (".1f", " %", 100), "pixels": (".2f", " px", 1)}.get(metric, (".1e", "", 1))
    text = f"best {scale * best:{form}}{unit}"
    if change is not None:
        text += f", then {scale * change:+{form}}" + (" points" if metric == "accuracy" else unit)
    return text.replace("-", "−")


def _say(axis: Axes, text: str) -> None:
    axis.text(0.5, 0.5, text, transform=axis.transAxes, ha="center", va="center", color=GREY)
