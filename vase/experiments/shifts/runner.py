"""Run what is missing of the shift benchmark: every detector on every stream and control of the report half.

results/shifts/SIZE/DETECTOR.json holds the scores of one detector, a row per stream, seed and rate of false alarms.
A row without a commit of its own is of the commit of the file.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vase.config import VASEConfig
from vase.experiments.experiment import resolve
from vase.experiments.shifts.baselines import BASELINES
from vase.experiments.shifts.calibration import record_control, threshold
from vase.experiments.shifts.evidence import record_evidence
from vase.experiments.shifts.pool import load_world
from vase.experiments.shifts.settings import ADJUSTABLE, LEARNERS, PARTS, RATES, Size, check_detector
from vase.experiments.shifts.single import CASES, single_batches
from vase.experiments.shifts.streams import ShiftStream, draw_streams, stationary_streams
from vase.files import write_bytes
from vase.machine import commit, cpu_name
from vase.metrics.detection import Trace, score_stream
from vase.training.directory import versions

Notify = Callable[[str, int, int], None]
"""Called with what is being done, how many parts are done, and how many there are."""


def slug(name: str) -> str:
    """A detector's name as a file name."""
    return name.replace(":", "-").replace("/", "-")


@dataclass
class ResultFile:
    """The scores of one detector, written after every stream."""

    detector: str
    path: Path
    head: dict[str, Any] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def open(cls, detector: str, size: Size, results: str | Path) -> ResultFile:
        """Read the file of a detector, or begin one."""
        path = Path(results) / "shifts" / size.name / f"{slug(detector)}.json"
        if not path.exists():
            return cls(detector, path)
        try:
            head = json.loads(path.read_bytes())
            rows = head.pop("rows")
        except (ValueError, KeyError) as error:
            raise ValueError(f"{path} is damaged ({error}); restore it, or delete it and run it again.") from error
        return cls(detector, path, head, rows)

    def has(self, stream: ShiftStream, seed: int, rate: float) -> bool:
        """Whether a score is there. One of another stream of the same name is an error."""
        for row in self.rows:
            if (row["stream"], row["seed"], row["rate"]) == (stream.name, seed, rate):
                if row["digest"] != stream.digest:
                    raise ValueError(f"{self.path}: {stream.name} is another stream now; delete the file to run again.")
                return True
        return False

    def set_thresholds(self, levels: Mapping[float, float]) -> None:
        """Note the thresholds of a baseline. Others than those that its rows were made with are an error."""
        now = {f"{rate:g}": round(value, 4) for rate, value in levels.items()}
        if self.rows and self.head.get("thresholds") != now:
            raise ValueError(f"{self.path} was made with other thresholds; delete the file to run again.")
        self.head["thresholds"] = now

    def save(self, command: str) -> None:
        """Write the file, a row per line, with the commit, processor and versions of the last time."""
        made = {"commit": commit(), "cpu": cpu_name(), "versions": versions()}
        head = {"command": command, "detector": self.detector, **self.head, **made}
        rows = sorted(self.rows, key=lambda row: (row["rate"], row["stream"], row["seed"]))
        lines = ",\n  ".join(json.dumps(row) for row in rows)
        body = json.dumps(head, indent=1)[:-2] + f',\n "rows": [\n  {lines}\n ]\n}}\n'
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(self.path, body.encode())


@dataclass(frozen=True)
class Cell:
    """One stream with one seed, and the rates that detectors run at."""

    stream: ShiftStream
    seed: int
    rates: tuple[float, ...]

    @property
    def part(self) -> str:
        """Which one of PARTS it belongs to."""
        return "streams" if self.stream.truth.timeline.switches else "controls"


def cells_of(size: Size, streams: int | None = None, seeds: Sequence[int] = ()) -> list[Cell]:
    """The cells of the report half: streams with all seeds, controls with the first; all rates for the first seed."""
    chosen = tuple(seeds) or size.seeds
    drawn = draw_streams("report", size.streams if streams is None else streams)
    return [
        Cell(stream, seed, RATES if seed == chosen[0] else RATES[:1])
        for seed in chosen
        for stream in (*drawn, *(stationary_streams("report", size.control) if seed == chosen[0] else ()))
    ]


