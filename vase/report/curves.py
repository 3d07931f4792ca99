"""Curves through training, from saved rows alone: stages, atypicality, probes (the paper's Figure 2, bottom)."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from vase.probes import Metric, forgetting, maximum
from vase.report.record import Record, Span, title
from vase.report.style import GREY, INK, LATENT_COLOURS, new_figure, styled, tint, world_colour

_LINES = ("-", "--", "-.", ":")
_HIGHLIGHTED = len(LATENT_COLOURS)


def atypicality(record: Record) -> Figure:
    """α_n of every latent through training, with λ, the true switches and the announced ones (Eq. 4)."""
    with styled():
        figure = new_figure(10, 4.6)
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[1, 5])
        draw_stages(top, record)
        draw_atypicality(bottom, record)
        label_steps(bottom, record)
    return figure


def probe_curves(record: Record) -> Figure:
    """What probes can read from the representation: class of each world, and position where objects move."""
    panels = [metric for metric in ("accuracy", _position_metric(record)) if record.scores(metric)]
    with styled():
        figure = new_figure(10, 1.6 + 2.4 * max(1, len(panels)))
        axes = figure.subplots(1 + max(1, len(panels)), 1, sharex=True, height_ratios=[1] + [3] * max(1, len(panels)))
        draw_stages(axes[0], record)
        for axis, metric in zip(axes[1:], panels, strict=False):
            draw_scores(axis, record, metric)
        if not panels:
            _say(axes[1], "this run has no probe rows")
        label_steps(axes[-1], record)
    return figure


def draw_stages(axis: Axes, record: Record) -> None:
    """Two strips: the world the stream showed, and the environment the learner inferred."""
    numbers = {world: i for i, world in enumerate(record.worlds)}
    for span in record.visits:
        _bar(axis, 1, span, world_colour(numbers[span.name]), title(span.name), record.total)
    for span in record.environments:
        world = record.world_of.get(span.name)
        colour = world_colour(numbers[world]) if world is not None else GREY
        _bar(axis, 0, span, colour, f"environment {span.name}", record.total, short=str(span.name))
    axis.set_yticks([1, 0], ["stream", "inferred"])
    axis.set_ylim(-0.5, 1.5)
    axis.set_xlim(0, record.total)
    axis.tick_params(length=0, labelbottom=False)
    axis.spines[:].set_visible(False)


def _bar(axis: Axes, y: float, span: Span, colour: str, text: str, total: int, short: str = "") -> None:
    axis.barh(
        y, span.end - span.start, 0.86, left=span.start, color=tint(colour, 0.55), edgecolor="white", linewidth=1.2
    )
    figure_width = axis.get_figure(root=True).get_figwidth()  # type: ignore[union-attr]
    room = 0.8 * figure_width * (span.end - span.start) / max(total, 1) * 72 / (8 * 0.62)
    fitting = [label for label in (text, text.replace(" ", "\n"), short) if _widest(label) < room]
    fitting = [label for label in fitting if label.count("\n") <= 1]
    if fitting:
        axis.text(
            (span.start + span.end) / 2,
            y,
            fitting[0],
            ha="center",
            va="center",
            fontsize=8,
            linespacing=0.95,
            clip_on=True,
        )


def _widest(label: str) -> int:
    return max(len(line) for line in label.split("\n"))


def shade(axis: Axes, record: Record) -> None:
    """Tint each stage with its world's colour, with thin lines at the true switches."""
    numbers = {world: i for i, world in enumerate(record.worlds)}
    for span in record.visits:
        axis.axvspan(span.start, span.end, color=tint(world_colour(numbers[span.name]), 0.10), linewidth=0, zorder=0)
    for step in record.true_switches:
        axis.axvline(step, color=INK, linewidth=0.7, zorder=1)
    axis.set_xlim(0, record.total)


def label_steps(axis: Axes, record: Record) -> None:
    """Name the shared x axis."""
    axis.set_xlabel("training step (batches seen)")
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axis.xaxis.set_major_locator(MaxNLocator(7, integer=True))
    axis.set_xlim(0, record.total)


