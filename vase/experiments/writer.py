"""Write the result files of finished runs."""

from __future__ import annotations

import json
import re

from vase.experiments.experiment import Analysis, resolve
from vase.experiments.results import DIR, Job, public
from vase.files import write_arrays, write_bytes
from vase.machine import commit, cpu_name
from vase.plots.run import figure_data_of, open_run
from vase.rows import Row
from vase.training.directory import RunDirectory
from vase.training.process import threads
from vase.training.settings import RunSettings
from vase.training.summary import summary


def without_path(source: str) -> str:
    """The source of the images of a world, without the path of a folder.

    >>> without_path("faces (320 pictures in /home/me/faces/train)"), without_path("fashion (cache)")
    ('faces (320 pictures in DIR)', 'fashion (cache)')
    """
    return re.sub(r"( pictures| frames) in .*?(\)?)$", rf"\1 in {DIR}\2", source)


def exported_rows(job: Job) -> list[Row]:
    """The rows of a run that its result file holds."""
    return [row for row in RunDirectory(job.path).rows() if job.shown or row["kind"] != "step"]


def analyse(job: Job) -> Analysis | None:
    """The experiment's own analysis of the trained learner, computed as it was trained; None if there is none."""
    if job.experiment.analyse is None:
        return None
    with threads(job.settings.threads):
        found: Analysis = resolve(job.experiment.analyse)(*open_run(RunDirectory(job.path)))
    return found


def export(job: Job) -> None:
    """Write the result files of a finished run."""
    directory, found = RunDirectory(job.path), analyse(job)
    if job.shown:
        data = figure_data_of(directory) if job.experiment.saves_figure_data(job.condition) else None
        if data is not None:
            data.save(job.target.with_suffix(".npz"))
        if pictures := {**directory.pictures(), **({} if found is None else found.pictures)}:
            write_arrays(job.target.with_suffix(".pictures.npz"), pictures)
    about, config = summary(directory.path), directory.read_config()
    config["settings"] = public(RunSettings.from_dict(config["settings"])).to_dict()
    for part in (config, about):
        part["sources"] = {world: without_path(source) for world, source in part["sources"].items()}
    head = {
        "command": job.command(),
        **config,
        "commit": commit(),
        "cpu": cpu_name(),
        "seconds": about.pop("seconds"),
        "learning_seconds": about.pop("learning_seconds"),
        "steps_per_second": about.pop("steps_per_second"),
        "summary": about,
        **({} if found is None else {"findings": found.numbers}),
    }
    lines = ",\n  ".join(json.dumps(row) for row in exported_rows(job))
    body = json.dumps(head, indent=1)[:-2] + f',\n "rows": [\n  {lines}\n ]\n}}\n'
    job.target.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(job.target, body.encode())
