"""Tables of ambiguous images: where the boundary between two worlds lies, and how context moves it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from vase.experiments.common.conditions import label
from vase.experiments.common.earlier import earlier_preset
from vase.experiments.results import Result, Results
from vase.experiments.tables import NONE, Entry, Spread, Table, spread

TABLE_COUNTS = (58, 51, 45, 38, 32, 26, 19, 13, 6)
"""Ambiguous images in a batch of 64 that tables report: from 10 % to 90 % real images."""


def crossing(x: Float[np.ndarray, " T"], y: Float[np.ndarray, " T"], level: float) -> float | None:
    """Where a curve that begins above a level first comes down to it, by linear interpolation; None if it does not.

    >>> crossing(np.array([0.0, 1.0]), np.array([1.0, 0.0]), 0.25)
    0.75
    """
    below = np.flatnonzero(y <= level)
    if not len(below) or y[0] < level:
        return None
    i = int(below[0])
    if i == 0:
        return float(x[0])
    share = (y[i - 1] - level) / (y[i - 1] - y[i])
    return float(x[i - 1] + share * (x[i] - x[i - 1]))


def width(x: Float[np.ndarray, " T"], y: Float[np.ndarray, " T"]) -> float | None:
    """How much of x a falling curve takes from 0.9 to 0.1; None if it does not cross both."""
    start, end = crossing(x, y, 0.9), crossing(x, y, 0.1)
    return None if start is None or end is None else end - start


def curves(found: dict[str, Any], world: int, counts: Sequence[int] = TABLE_COUNTS) -> Float[np.ndarray, "counts T"]:
    """The probability of the first world along the weight, for some numbers of images among real ones of a world."""
    every = dict(zip(found["ambiguous"], found["company"][found["worlds"][world]], strict=True))
    return np.array([every[count] for count in counts])


def batch_means(found: dict[str, Any], world: int) -> Float[np.ndarray, "counts T"]:
    """The same by the paper's rule: the mean of q(s|x) over the whole batch."""
    shares = np.array(TABLE_COUNTS)[:, None] / found["batch"]
    return shares * np.asarray(found["alone"]) + (1 - shares) * found["real"][found["worlds"][world]]


def boundaries(found: dict[str, Any], world: int, counts: Sequence[int] = TABLE_COUNTS) -> list[float | None]:
    """Mixing weights at which the first world's probability is one half; None where that is nowhere in the range."""
    x = np.asarray(found["weights"])
    return [crossing(x, curve, 0.5) for curve in curves(found, world, counts)]


def widths(found: dict[str, Any], world: int) -> list[float | None]:
    """How much of the range the fall from 0.9 to 0.1 takes; None where the curve does not cross both."""
    x = np.asarray(found["weights"])
    return [width(x, curve) for curve in curves(found, world)]


def perception(results: Results) -> Table:
    """How sharp the boundary is, and how context moves it."""
    rows = tuple(
        (f"{prefix}{run.seed}" if prefix else run.seed, *_perceived(run))
        for prefix, runs in _conditions(results)
        for run in runs
    )
    columns = (
        *("seed", "environments", "false alarms", "0.9 → 0.1 (%)", "contexts that cross both"),
        *("0.9 → 0.1, one pair (%)", "boundary, 10 % faces (%)", "boundary, 90 % faces (%)", "moved by (%)"),
        "monotonic",
    )
    notes = (
        "Mixing weight from 0 (faces) to 100 % (inverse Fashion). 0.9 → 0.1: how much of it the probability of faces "
        "takes to fall, mean and standard deviation over the contexts of the next table; one pair: median over single "
        "pairs of images without context. boundary: where the probability is one half, among 10 % and 90 % real "
        f"faces; – if nowhere. monotonic: it never goes back as faces become more.{earlier_preset(results)}",
    )
    return Table("Ambiguity: categorical perception", columns, rows, notes)


def _conditions(results: Results) -> list[tuple[str, list[Result]]]:
    """What distinguishes the rows of a condition (nothing if there is only one), and its runs."""
    several = len(results.finished) > 1
    return [(f"{label(condition.name)}: " if several else "", runs) for condition, runs in results.finished]


def _perceived(run: Result) -> tuple[Entry, ...]:
    found = run.analysis
    if not found:
        return (NONE,) * 9
    wide = [*widths(found, 0), *widths(found, 1)]
    places = boundaries(found, 0)
    known = [place for place in places if place is not None]
    first, last = places[0], places[-1]
    moved = None if first is None or last is None else last - first
    steady = len(known) == len(places) and all(np.diff(known) >= 0)
    return (
        run.summary["environments"],
        run.summary["false_alarms"],
        spread(wide, scale=100),
        f"{sum(w is not None for w in wide)} of {len(wide)}",
        *map(_percent, (found["pairs"]["width"], first, last, moved)),
        "yes" if steady else "no",
    )


def context(results: Results) -> Table:
    """Where the boundary lies and how wide it is, by number and world of the real images in the batch."""
    rows = tuple(
        (f"{prefix}{name}", *entries) for prefix, runs in _conditions(results) for name, *entries in _moved(runs)
    )
    seeds = max(len(runs) for _, runs in results.finished)
    columns = (
        *("real images (%)", "boundary, faces (%)", "boundary, Fashion (%)", "0.9 → 0.1, faces (%)"),
        *("0.9 → 0.1, Fashion (%)", "batch mean, faces (%)", "batch mean, Fashion (%)"),
    )
    notes = (
        "Ambiguous images among real faces or real inverse Fashion. batch mean: the boundary if a batch is judged by "
        "the mean of q(s|x) over all its images, as in the paper's algorithm; – where real images outvote mixtures. "
        "boundary: mixing weight, from 0 (faces) to 100 % "
        "(inverse Fashion), at which the probability of faces is one half; mean ± standard deviation over the "
        f"{seeds} seed{'s' * (seeds > 1)}.",
    )
    return Table("Ambiguity: effect of context", columns, rows, notes)


def _moved(runs: list[Result]) -> list[tuple[Entry, ...]]:
    """A row without context, and one for each of TABLE_COUNTS."""
    found = [run.analysis for run in runs if run.analysis]
    if not found:
        return [(NONE,) * 7]
    x = [np.asarray(one["weights"]) for one in found]
    alone = [np.asarray(one["alone"]) for one in found]
    without = _spread(crossing(w, y, 0.5) for w, y in zip(x, alone, strict=True))
    wide = _spread(width(w, y) for w, y in zip(x, alone, strict=True))
    rows: list[tuple[Entry, ...]] = [("none", without, without, wide, wide, without, without)]
    for number, count in enumerate(TABLE_COUNTS):
        share = f"{100 * (1 - count / found[0]['batch']):.0f}"
        places = [_spread(boundaries(one, world)[number] for one in found) for world in (0, 1)]
        ranges = [_spread(widths(one, world)[number] for one in found) for world in (0, 1)]
        means = [
            _spread(crossing(w, batch_means(one, world)[number], 0.5) for w, one in zip(x, found, strict=True))
            for world in (0, 1)
        ]
        rows.append((share, *places, *ranges, *means))
    return rows


def _spread(values: Any) -> Spread:
    return spread(list(values), scale=100)


def _percent(value: float | None) -> str:
    return NONE if value is None else f"{100 * value:.1f}".replace("-", "−")
