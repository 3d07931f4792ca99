"""Every ordering of the paper's Table 1 by how much is forgotten: does it come out the same way here?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations
from statistics import mean, stdev
from typing import NamedTuple

from vase.experiments.ablation.analysis import PAPER, forgotten
from vase.experiments.common.conditions import HALVES, LETTERS, printed, split
from vase.experiments.common.numbers import note
from vase.experiments.results import Results
from vase.experiments.tables import NONE, Entry, Reported, Table, spread, standard_errors

REPLICAS = 20
"""Runs of each condition in the paper, which does not say what its ± is; it is taken for their standard deviation."""
RESOLVED = 2.0
"""Standard errors between two conditions of the paper from which on it orders them."""
LEVEL = 0.05
"""p-value of Welch's test, or of the paired one for twins, below which an ordering is clear here."""
_COLUMN_OF_PAPER = {"ID change (%)": 1, "position change (1e-4)": 3}
_KINDS = (
    "the same",
    "the same within noise",
    "the other way round within noise",
    "the other way round",
    "not measured",
)
BySeed = Mapping[int, float]


class Verdict(NamedTuple):
    """On one pair of conditions: one of _KINDS, or OPEN, and the cell of the table."""

    kind: str
    cell: str


OPEN = Verdict("not ordered by the paper", "open")
_MISSING = Verdict("not measured", NONE)


def orderings(results: Results) -> Table:
    """For each pair of conditions: whether the one that forgets more in the paper does so here."""
    rows, notes = list[tuple[Entry, ...]](), list[str]()
    for measure, by_condition, _ in forgotten(results, "frozen"):
        verdicts = {pair: _verdict(measure, pair, by_condition) for pair in _pairs()}
        rows += [_row(measure, half, letters, verdicts) for half in HALVES for letters in LETTERS]
        counts = Counter(verdict.kind for verdict in verdicts.values())
        ordered = len(verdicts) - counts[OPEN.kind]
        told = ", ".join(f"{counts[kind]} {kind}" for kind in _KINDS if counts[kind])
        notes.append(f"{measure}: the paper orders {ordered} of {len(verdicts)} pairs; here {told}.")
    columns = ("measure", "half", "condition", *(f"vs {printed(name)}" for name in LETTERS[:-1]), "vs entangled")
    notes = [
        "yes: of the two conditions the one that forgets more in the paper forgets more here, too; no: it forgets "
        "less. A question mark: within noise (p ≥ 0.05 by Welch's test, by the paired one against the entangled twin "
        "of the same seed), or too few runs. The number: the difference in its standard errors. open: less than two "
        "standard errors apart in the paper, if its ± is the standard deviation of its 20 runs.",
        *notes,
        note(results, "frozen"),
    ]
    return Table("Ablation: the orderings of Table 1", columns, tuple(rows), tuple(notes))


def _pairs() -> Iterator[tuple[str, str]]:
    """All pairs within a half, and the twins."""
    for half in HALVES:
        yield from combinations([f"{half}-{letters}" for letters in LETTERS], 2)
    yield from ((f"{HALVES[0]}-{letters}", f"{HALVES[1]}-{letters}") for letters in LETTERS)


def _verdict(measure: str, pair: tuple[str, str], by_condition: Mapping[str, BySeed]) -> Verdict:
    first, second = (_reported(measure, name) for name in pair)
    error = ((first.std or 0.0) ** 2 + (second.std or 0.0) ** 2) ** 0.5 / REPLICAS**0.5
    if abs(second.mean - first.mean) < RESOLVED * error:
        return OPEN
    a, b = (by_condition.get(name, {}) for name in pair)
    if not a or not b:
        return _MISSING
    twins = split(pair[0])[0] != split(pair[1])[0]
    difference, errors, probability = _paired(a, b) if twins else _apart(a, b)
    agrees, clear = difference * (second.mean - first.mean) > 0, probability < LEVEL
    kind = ("the same" if agrees else "the other way round") + (" within noise" * (not clear))
    size = f", {abs(errors):.1f}" if isinstance(errors, float) else ""
    return Verdict(kind, ("yes" if agrees else "no") + "?" * (not clear) + size)


def _apart(a: BySeed, b: BySeed) -> tuple[float, float | str, float]:
    """The difference of the means, the same in standard errors, and its p-value."""
    first, second = list(a.values()), list(b.values())
    difference = mean(second) - mean(first)
    if min(len(first), len(second)) < 2:
        return difference, "?", 1.0
    errors = standard_errors(spread(first), spread(second), 1)
    parts = [(stdev(values) ** 2 / len(values), len(values) - 1) for values in (first, second)]
    freedom = sum(part for part, _ in parts) ** 2 / max(1e-300, sum(part**2 / n for part, n in parts))
    return difference, errors, p_value(errors, freedom) if isinstance(errors, float) else 1.0


def _paired(a: BySeed, b: BySeed) -> tuple[float, float | str, float]:
    """The same, seed by seed; without a common seed, the difference of the means."""
    differences = [b[seed] - a[seed] for seed in a if seed in b]
    if len(differences) < 2:
        return mean(differences or [mean(b.values()) - mean(a.values())]), "?", 1.0
    errors = spread(differences).mean_in_errors
    probability = p_value(errors, len(differences) - 1) if isinstance(errors, float) else 1.0
    return mean(differences), errors, probability


def p_value(t: float, freedom: float, places: int = 2_000) -> float:
    """Two-sided p-value of Student's t, by Simpson's rule: tables are made without SciPy, which takes long to import.

    >>> round(p_value(2.776, 4), 3), round(p_value(12.706, 1), 3), p_value(0.0, 3)
    (0.05, 0.05, 1.0)
    """
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    width = abs(t) / places
    heights = [(1 + (i * width) ** 2 / freedom) ** (-(freedom + 1) / 2) for i in range(places + 1)]
    inside = width / 3 * (heights[0] + heights[-1] + 4 * sum(heights[1:-1:2]) + 2 * sum(heights[2:-1:2]))
    return max(0.0, 1 - 2 * scale * inside)


def _reported(measure: str, condition: str) -> Reported:
    half, letters = split(condition)
    return Reported(PAPER[half][letters][_COLUMN_OF_PAPER[measure]])


def _row(measure: str, half: str, letters: str, verdicts: Mapping[tuple[str, str], Verdict]) -> tuple[Entry, ...]:
    """A condition against those above it and, in the first half, against its twin."""
    name, nothing = f"{half}-{letters}", Verdict("", "")
    cells = [verdicts.get((f"{half}-{other}", name), nothing).cell for other in LETTERS[:-1]]
    twin = verdicts.get((name, f"{HALVES[1]}-{letters}"), nothing).cell
    return measure, half, printed(letters), *cells, twin
