"""Tables of the shift benchmark from its result files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vase.experiments.shifts.settings import DETECTORS, RATES, Size
from vase.experiments.tables import NONE, Entry, Table
from vase.metrics.detection import Score, pool_scores

TITLES = {
    "monitor": "VASE's detector alone",
    "vase": "VASE",
    "vase-loss": "VASE, loss test only",
    "vase-latents": "VASE, latents only",
    "vase-thresholds": "VASE, Eq. 6",
    "vase-small": "VASE, small networks, Bernoulli",
    "vase-small-gaussian": "VASE, small networks, Gaussian",
}
_ABOUT = ("stream", "digest", "seed", "rate", "seconds", "commit")


@dataclass(frozen=True)
class Row:
    """The score of a detector on one stream."""

    stream: str
    seed: int
    rate: float
    score: Score

    @property
    def control(self) -> bool:
        """Whether nothing changes in the stream."""
        return self.score.changes == 0


@dataclass(frozen=True)
class Scores:
    """All scores of one detector."""

    detector: str
    rows: tuple[Row, ...]
    single: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """World -> what was shown after it -> alarms in 20 single batches."""

    @property
    def title(self) -> str:
        """For readers."""
        return TITLES.get(self.detector, self.detector)

    def of(self, rate: float, *, control: bool = False) -> list[Score]:
        """The scores on streams or on controls at one rate."""
        return [row.score for row in self.rows if row.rate == rate and row.control == control]

    def pooled(self, rate: float) -> dict[str, float | None]:
        """Numbers of all streams at one rate; "false_alarms" are those on controls, per 10,000 batches."""
        controls = self.of(rate, control=True)
        found = pool_scores(self.of(rate))
        return {**found, "false_alarms": pool_scores(controls)["false_alarms_per_10000"] if controls else None}


def read_scores(size: Size, results: str | Path, only: Collection[str] = ()) -> list[Scores]:
    """The finished scores, one entry per detector, in the order of DETECTORS; of those named in `only`, if any are."""
    folder = Path(results) / "shifts" / size.name
    every = [_read(path) for path in sorted(folder.glob("*.json"))]
    found = [scores for scores in every if not only or scores.detector in only]
    if not found:
        raise FileNotFoundError(f"{folder} holds no result: run it with: vase experiment shifts --size {size.name}")
    order = {name: place for place, name in enumerate(DETECTORS)}
    return sorted(found, key=lambda scores: (order.get(scores.detector, len(order)), scores.detector))


def _read(path: Path) -> Scores:
    try:
        content = json.loads(path.read_bytes())
        rows = tuple(map(_row, content["rows"]))
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged ({error}); restore it, or delete it and run it again.") from error
    return Scores(content["detector"], rows, content.get("single", {}))


def _row(values: dict[str, Any]) -> Row:
    numbers = {name: value for name, value in values.items() if name not in _ABOUT}
    return Row(values["stream"], values["seed"], values["rate"], Score.from_dict(numbers))


def main_table(scores: Sequence[Scores]) -> Table:
    """Every detector at the first rate of false alarms."""
    columns = ("detector", "ARI", "ARI ≥ 0.9", "ARI with ramps", "returns", "recall", "precision", "median delay")
    rows = tuple(_entries(one, RATES[0]) for one in scores if one.of(RATES[0]))
    return Table(
        "Shift benchmark, report half",
        (*columns, "delay, missed = 20", "false alarms / 10,000"),
        rows,
        (
            f"{_count(scores)}; every threshold at {RATES[0]:g} false alarm per 10,000 batches on controls of the "
            "tuning half. ARI: adjusted Rand index between worlds and environments over the batches outside ramps. "
            "Returns, recall, precision and ARI ≥ 0.9 in %. Delays in batches of 64; false alarms on the controls of "
            "the report half.",
        ),
    )


def _entries(scores: Scores, rate: float) -> tuple[Entry, ...]:
    found = scores.pooled(rate)
    shares = ("rand_above_090", "returns", "recall", "precision")
    percent = {name: _number(found[name], 1, 100) for name in shares}
    return (
        scores.title,
        _number(found["rand"], 3),
        percent["rand_above_090"],
        _number(found["rand_with_ramps"], 3),
        percent["returns"],
        percent["recall"],
        percent["precision"],
        _number(found["median_delay"], 1),
        _number(found["delay_with_missed"], 1),
        _number(found["false_alarms"], 1),
    )


def kinds_table(scores: Sequence[Scores]) -> Table:
    """The adjusted Rand index by kind of stream."""
    kinds = ("grey", "colour", "grey-ramp", "colour-ramp")
    rows = []
    for one in (one for one in scores if one.of(RATES[0])):
        by_kind = {kind: [r.score.rand for r in one.rows if _is(r, kind) and r.rate == RATES[0]] for kind in kinds}
        means = [_number(sum(found) / len(found), 3) if found else NONE for found in by_kind.values()]
        rows.append((one.title, *means))
    return Table("Adjusted Rand index by kind of stream", ("detector", *kinds), tuple(rows), (f"{_count(scores)}.",))


def rates_table(scores: Sequence[Scores]) -> Table:
    """False alarms on the stationary controls of the report half at every rate, beside what was promised."""
    rows = []
    for one, rate in ((one, rate) for one in scores for rate in RATES):
        controls = one.of(rate, control=True)
        batches = sum(score.batches for score in controls)
        if controls:
            found = sum(score.false_alarms for score in controls)
            rows.append(
                (one.title, f"{10_000 / rate:,.0f}", f"{batches:,}", f"{batches * rate / 10_000:g}", str(found))
            )
    return Table(
        "False alarms on stationary streams",
        ("detector", "one expected every", "batches", "expected", "found"),
        tuple(rows),
        ("A false alarm that starts an environment and the return from it count as two.",),
    )


def single_table(scores: Sequence[Scores]) -> Table:
    """Alarms in 20 single batches of every change, for the learners."""
    learners = [one for one in scores if one.single]
    cases = dict.fromkeys((world, shown) for one in learners for world in one.single for shown in one.single[world])
    rows = [(world, shown, *(one.single.get(world, {}).get(shown, NONE) for one in learners)) for world, shown in cases]
    return Table(
        "Alarms in 20 single batches of 64",
        ("world", "then", *(one.title for one in learners)),
        tuple(rows),
        ("Each batch is shown to a copy of the learner: it is an alarm if it is held back or starts a switch.",),
    )


def _is(row: Row, kind: str) -> bool:
    return not row.control and row.stream.split("-", 2)[2] == kind


def _count(scores: Sequence[Scores]) -> str:
    """How much the numbers rest on."""
    rows = [row for one in scores for row in one.rows if not row.control]
    controls = {(row.stream, row.score.batches) for one in scores for row in one.rows if row.control}
    batches = sum(n for _, n in controls)
    seeds = len({row.seed for row in rows})
    return (
        f"{len({row.stream for row in rows})} streams with {seeds} seed{'s' * (seeds > 1)}, and "
        f"{len(controls)} controls of {batches:,} batches in all"
    )


def _number(value: float | None, digits: int, scale: float = 1) -> str:
    return NONE if value is None else f"{scale * value:.{digits}f}".replace("-", "−")


def curve(scores: Scores, rates: Iterable[float] = RATES) -> list[tuple[float, float]]:
    """(false alarms per 10,000 batches on controls, mean delay with missed changes as 20) at every rate."""
    found = [scores.pooled(rate) for rate in rates if scores.of(rate) and scores.of(rate, control=True)]
    return [
        (numbers["false_alarms"], numbers["delay_with_missed"])
        for numbers in found
        if numbers["false_alarms"] is not None and numbers["delay_with_missed"] is not None
    ]


TABLES = {"main": main_table, "kinds": kinds_table, "rates": rates_table, "single": single_table}
