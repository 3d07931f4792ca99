"""Figures of a run, from its rows and its checkpoint."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from vase.learner import VASE
from vase.runs.directory import RunDirectory
from vase.runs.settings import RunSettings, make_plan

IMAGES = 64
"""Held-out images per environment that the pictures are drawn from."""


def write_run_figures(run_dir: str | os.PathLike[str], *, data: str | None = None) -> list[Path]:
    """Draw every figure of a run, finished or not, into its folder figures/; returns the files."""
    from vase.report import Record, write_figures  # here, because it takes matplotlib half a second to wake up

    directory = RunDirectory(run_dir)
    config = directory.read_config()
    settings = RunSettings.from_dict(config["settings"])
    stages = [(str(world), int(steps)) for world, steps in config["stages"]]
    plan = make_plan(settings if data is None else replace(settings, data=data), stages)
    model = VASE.load(directory.checkpoint_path, device=settings.device)
    record = Record(tuple(stages), tuple(directory.rows()), threshold=plan.config.mask.threshold)
    images = {
        environment: plan.worlds[world][1].sample(IMAGES, np.random.default_rng([settings.seed, environment])).images
        for environment, world in record.world_of.items()
    }
    return write_figures(directory.figures_path, model, record, images)
