"""The report of a run, from its rows and its checkpoint, as one file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from vase.files import Guard, unguarded, write_bytes
from vase.learners.protocol import InfersEnvironments, Learner
from vase.metrics.latents import learner_states
from vase.metrics.record import Record
from vase.plots.page import axis_labels, environment_labels
from vase.plots.run import held_out, open_run
from vase.plots.style import WORLD_COLOURS, world_colour
from vase.report.bundle import page
from vase.report.facts import commands, configuration, cost
from vase.report.live import SHOWN, live_latents
from vase.report.sentences import three_sentences
from vase.report.tables import tables
from vase.report.timeline import timeline
from vase.training.directory import RunDirectory
from vase.training.summary import summary
from vase.worlds.spec import title

FILE = "report.html"


def write_report(
    run_dir: str | os.PathLike[str], out: str | os.PathLike[str] | None = None, *, data: str | None = None
) -> Path:
    """Write the report of a run, finished or not; returns the file, report.html in the run's folder unless told."""
    directory = RunDirectory(run_dir)
    directory.remember()
    path, guard = (directory.path / FILE, directory.require_own) if out is None else (Path(out), unguarded)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file, e.g. {path / FILE}.")
    return write_page(path, open_report(run_dir, data=data)[0], guard)


def open_report(
    run_dir: str | os.PathLike[str], *, data: str | None = None
) -> tuple[dict[str, Any], Learner, dict[int, np.ndarray]]:
    """What the page of a run shows, with its learner and held-out images by environment."""
    directory = RunDirectory(run_dir)
    learner, plan, record = open_run(directory, data)
    images = {s: held_out(plan, world, s, SHOWN) for s, world in record.world_of.items()}
    return report_data(directory, learner, record, live_latents(learner, images)), learner, images


def write_page(path: Path, shown: dict[str, Any], guard: Guard = unguarded) -> Path:
    """Write what a page shows as one file; returns it."""
    write_bytes(path, page_of(shown).encode(), guard)
    return path


def page_of(shown: dict[str, Any]) -> str:
    """The page that shows some data."""
    return page(f"{shown['title']} · VASE", shown)


def report_data(
    directory: RunDirectory, learner: Learner, record: Record, live: dict[str, Any] | None
) -> dict[str, Any]:
    """Everything that the page shows, ready for JSON; `live` is None for a learner without live latents."""
    config, settings, found = directory.read_config(), directory.settings(), summary(directory.path)
    return {
        "title": " → ".join(title(world) for world, _ in record.stages),
        "subtitle": f"preset {settings.preset}, seed {settings.seed}, {_moment(found)}",
        "sentences": three_sentences(found, settings.batch_size),
        "worlds": {world: {"title": title(world), "colour": _colour(record, world)} for world in record.worlds},
        "environments": _environments(learner, record),
        "latents": {
            "count": learner.n_latents,
            "names": {str(n): name for n, name in axis_labels(record).items()},
            "own": {str(n): name for n, name in directory.latent_names().items()},
        },
        "live": live,
        "timeline": timeline(record),
        "tables": tables(record, found),
        "cost": cost(directory, found, settings.batch_size),
        "configuration": configuration(config),
        "commands": commands(settings),
    }


def _moment(found: dict[str, Any]) -> str:
    return f"{found['steps']:,} batches" if found["complete"] else f"batch {found['steps']:,} of {found['total']:,}"


def _colour(record: Record, world: str) -> str:
    return world_colour(record.worlds.index(world))


def _environments(learner: Learner, record: Record) -> list[dict[str, Any]]:
    """Each environment with its world, its colour and the state of its latents; none if the learner infers none."""
    if not isinstance(learner, InfersEnvironments):
        return []
    labels = environment_labels(record)
    return [
        {
            "label": labels.get(s, f"environment {s}"),
            "colour": _colour(record, record.world_of[s]) if s in record.world_of else WORLD_COLOURS[-1],
            "states": states.tolist(),
        }
        for s, states in enumerate(learner_states(learner))
    ]
