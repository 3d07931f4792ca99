"""Many runs in parallel, one thread each: finished ones are skipped, interrupted ones resumed, failures reported."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from joblib import Parallel, delayed

from vase.sweeps import Backend
from vase.sweeps.backends import check, engine
from vase.sweeps.worker import GO, report, work
from vase.training.directory import RunDirectory
from vase.training.plan import make_plan
from vase.training.process import interruptible
from vase.training.settings import RunSettings
from vase.training.summary import summary

POLL_SECONDS = 0.5
"""Seconds between two looks of the driver at the reports of the workers."""
State = Literal["waiting", "running", "done", "skipped", "failed", "stopped"]
ENDED: tuple[State, ...] = ("done", "skipped", "failed", "stopped")


@dataclass(frozen=True)
class Cell:
    """One run of a sweep: its directory and its settings."""

    path: Path
    settings: RunSettings

    @property
    def name(self) -> str:
        """Name of its directory."""
        return self.path.name

    def progress(self) -> Literal["new", "started", "done"]:
        """How far the run in its directory is. A run with other settings there is an error."""
        if not (self.path / "config.json").exists():
            return "new"
        directory = RunDirectory(self.path)
        try:
            directory.settings()
        except (OSError, ValueError, TypeError):
            return "started"  # damaged: resuming it reports how
        directory.require_same(
            self.settings,
            "delete that directory to start over, or name another one (--out, or --runs for an experiment)",
        )
        try:
            return "done" if directory.is_complete() and (self.path / "summary.json").exists() else "started"
        except (OSError, ValueError):
            return "started"


@dataclass(frozen=True)
class Status:
    """The progress of one run."""

    name: str
    state: State = "waiting"
    step: int = 0
    total: int = 0
    world: str = ""
    error: str = ""


@dataclass(frozen=True)
class Outcome:
    """The outcome of one run: the summary of a finished one, message and traceback of a failed one."""

    cell: Cell
    state: State
    """'done'; 'skipped' if it was already finished; 'failed'; 'stopped' if it can be resumed."""
    summary: dict[str, Any] | None = None
    error: str = ""
    trace: str = ""
    steps: int = 0
    """Steps that a run made which has no summary."""


class Stopped(KeyboardInterrupt):
    """Ctrl-C or SIGTERM: running runs were saved and can be resumed."""

    def __init__(self, outcomes: list[Outcome]) -> None:
        self.outcomes = outcomes
        done = f"{sum(outcome.state in ('done', 'skipped') for outcome in outcomes)} of {len(outcomes)} runs finished"
        super().__init__(f"stopped with {done}; running ones are saved. Resume with the same command.")


def run_many(
    cells: Sequence[Cell],
    *,
    jobs: int = 2,
    backend: Backend = "processes",
    address: str | None = None,
    on_progress: Callable[[list[Status]], None] | None = None,
    on_note: Callable[[str], None] | None = None,
) -> list[Outcome]:
    """Train every run that is not finished, `jobs` at a time, one thread each; returns the outcomes in order.

    A run that fails does not stop the others; its outcome holds the error.

    Args:
        cells: the runs; on a cluster their directories must be on a file system that all machines share.
        jobs: runs at the same time.
        backend: processes of this machine, or a Ray or Dask cluster.
        address: of a running cluster; without one, a cluster of this machine is started and ended.
        on_progress: called about twice a second, from another thread, with the status of all runs.
        on_note: called with a line about the data, e.g. a stand-in that is used.

    Raises:
        Stopped: after Ctrl-C or SIGTERM, once the running runs are saved. A second Ctrl-C ends the workers at once;
            their runs then resume from their last checkpoint.
    """
    if not isinstance(jobs, int) or isinstance(jobs, bool) or jobs < 1:
        raise ValueError(f"jobs={jobs!r}: must be a whole number of at least 1.")
    check(backend, address)
    places = [os.path.abspath(cell.path) for cell in cells]
    for cell, place in zip(cells, places, strict=True):
        if places.count(place) > 1:
            raise ValueError(f"{cell.path}: two runs have this directory; give each run its own.")
    todo = {number: cell for number, cell in enumerate(cells) if cell.progress() != "done"}
    totals = _prepare(todo, on_note)
    sweep = _Sweep([portable(cell) for cell in cells], jobs, on_progress or (lambda statuses: None), totals)
    for number, cell in enumerate(cells):
        if number not in todo:
            sweep.outcomes[number] = Outcome(cell, "skipped", _summary(cell))
    if todo:
        sweep.run(list(todo), backend, address)
    sweep.tell()
    found = [replace(sweep.outcomes[number], cell=cell) for number, cell in enumerate(cells)]
    if any(outcome.state == "stopped" for outcome in found):
        raise Stopped(found)
    return found


def print_failures(outcomes: Sequence[Outcome], *, traces: bool = False) -> int:
    """Print a line for each run that failed, or the traceback of its process; returns how many failed."""
    failed = [outcome for outcome in outcomes if outcome.state == "failed"]
    for one in failed:
        print(f"vase: {one.cell.path} failed: {(traces and one.trace) or one.error}", file=sys.stderr)
    return len(failed)


def _prepare(todo: Mapping[int, Cell], on_note: Callable[[str], None] | None) -> dict[int, int]:
    """Load the data and resolve the configuration once per kind of run; returns the steps of each run.

    Wrong input is reported before anything starts, and workers do not race for downloads.
    """
    lengths: dict[str, int] = {}
    totals = {}
    for number, cell in todo.items():
        timeline = None
        with suppress(OSError, ValueError, TypeError):  # new, or damaged: resuming it reports how
            timeline = RunDirectory(cell.path).timeline()
        kind = json.dumps([replace(cell.settings, seed=0).to_dict(), timeline and timeline.stages], sort_keys=True)
        if kind not in lengths:
            lengths[kind] = make_plan(cell.settings, timeline, on_note).timeline.total
        totals[number] = lengths[kind]
    return totals


def _summary(cell: Cell) -> dict[str, Any]:
    """The summary that the run wrote; computed again if it is damaged."""
    try:
        return dict(json.loads((cell.path / "summary.json").read_bytes()))
    except ValueError:
        return summary(cell.path)


def portable(cell: Cell) -> Cell:
    """The same run for a worker with another working directory: absolute paths, one thread."""
    return Cell(Path(os.path.abspath(cell.path)), replace(cell.settings.with_absolute_folders(), threads=1))


@dataclass
class _Sweep:
    """The driver's side of many runs."""

    cells: list[Cell]
    jobs: int
    on_progress: Callable[[list[Status]], None]
    totals: Mapping[int, int]
    """Steps of the runs that are not finished."""
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    sent: set[int] = field(default_factory=set)
    """Runs that were handed to the backend."""
    folder: Path = Path()

    def run(self, todo: list[int], backend: Backend, address: str | None) -> None:
        """Fill the outcomes of the given runs."""
        with interruptible() as stop, engine(backend, self.jobs, address), ExitStack() as stack:
            place = self.cells[todo[0]].path.parent
            place.mkdir(parents=True, exist_ok=True)
            folder = tempfile.TemporaryDirectory(prefix=".sweep-", dir=place, ignore_cleanup_errors=True)
            self.folder = Path(stack.enter_context(folder))
            self.folder.chmod(0o755)
            (self.folder / GO).touch()
            pool, ended = stack.enter_context(ThreadPoolExecutor(1, "vase-sweep")), threading.Event()
            watching = pool.submit(self._watch, stop, ended)
            try:
                self._dispatch(todo, stop, own_session=backend == "processes")
            finally:
                ended.set()
            watching.result()  # raises what `on_progress` raised
            self._collect(todo, "stopped")

    def _dispatch(self, todo: list[int], stop: threading.Event, own_session: bool) -> None:
        """Hand the runs to the backend.

        A process that dies (killed, out of memory) breaks the whole pool. The runs in progress are then tried one by
        one, and the one that dies again has failed. If a backend takes no run at all (a lost cluster, no process
        available), all remaining runs fail.
        """
        groups = [todo]
        while groups and not stop.is_set():
            group = groups.pop(0)
            self.sent.clear()
            try:
                # At most `jobs` are in flight, however many workers a cluster has.
                Parallel(pre_dispatch=self.jobs, batch_size=1)(
                    delayed(work)(self.folder, n, self.cells[n].path, self.cells[n].settings, own_session)
                    for n in self._sending(group)
                )
            except Exception as error:
                self._collect(group)
                left = [n for n in group if n not in self.outcomes]
                if (len(group) == 1 or not self.sent) and not stop.is_set():
                    what = "its process died" if self.sent else "it could not be started"
                    text = f"{what} ({str(error).strip().splitlines()[0]})" if str(error).strip() else repr(error)
                    for n in left:
                        self.outcomes[n] = Outcome(self.cells[n], "failed", error=text)
                else:
                    rest = [n for n in left if n not in self.sent]
                    groups = [*([n] for n in left if n in self.sent), *([rest] if rest else []), *groups]
            self._collect(group)

    def _sending(self, group: list[int]) -> Iterator[int]:
        for number in group:
            self.sent.add(number)
            yield number

    def _collect(self, numbers: list[int], otherwise: State | None = None) -> None:
        """Turn the last reports of ended runs into outcomes."""
        for number in [number for number in numbers if number not in self.outcomes]:
            cell, said = self.cells[number], report(self.folder, number)
            state = said.get("state") if said.get("state") in ENDED else otherwise
            if state == "done":
                self.outcomes[number] = Outcome(cell, "done", _summary(cell))
            elif state is not None:
                told = {name: said[name] for name in ("error", "trace") if name in said}
                self.outcomes[number] = Outcome(cell, state, **told, steps=int(said.get("step", 0)))

    def _watch(self, stop: threading.Event, ended: threading.Event) -> None:
        """Report the progress until the runs have ended; stop the workers if `stop` is set or `on_progress` fails."""
        try:
            while not ended.wait(POLL_SECONDS):
                if stop.is_set():
                    (self.folder / GO).unlink(missing_ok=True)
                self.tell()
        finally:
            (self.folder / GO).unlink(missing_ok=True)

    def tell(self) -> None:
        """Call `on_progress` with the status of all runs."""
        self.on_progress([self._status(number) for number in range(len(self.cells))])

    def _status(self, number: int) -> Status:
        name, total = self.cells[number].name, self.totals.get(number, 0)
        if outcome := self.outcomes.get(number):
            found = outcome.summary or {"steps": outcome.steps, "total": total}
            return Status(name, outcome.state, found["steps"], found["total"], error=outcome.error)
        said = report(self.folder, number) if number in self.sent else {}
        values: dict[str, Any] = {key: said[key] for key in ("state", "step", "world", "error") if key in said}
        return Status(name, total=total, **values)