def draw_atypicality(axis: Axes, record: Record, *, legend: bool = True) -> None:
    """One line per latent; those that crossed λ are coloured and named, the rest are grey."""
    shade(axis, record)
    axis.set_title("Atypicality of each latent")
    axis.set_ylabel("α (nats)")
    steps, alpha = record.atypicality()
    if not len(steps):
        _say(axis, "this run has no step rows")
        return
    floor = max(1e-3, float(np.nanmin(alpha, initial=1.0)))
    alpha = np.clip(alpha, floor, None)
    above = (alpha > record.threshold).sum(axis=0)
    crossing = [int(n) for n in np.argsort(-above, kind="stable")[:_HIGHLIGHTED] if above[n] > 0]
    for latent in range(alpha.shape[1]):
        if latent not in crossing:
            axis.plot(steps, alpha[:, latent], color=GREY, linewidth=0.5, alpha=0.45, zorder=2)
    handles: list[Line2D] = []
    for latent in sorted(crossing):
        colour = LATENT_COLOURS[crossing.index(latent)]
        handles += axis.plot(steps, alpha[:, latent], color=colour, linewidth=1.0, zorder=3, label=f"z{latent}")
    handles.append(axis.axhline(record.threshold, color=INK, linestyle="--", linewidth=1.1, zorder=4, label="λ"))
    axis.set_yscale("log")
    ceiling = 3 * max(record.threshold, float(np.nanmax(alpha)))
    axis.set_ylim(floor * 0.8, ceiling)
    handles += _draw_switches(axis, record, ceiling)
    if legend:
        axis.legend(handles=handles, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.4)


def _draw_switches(axis: Axes, record: Record, ceiling: float) -> list[Line2D]:
    """Triangles at announced switches: filled for a new environment, hollow for a return."""
    handles = []
    for is_new, face, label in ((True, INK, "new environment"), (False, "white", "return")):
        steps = [int(row["step"]) for row in record.switches if bool(row["is_new"]) is is_new]
        if steps:
            style = {"linestyle": "none", "marker": "v", "color": INK, "markerfacecolor": face, "markersize": 6.5}
            handles += axis.plot(steps, [ceiling / 1.5] * len(steps), zorder=5, label=label, **style)  # type: ignore[arg-type]
    return handles


def draw_scores(axis: Axes, record: Record, metric: Metric) -> None:
    """Scores of each world's probe: bold while the learner trains on that world, thin elsewhere, faint before."""
    shade(axis, record)
    stages = record.stages
    change, best = forgetting(record.rows, stages, metric), maximum(record.rows, stages, metric)
    handles = []
    for world, (steps, values) in record.scores(metric).items():
        number = record.worlds.index(world) if world in record.worlds else len(record.worlds)
        colour, line = world_colour(number), _LINES[number // 12 % len(_LINES)]
        spans = [span for span in record.visits if span.name == world]
        first = spans[0].start if spans else 0
        before = steps <= first
        axis.plot(steps[before], values[before], color=colour, linewidth=1.2, alpha=0.7, linestyle=":", zorder=2)
        later = steps >= max(steps[before], default=first)
        axis.plot(steps[later], values[later], color=colour, linewidth=1.1, linestyle=line, zorder=3)
        for span in spans:
            during = (steps >= span.start) & (steps <= span.end)
            axis.plot(steps[during], values[during], color=colour, linewidth=2.6, solid_capstyle="round", zorder=4)
        text = title(world) + _numbers(metric, best.worlds.get(world), change.worlds.get(world))
        handles.append(Line2D([], [], color=colour, linewidth=2.2, linestyle=line, label=text))
    modes = sorted({row["mode"] for row in record.of("probe") if "mode" in row})
    names = {"accuracy": "Object identity: accuracy", "pixels": "Object position: error in pixels"}
    axis.set_title(
        names.get(metric, "Object position: mean squared error") + f" ({', '.join(modes)} probes)" * bool(modes)
    )
    axis.set_ylabel({"accuracy": "accuracy", "pixels": "pixels (RMS)"}.get(metric, "MSE"))
    if metric == "accuracy":
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0%}"))
    else:
        axis.set_ylim(bottom=0)
    axis.legend(handles=handles, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.2, labelspacing=0.9)


def _numbers(metric: Metric, best: float | None, change: float | None) -> str:
    """Best score during, and change afterwards, as the legend prints them."""
    if best is None:
        return ""
    if metric == "accuracy":
        after = "" if change is None else f", then {100 * change:+.1f} points".replace("-", "−")
        return f"\nbest {best:.1%}{after}"
    if metric == "pixels":
        return f"\nbest {best:.2f} px" + ("" if change is None else f", then {change:+.2f} px".replace("-", "−"))
    return f"\nbest {best:.1e}" + ("" if change is None else f", then {change:+.1e}")


def _position_metric(record: Record) -> Metric:
    return "pixels" if record.scores("pixels") else "mse"


def _say(axis: Axes, text: str) -> None:
    axis.text(0.5, 0.5, text, transform=axis.transAxes, ha="center", va="center", color=GREY)
