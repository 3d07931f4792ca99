"""Figures of a run, from its rows and its checkpoint."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vase.learners.vase import VASE
from vase.training.directory import RunDirectory
from vase.training.plan import Plan, make_plan
from vase.training.settings import RunSettings

if TYPE_CHECKING:
    from vase.plots import Record
    from vase.plots.album import Album

IMAGES = 64
"""Held-out images per environment that the pictures are drawn from."""


def write_run_figures(run_dir: str | os.PathLike[str], *, data: str | None = None) -> list[Path]:
    """Draw every figure of a run, finished or not, into its folder figures/; returns the files."""
    from vase.plots import write_figures  # here, because it takes matplotlib half a second to wake up

    directory = RunDirectory(run_dir)
    model, plan, record = open_run(directory, data)
    images = {
        environment: _held_out(plan, world, environment, IMAGES) for environment, world in record.world_of.items()
    }
    return write_figures(directory.figures_path, model, record, images)


def album_of(directory: RunDirectory, data: str | None = None) -> Album:
    """The pictures that an experiment keeps of a run, finished or not."""
    from vase.plots.album import SHOWN, make_album  # here for the same reason

    model, plan, record = open_run(directory, data)
    places = {world: s for world, s in record.environment_of.items() if s < len(model.environments)}
    if not places:
        raise ValueError(
            f"{directory.path} has learnt nothing yet: go on with: vase train --resume --out {directory.path}"
        )
    images = {world: _held_out(plan, world, number, SHOWN) for number, world in enumerate(places)}
    return make_album(model, images, places)


def open_run(directory: RunDirectory, data: str | None = None) -> tuple[VASE, Plan, Record]:
    """The learner, the data behind the run, and its rows."""
    from vase.plots import Record

    config = directory.read_config()
    settings = RunSettings.from_dict(config["settings"])
    stages = [(str(world), int(steps)) for world, steps in config["stages"]]
    plan = make_plan(settings if data is None else replace(settings, data=data), stages)
    model = VASE.load(directory.checkpoint_path, device=settings.device)
    return model, plan, Record(tuple(stages), tuple(directory.rows()), threshold=plan.config.mask.threshold)


def _held_out(plan: Plan, world: str, number: int, count: int) -> np.ndarray:
    """Held-out images of a world; `number` sets them apart from those of other worlds."""
    return plan.worlds[world][1].sample(count, np.random.default_rng([plan.settings.seed, number])).images
