"""Figures of a run, from its rows and its checkpoint."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from vase.learners.protocol import Decodes, Learner
from vase.metrics.latents import learner_states
from vase.metrics.record import Record
from vase.plots.figure_data import SHOWN, FigureData, make_figure_data
from vase.plots.write import write_figures
from vase.training.directory import RunDirectory
from vase.training.plan import Plan, make_plan

IMAGES = 64  # held-out images per environment that traversals and reconstructions are drawn from


def write_run_figures(run_dir: str | os.PathLike[str], *, data: str | None = None) -> list[Path]:
    """Draw every figure of a run, finished or not, into its folder figures/; returns the files."""
    directory = RunDirectory(run_dir)
    learner, plan, record = open_run(directory, data)
    images = {s: _held_out(plan, world, s, IMAGES) for s, world in record.world_of.items()}
    return write_figures(directory.figures_path, learner, record, images)


def figure_data_of(directory: RunDirectory, data: str | None = None) -> FigureData | None:
    """The images that an experiment exports of a run, finished or not; None if its learner has no decoder."""
    learner, plan, record = open_run(directory, data)
    if not isinstance(learner, Decodes):
        return None
    places = {world: s for world, s in record.environment_of.items() if s < len(learner_states(learner))}
    if not places:
        raise ValueError(
            f"{directory.path} has learnt nothing yet: go on with: vase train --resume --out {directory.path}"
        )
    images = {world: _held_out(plan, world, number, SHOWN) for number, world in enumerate(places)}
    return make_figure_data(learner, images, places)


def open_run(directory: RunDirectory, data: str | None = None) -> tuple[Learner, Plan, Record]:
    """The learner, the data behind the run, and its rows."""
    settings, timeline = directory.settings(), directory.timeline()
    plan = make_plan(settings if data is None else replace(settings, data=data), timeline)
    record = Record(timeline.stages, tuple(directory.rows()), threshold=plan.config.mask.threshold)
    return directory.learner(), plan, record


def _held_out(plan: Plan, world: str, number: int, count: int) -> np.ndarray:
    """Held-out images of a world; `number` sets them apart from those of other worlds."""
    return plan.worlds[world][1].sample(count, np.random.default_rng([plan.settings.seed, number])).images