def calibrate(names: Sequence[str], size: Size, runs: str | Path, notify: Notify) -> dict[str, dict[float, float]]:
    """Baseline -> rate -> threshold, from the controls of the tuning half; what was recorded is kept in `runs`."""
    if not names:
        return {}
    controls = stationary_streams("tuning", size.control)
    recorded = []
    for number, stream in enumerate(controls):
        notify(f"thresholds: {stream.name}", number, len(controls))
        path = Path(runs) / "shifts" / size.name / f"{stream.name}.npz"
        recorded.append(record_control(stream, size.training, path, names))
    return {name: {rate: threshold(BASELINES[name], recorded, rate) for rate in RATES} for name in names}


def run(
    size: Size,
    detectors: Sequence[str],
    *,
    results: str | Path,
    runs: str | Path,
    streams: int | None = None,
    seeds: Sequence[int] = (),
    parts: Sequence[str] = PARTS,
    notify: Notify = lambda *_: None,
) -> list[ResultFile]:
    """Compute the scores that are missing, and write them after every stream."""
    for name in detectors:
        check_detector(name)
    cells = [cell for cell in cells_of(size, streams, seeds) if cell.part in parts]
    files = [ResultFile.open(name, size, results) for name in detectors]
    todo = [(cell, missing) for cell in cells if (missing := [file for file in files if list(_missing(file, cell))])]
    needed = {file.detector for _, missing in todo for file in missing}
    levels = calibrate([name for name in BASELINES if name in needed], size, runs, notify)
    for number, (cell, missing) in enumerate(todo):
        notify(f"{cell.stream.name}, seed {cell.seed}", number, len(todo))
        for name, rows in _score(cell, missing, size, levels).items():
            file = next(file for file in missing if file.detector == name)
            if name in levels:
                file.set_thresholds(levels[name])
            file.rows += rows
            file.save(f"vase experiment shifts --size {size.name} --only {name}")
    for file in files:
        if "single" in parts and file.detector not in BASELINES and "single" not in file.head:
            notify(f"{file.detector}: single batches", len(todo), len(todo))
            file.head["single"] = {world: _single(file.detector, world, size) for world in CASES}
            file.save(f"vase experiment shifts --size {size.name} --only {file.detector}")
    notify("done", len(todo), len(todo))
    return files


def _single(name: str, world: str, size: Size) -> dict[str, int]:
    """Alarms of a learner on single batches after it has seen a world."""
    seed = size.seeds[0]
    return single_batches(make_learner(name, load_world(world).image_shape, seed), world, seed, size.training)


def _missing(file: ResultFile, cell: Cell) -> Iterator[float]:
    """The rates that a detector still has to run at; only some can be set to others than the first."""
    rates = cell.rates if file.detector in (*BASELINES, *ADJUSTABLE) else cell.rates[:1]
    return (rate for rate in rates if not file.has(cell.stream, cell.seed, rate))


def _score(
    cell: Cell, files: Sequence[ResultFile], size: Size, levels: Mapping[str, Mapping[float, float]]
) -> dict[str, list[dict[str, Any]]]:
    """Detector -> its new rows. The evidence of the baselines is recorded once."""
    stream, seed = cell.stream, cell.seed
    found: dict[str, list[dict[str, Any]]] = {}
    evidence = record_evidence(stream, seed, size.training) if any(f.detector in levels for f in files) else None
    for file in files:
        for rate in list(_missing(file, cell)):
            begin = time.perf_counter()
            if evidence is not None and file.detector in levels:
                said = BASELINES[file.detector].follow(evidence, levels[file.detector][rate]).tolist()
                trace = Trace(tuple(said), tuple(said))
            else:
                trace = follow(file.detector, stream, seed, rate)
            score = score_stream(stream.truth, trace).to_dict()
            seconds = round(time.perf_counter() - begin, 2)
            which = {"stream": stream.name, "digest": stream.digest, "seed": seed, "rate": rate}
            row = {**which, "seconds": seconds, "commit": commit(), **score}
            found.setdefault(file.detector, []).append(row)
    return found


def make_learner(name: str, image_shape: tuple[int, int, int], seed: int, rate: float = RATES[0]) -> Any:
    """A learner that expects `rate` false alarms in 10,000 batches: one of LEARNERS, or "package.module:Class"."""
    config = VASEConfig.laptop(image_shape).with_values({"environments.false_alarm_every": round(10_000 / rate)})
    return resolve(LEARNERS.get(name, name))(config, seed=seed)


def follow(name: str, stream: ShiftStream, seed: int, rate: float) -> Trace:
    """Show a stream to a new learner."""
    batches = stream.batches(seed)
    first = next(batches)
    learner = make_learner(name, first.shape[1:], seed, rate)
    return Trace.of([learner.partial_fit(first), *map(learner.partial_fit, batches)])
