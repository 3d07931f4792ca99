"""Running what is missing of an experiment, and comparing runs that are trained again with their result files."""

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

from vase.experiments import Experiment, Job, Result, Results
from vase.experiments.study import FOLDERS, public
from vase.sweeps import Outcome, Status, run_many
from vase.sweeps.backends import Backend
from vase.training import RunSettings
from vase.training.sources import pictured
from vase.worlds.sources import FACES_VARIABLE

Watch = Callable[[Sequence[Status]], None]


def missing(jobs: Sequence[Job]) -> list[Job]:
    """The runs that have no result yet. A result of other settings is an error."""
    found = []
    for job in jobs:
        if not job.target.exists():
            found.append(job)
        else:
            _require_same(job.experiment, job.target, job.settings, Result(job.target).settings)
    return found


def require_current(results: Results, preset: str) -> None:
    """Refuse results of other settings than the experiment has now; any folder of pictures will do."""
    for condition in results.experiment.conditions:
        for run in results.of(condition.name):
            before = run.settings
            folders = {name: getattr(before, name) for name in FOLDERS}
            now = results.experiment.settings(condition, run.seed, preset, **folders)
            _require_same(results.experiment, run.path, now, before)


def _require_same(experiment: Experiment, path: Path, now: RunSettings, before: RunSettings) -> None:
    if names := public(now).differences(before):
        raise ValueError(
            f"{path} was made {_otherwise(experiment, names[0], before)}: delete it to run it again, or name another "
            "folder with --results."
        )


def _otherwise(experiment: Experiment, name: str, before: RunSettings) -> str:
    """How a result differs from what is wanted now."""
    if name not in FOLDERS:
        return f"with another {name} than {experiment.name} has now"
    hint = f" (or {FACES_VARIABLE} in the environment)" if name == "faces" else ""
    words = ("without", "with") if getattr(before, name) is None else ("with", "without")
    return f"{words[0]} --{name}{hint}, and now it is {words[1]}"


def place(experiment: Experiment, given: Mapping[str, str | None]) -> dict[str, Any]:
    """The device and folders that were given; a folder of pictures only for a stream that has its world."""
    found = {name: given.get(name) for name in ("data", "device")}
    for name in FOLDERS:
        folder = given.get(name)
        if name not in pictured(experiment.stream):
            if folder is not None:
                raise ValueError(f"--{name} {folder}: {experiment.name} has no world of {name}; leave --{name} out.")
            continue
        if folder is None and name == "faces":
            folder = os.environ.get(FACES_VARIABLE) or None
        if folder is not None:
            path = Path(folder).expanduser().absolute()
            if not path.is_dir():
                raise FileNotFoundError(
                    f"folder {str(path)!r} of {name} does not exist: name another one with --{name}, or none to do "
                    "without."
                )
            found[name] = str(path)
    return {name: value for name, value in found.items() if value is not None}


def run_jobs(
    jobs: Sequence[Job], *, workers: int, on_progress: Watch, backend: Backend, address: str | None
) -> list[Outcome]:
    """Train the runs and keep the result of each as soon as it is finished; one that cannot be kept has failed."""
    kept: dict[str, Future[None]] = {}
    with ExitStack() as stack:
        keeper = stack.enter_context(ThreadPoolExecutor(1, "vase-keep"))
        stack.push(lambda failed, *_: keeper.shutdown(cancel_futures=True) if failed else None)  # kept the next time

        def watch(statuses: list[Status]) -> None:
            on_progress(statuses)
            for job, status in zip(jobs, statuses, strict=True):
                if status.state in ("done", "skipped") and job.name not in kept:
                    kept[job.name] = keeper.submit(job.keep)

        cells = [job.cell for job in jobs]
        outcomes = run_many(cells, jobs=workers, backend=backend, address=address, on_progress=watch, on_note=print)
    return [_kept(outcome, kept.get(job.name)) for job, outcome in zip(jobs, outcomes, strict=True)]


def _kept(outcome: Outcome, keeping: Future[None] | None) -> Outcome:
    """The outcome of a run, failed if its result could not be kept."""
    error = keeping.exception() if keeping is not None else None
    if error is None:
        return outcome
    trace = "".join(traceback.format_exception(error))
    return replace(outcome, state="failed", error=f"trained, but no result could be kept: {error!r}", trace=trace)


def check_jobs(jobs: Sequence[Job], *, workers: int, on_progress: Watch) -> list[str]:
    """Train finished runs again; returns how each differs from its result file, empty if it does not.

    The directories of runs that do not differ are deleted.
    """
    for job in missing(jobs):
        raise FileNotFoundError(f"{job.target} does not exist: there is nothing to compare with.")
    for job in jobs:
        if job.cell.path.exists():
            raise FileExistsError(
                f"{job.cell.path} exists: delete it, or name another folder with --runs, to train it anew."
            )
    outcomes = run_many([job.cell for job in jobs], jobs=workers, on_progress=on_progress, on_note=print)
    found = []
    for job, outcome in zip(jobs, outcomes, strict=True):
        text = outcome.error or compare(Result(job.target).rows, job.rows()) or compare_findings(job)
        found.append(f"{text} (the run is in {job.cell.path})" if text else "")
        if not text:
            shutil.rmtree(job.cell.path)
    return found


def compare(before: Sequence[dict[str, Any]], now: Sequence[dict[str, Any]]) -> str:
    """What differs between two lists of rows, in words; nothing if they are the same."""
    if len(before) != len(now):
        return f"{len(before):,} rows before, {len(now):,} now"
    changed = [(a, b) for a, b in zip(before, now, strict=True) if a != b]
    if not changed:
        return ""
    a, b = changed[0]
    keys = [key for key in {**a, **b} if a.get(key, ...) != b.get(key, ...)]
    where = (
        f"first in a {a['kind']} row at step {a['step']:,}: {keys[0]} = {a.get(keys[0])} before, {b.get(keys[0])} now"
    )
    return f"{len(changed):,} of {len(now):,} rows differ, {where}"


def compare_findings(job: Job) -> str:
    """What differs between the kept answers of a run's learner and those of the run that was made again, in words."""
    now = job.findings()
    if now is None:
        return ""
    before, after = Result(job.target).findings, json.loads(json.dumps(now.numbers))
    changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return f"the same rows, but other findings: {', '.join(changed)}" if changed else ""
