"""All streams of the comparison in one table."""

from __future__ import annotations

from vase.experiments.common.earlier import earlier_preset
from vase.experiments.common.numbers import best, change, last, percent
from vase.experiments.experiment import Experiment
from vase.experiments.results import Results, checked
from vase.experiments.rivals.analysis import Score, name_of, told
from vase.experiments.rivals.settings import RIVALS_COLOUR, RIVALS_FIVE, RIVALS_RETURNS
from vase.experiments.tables import Entry, Table
from vase.metrics.forgetting import SETTLED_AFTER, Probes

FIRST = "three worlds"
OTHERS: dict[str, Experiment] = {"returns": RIVALS_RETURNS, "five worlds": RIVALS_FIVE, "colour": RIVALS_COLOUR}
"""The streams beside the first one, by their names in the table."""
_SCORES: dict[str, tuple[Score, Probes]] = {
    "max (%)": (best, "frozen"),
    "change (%)": (change, "frozen"),
    "end (%)": (last, "frozen"),
    "change, settled probe (%)": (change, "settled"),
}


def streams(results: Results) -> Table:
    """What every method forgets, and knows at the end, on each stream; the others' results lie next to these."""
    root = results.folder.parents[1]
    others = {name: checked(Results(e, results.preset, root / e.name / results.preset)) for name, e in OTHERS.items()}
    every = {FIRST: results, **others}
    rows: list[tuple[Entry, ...]] = []
    for stream, found in every.items():
        for condition, runs in found.finished:
            scores = (percent(score(runs, "accuracy", None, probes)) for score, probes in _SCORES.values())
            rows.append((stream, name_of(condition.name), told(condition), len(runs), *scores))
    notes = (
        "Class, averaged over worlds. max: best while a world is trained on. change: worst afterwards less best. end: "
        "at the end of the stream, all worlds. These by fresh probes, trained on the frozen encoder for every score. "
        f"settled probe: trained {SETTLED_AFTER} batches after a visit, and never again. On another processor, the "
        "same seed is another run.",
        f"Preset {results.preset}; mean ± standard deviation over seeds."
        f"{earlier_preset(*every.values(), name=name_of)}",
    )
    title = "VASE beside its rivals: all streams"
    return Table(title, ("stream", "method", "told boundaries", "seeds", *_SCORES), tuple(rows), notes)
