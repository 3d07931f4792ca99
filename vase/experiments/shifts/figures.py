"""Figures of the shift benchmark: delay against false alarms, and the Rand index of every stream."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from vase.experiments.shifts.analysis import Scores, curve
from vase.experiments.shifts.settings import RATES
from vase.metrics.detection import MAX_DELAY
from vase.plots.style import GREY, INK, WORLD_COLOURS, new_figure, styled, world_colour

LEAST = 0.1
"""Where no false alarm at all is drawn."""
MARKERS = "os^D"
"""The next one when all colours are in use."""


def delay_figure(scores: Sequence[Scores]) -> Figure:
    """Mean delay against false alarms, a line per detector over its thresholds."""
    with styled():
        figure = new_figure(8.0, 4.6)
        axis = figure.subplots()
        for number, one in enumerate(scores):
            points = sorted((max(alarms, LEAST), delay) for alarms, delay in curve(one))
            if points:
                x, y = zip(*points, strict=True)
                style = "--" if one.detector.endswith("frozen") else ":" if one.detector == "dummy" else "-"
                marker = MARKERS[number // len(WORLD_COLOURS) % len(MARKERS)]
                axis.plot(x, y, style, marker=marker, markersize=3.5, color=world_colour(number), label=one.title)
        axis.set_xscale("log")
        axis.set_ylim(0, MAX_DELAY * 1.05)
        axis.set_xlabel(f"false alarms per 10,000 stationary batches ({LEAST:g}: none)")
        axis.set_ylabel(f"mean delay in batches, missed changes as {MAX_DELAY}")
        axis.set_title("Delay against false alarms")
        if axis.lines:
            figure.legend(loc="outside right upper")
    return figure


def rand_figure(scores: Sequence[Scores]) -> Figure:
    """The adjusted Rand index of every stream and seed, a row per detector; the line is the mean."""
    with styled():
        figure = new_figure(8.0, 0.8 + 0.32 * len(scores))
        axis = figure.subplots()
        for place, one in enumerate(scores):
            rands = np.array([score.rand for score in one.of(RATES[0])])
            jitter = np.random.default_rng(0).uniform(-0.25, 0.25, len(rands))
            axis.plot(rands, place + jitter, "o", markersize=2.5, alpha=0.5, color=world_colour(place))
            if len(rands):
                axis.vlines(rands.mean(), place - 0.35, place + 0.35, color=INK, linewidth=2)
        axis.axvline(0.9, color=GREY, linewidth=0.8, linestyle=":")
        axis.set_yticks(range(len(scores)), [one.title for one in scores])
        axis.set_ylim(len(scores) - 0.5, -0.5)
        axis.set_xlabel("adjusted Rand index between worlds and environments")
        axis.set_title("Every stream of the report half")
    return figure


FIGURES = {"delay": delay_figure, "rand": rand_figure}
