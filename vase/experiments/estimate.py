"""How long the runs of an experiment will take, from what finished ones took."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import mean

from vase.experiments.results import Job, Result
from vase.sweeps.progress import minutes
from vase.worlds.spec import StreamSpec

ENOUGH = 10
"""Finished runs that are looked at."""


def estimated_seconds(jobs: Sequence[Job]) -> float | None:
    """Seconds of one core for all runs together; None if there is no finished run to judge by.

    A run is expected to take as long per step as finished runs of its condition, or else of its experiment, or else of
    all experiments in its preset.
    """
    paces = {job.condition.name: _seconds_per_step(job) for job in {job.condition.name: job for job in jobs}.values()}
    times = [(paces[job.condition.name], job_steps(job)) for job in jobs]
    known = [pace * steps for pace, steps in times if pace is not None]
    return sum(known) if len(known) == len(times) else None


def job_steps(job: Job) -> int:
    """Batches of a run."""
    return sum(steps for _, steps in StreamSpec.parse(job.settings.stream, job.settings.steps).stages)


def _seconds_per_step(job: Job) -> float | None:
    """Of the most similar finished runs."""
    folder = job.target.parent
    for files in (
        (file for file in folder.glob("*.json") if file.stem.rpartition("-")[0] == job.condition.name),
        folder.glob("*.json"),
        job.results.glob(f"*/{job.settings.preset}/*.json"),
    ):
        if found := list(islice(_paces(files), ENOUGH)):
            return mean(found)
    return None


def _paces(files: Iterable[Path]) -> Iterator[float]:
    for file in sorted(files):
        content = Result(file).content
        if content.get("seconds") and content.get("stages"):
            yield content["seconds"] / sum(steps for _, steps in content["stages"])


def words(seconds: float | None, workers: int) -> str:
    """The estimate as people say it.

    >>> words(5400, 2)
    'about 1 h 30 min of one core, 45 min 00 s with 2 jobs, as far as finished runs tell'
    """
    if seconds is None:
        return "how long it takes is not known: there is no finished run of this preset to judge by"
    shared = f", {minutes(seconds / workers)} with {workers} jobs" if workers > 1 else ""
    return f"about {minutes(seconds)} of one core{shared}, as far as finished runs tell"
