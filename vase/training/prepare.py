"""The plan of a new or resumed run, agreed between all workers, and refusals before anything is written."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

from vase.distributed import Crew
from vase.training.directory import RunDirectory, versions
from vase.training.plan import Plan, make_plan
from vase.training.settings import RunSettings
from vase.training.sources import absolute
from vase.worlds.timeline import Timeline

Note = Callable[[str], None]


def shared_plan(
    directory: RunDirectory, given: RunSettings | None, resume: bool, distributed: Crew, note: Note
) -> Plan:
    """The plan of the first worker, which fetches the data; the others find them in the cache."""
    mine: list[Plan] = []

    def prepare() -> tuple[RunSettings, Timeline]:
        if not resume:
            directory.require_free()
        check_workers(directory.settings() if resume else given or RunSettings(), distributed.size)
        plan = _resumed_plan(directory, given, note) if resume else make_plan(given or RunSettings(), report=note)
        mine.append(plan)
        return plan.settings, plan.timeline

    settings, timeline = distributed.first(prepare)
    return mine[0] if mine else make_plan(settings, timeline)


def check_workers(settings: RunSettings, workers: int) -> None:
    """Refuse a run that cannot be split between workers."""
    images = settings.batch_size
    if images % workers or images < 2 * workers:
        nearest = max(2, math.ceil(images / workers)) * workers
        raise ValueError(
            f"batch_size={images} for {workers} workers: must be a multiple of their number, with two images each or "
            f"more; use --batch-size {nearest}, or another number of workers."
        )
    if settings.imagination and workers > 1:
        raise ValueError(
            f"imagination={settings.imagination!r} with {workers} workers: imagination needs whole batches in one "
            "process; start it without torchrun."
        )


def _resumed_plan(directory: RunDirectory, given: RunSettings | None, note: Note) -> Plan:
    saved, started = directory.read_config(), directory.settings()
    for name in [] if given is None else absolute(given).differences(absolute(started)):
        ours, theirs = getattr(given, name), getattr(started, name)
        raise ValueError(
            f"{name} = {ours!r}, but {directory.path} was started with {name} = {theirs!r}: leave it out to resume, "
            "or start another run with another --out."
        )
    for name, version in versions().items():
        if (before := saved["versions"].get(name)) != version:
            note(f"{name} is {version} now and was {before}: from here on the last digits may differ")
    worlds = {name: getattr(started, name) for name in ("stream", "imagination", "anticipation")}
    settings = started if given is None else dataclasses.replace(given, **worlds)  # named as in the saved stages
    plan = make_plan(settings, directory.timeline(), note)
    if plan.config.to_dict() != type(plan.config).from_dict(saved["config"]).to_dict():
        raise ValueError(
            f"{directory.path} was started with another configuration than preset {started.preset!r} has now; "
            "use the version of vase that started it, or start a new run."
        )
    return plan
