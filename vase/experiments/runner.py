"""Run what is missing of an experiment, and compare runs that are trained again with their result files."""

from __future__ import annotations

import json
import os
import shutil
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from vase.experiments.experiment import Experiment
from vase.experiments.results import FOLDERS, Job, Result, require_same
from vase.experiments.writer import analyse, export, exported_rows
from vase.rows import Row
from vase.sweeps import Backend, Cell, Outcome, Status, run_many
from vase.training.settings import absolute
from vase.worlds.spec import FACES_VARIABLE, StreamSpec

Watch = Callable[[Sequence[Status]], None]


def missing(jobs: Sequence[Job]) -> list[Job]:
    """The runs that have no result yet. A result with other settings is an error."""
    found = []
    for job in jobs:
        if not job.target.exists():
            found.append(job)
        else:
            require_same(job.experiment, job.target, job.settings, Result(job.target).settings)
    return found


def place(experiment: Experiment, given: Mapping[str, str | None]) -> dict[str, Any]:
    """The data folder, device and folders of pictures of runs, from what the user gave.

    Args:
        experiment: whose stream says which folders of pictures (faces, frames) make sense.
        given: data, device, faces, frames; None or missing if not given. VASE_FACES is the default of faces.
    """
    found = {name: given.get(name) for name in ("data", "device")}
    for name in FOLDERS:
        folder = given.get(name)
        if name not in StreamSpec.parse(experiment.stream).picture_folders:
            if folder is not None:
                raise ValueError(f"--{name} {folder}: {experiment.name} has no world of {name}; leave --{name} out.")
            continue
        if folder is None and name == "faces":
            folder = os.environ.get(FACES_VARIABLE) or None
        if folder is not None:
            path = Path(absolute(folder))
            if not path.is_dir():
                raise FileNotFoundError(
                    f"folder {str(path)!r} of {name} does not exist: name another one with --{name}, or none to do "
                    "without."
                )
            found[name] = str(path)
    return {name: value for name, value in found.items() if value is not None}


def run_jobs(
    jobs: Sequence[Job],
    *,
    workers: int,
    on_progress: Watch,
    backend: Backend = "processes",
    address: str | None = None,
    on_note: Callable[[str], None] = print,
) -> list[Outcome]:
    """Train the runs, and export the result of each as soon as it is finished; a failed export is a failed run."""
    exports: dict[str, Future[None]] = {}
    with ExitStack() as stack:
        exporter = stack.enter_context(ThreadPoolExecutor(1, "vase-export"))
        stack.push(lambda failed, *_: exporter.shutdown(cancel_futures=True) if failed else None)  # done the next time

        def watch(statuses: Sequence[Status]) -> None:
            on_progress(statuses)
            for job, status in zip(jobs, statuses, strict=True):
                if status.state in ("done", "skipped") and job.name not in exports:
                    exports[job.name] = exporter.submit(export, job)

        outcomes = run_many(
            _cells(jobs), jobs=workers, backend=backend, address=address, on_progress=watch, on_note=on_note
        )
    return [_exported(outcome, exports.get(job.name)) for job, outcome in zip(jobs, outcomes, strict=True)]


def _cells(jobs: Sequence[Job]) -> list[Cell]:
    return [Cell(job.path, job.settings) for job in jobs]


def _exported(outcome: Outcome, exporting: Future[None] | None) -> Outcome:
    """The outcome of a run, failed if its result could not be exported."""
    error = exporting.exception() if exporting is not None else None
    if error is None:
        return outcome
    trace = "".join(traceback.format_exception(error))
    return replace(
        outcome, state="failed", error=f"trained, but its result could not be exported: {error!r}", trace=trace
    )


def check_jobs(jobs: Sequence[Job], *, workers: int, on_progress: Watch) -> list[str]:
    """Train finished runs again. Returns how each differs from its result file; empty if it is the same.

    The directories of runs that are the same are deleted.
    """
    for job in missing(jobs):
        raise FileNotFoundError(f"{job.target} does not exist: there is nothing to compare with.")
    for job in jobs:
        if job.path.exists():
            raise FileExistsError(
                f"{job.path} exists: delete it, or name another folder with --runs, to train it anew."
            )
    outcomes = run_many(_cells(jobs), jobs=workers, on_progress=on_progress, on_note=print)
    found = []
    for job, outcome in zip(jobs, outcomes, strict=True):
        found.append(outcome.error or compare(Result(job.target).rows, exported_rows(job)) or compare_analysis(job))
        if not found[-1]:
            shutil.rmtree(job.path)
    return found


def compare(before: Sequence[Row], now: Sequence[Row]) -> str:
    """What differs between two lists of rows, in words; empty if they are the same."""
    if len(before) != len(now):
        return f"{len(before):,} rows before, {len(now):,} now"
    changed = [(a, b) for a, b in zip(before, now, strict=True) if a != b]
    if not changed:
        return ""
    a, b = changed[0]
    key = next(key for key in {**a, **b} if a.get(key, ...) != b.get(key, ...))
    where = f"first in a {a['kind']} row at step {a['step']:,}: {key} = {a.get(key)} before, {b.get(key)} now"
    return f"{len(changed):,} of {len(now):,} rows differ, {where}"


def compare_analysis(job: Job) -> str:
    """What differs between the saved analysis of a run's learner and that of the run trained again, in words."""
    now = analyse(job)
    if now is None:
        return ""
    before, after = Result(job.target).analysis, json.loads(json.dumps(now.numbers))
    changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return f"the same rows, but another analysis: {', '.join(changed)}" if changed else ""
