"""All figures of a run, from its rows and its checkpoint, as files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from vase.files import Guard, unguarded
from vase.learners.change import Change
from vase.learners.protocol import Decodes, InfersEnvironments, Learner
from vase.metrics.latents import learner_states
from vase.metrics.record import Record
from vase.plots.changes import change_figure
from vase.plots.curves import atypicality, probe_curves
from vase.plots.figure_data import SHOWN, FigureData, make_figure_data
from vase.plots.latents import latent_use
from vase.plots.page import axis_labels, environment_colours, environment_labels, overview
from vase.plots.pictures import Images, reconstructions, traversals
from vase.plots.style import save
from vase.training.directory import RunDirectory
from vase.training.plan import Plan, make_plan

IMAGES = 64  # held-out images per environment that traversals and reconstructions are drawn from
CHANGES = 12  # of one figure; more are continued in changes-2.png and so on


def write_run_figures(
    run_dir: str | os.PathLike[str], *, data: str | None = None, out: str | os.PathLike[str] | None = None
) -> list[Path]:
    """Draw every figure of a run, finished or not, into `out`, by default its folder figures/; returns the files."""
    directory = RunDirectory(run_dir)
    directory.remember()
    learner, plan, record = open_run(directory, data)
    images = {s: held_out(plan, world, s, IMAGES) for s, world in record.world_of.items()}
    folder, guard = (directory.figures_path, directory.require_own) if out is None else (Path(out), unguarded)
    try:
        return write_figures(folder, learner, record, images, guard)
    except OSError as error:
        if error.errno is None:
            raise
        reason = error.strerror or str(error)
        raise OSError(f"{folder} cannot be written ({reason}); name another folder with --out.") from error


def write_figures(
    folder: Path, learner: Learner, record: Record, images_by_environment: Images, guard: Guard = unguarded
) -> list[Path]:
    """Draw every figure of a run into a folder, as PNG; returns the files.

    Figures of what the learner cannot do or the rows do not tell are left out. Traversals and reconstructions show the
    environments with held-out images that the learner knows already.
    """
    states = learner_states(learner)
    known = {s: images for s, images in images_by_environment.items() if s < len(states)}
    labels, colours = environment_labels(record), environment_colours(record)
    figures: dict[str, Callable[[], Figure]] = {
        "overview": lambda: overview(learner, record, known),
        "atypicality": lambda: atypicality(record),
    }
    if record.of("probe"):
        figures["probes"] = lambda: probe_curves(record)
    if isinstance(learner, InfersEnvironments):
        figures["latents"] = lambda: latent_use(states, labels, colours, record.moment(learner.steps))
    if isinstance(learner, Decodes) and known:
        names = axis_labels(record)
        figures["traversals"] = lambda: traversals(learner, known, labels, colours=colours, names=names)
        figures["reconstructions"] = lambda: reconstructions(learner, known, labels)
    changes = _changes(record)
    for start in range(0, len(changes), CHANGES):
        name = f"changes-{1 + start // CHANGES}" if start else "changes"
        figures[name] = partial(change_figure, changes[start : start + CHANGES])
    return [save(draw(), Path(folder) / f"{name}.png", guard=guard) for name, draw in figures.items()]


def _changes(record: Record) -> list[Change]:
    """What changed at each announced switch, as far as the rows tell."""
    return [Change.from_row(row["change"]) for row in record.switches if row.get("change")]


def figure_data_of(directory: RunDirectory, data: str | None = None) -> FigureData | None:
    """The images that an experiment exports of a run, finished or not; None if its learner has no decoder."""
    learner, plan, record = open_run(directory, data)
    if not isinstance(learner, Decodes):
        return None
    places = {world: s for world, s in record.environment_of.items() if s < len(learner_states(learner))}
    if not places:
        remedy = f"vase train --resume --out {directory.path}"
        raise ValueError(f"{directory.path} has learnt nothing yet: go on with: {remedy}")
    images = {world: held_out(plan, world, number, SHOWN) for number, world in enumerate(places)}
    return make_figure_data(learner, images, places)


def open_run(directory: RunDirectory, data: str | None = None) -> tuple[Learner, Plan, Record]:
    """The learner, the data behind the run, and its rows."""
    plan, record = read_run(directory, data)
    return directory.learner(), plan, record


def read_run(directory: RunDirectory, data: str | None = None) -> tuple[Plan, Record]:
    """The data behind the run, and its rows."""
    settings, timeline = directory.settings(), directory.timeline()
    plan = make_plan(settings if data is None else replace(settings, data=data), timeline)
    return plan, Record(timeline.stages, tuple(directory.rows()), threshold=plan.config.mask.threshold)


def held_out(plan: Plan, world: str, number: int, count: int) -> np.ndarray:
    """Held-out images of a world; `number` sets them apart from those of other worlds."""
    return plan.worlds[world][1].sample(count, np.random.default_rng([plan.settings.seed, number])).images
