"""Experiments as data: a stream, conditions and seeds; and the small files their finished runs leave behind.

results/EXPERIMENT/PRESET/CONDITION-SEED.json holds one run: command, settings, configuration, versions, seconds,
summary and rows. Conditions that figures show keep more of their first seed: step rows for the curves, and pictures in
CONDITION-SEED.npz or CONDITION-SEED.pictures.npz. Tables and figures read these files and nothing else.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vase import checkpoint
from vase.metrics.record import Record
from vase.plots.figure_data import FigureData
from vase.plots.run import figure_data_of, open_run
from vase.sweeps import Cell
from vase.training import RunDirectory, RunSettings
from vase.training.process import threads
from vase.training.summary import summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from vase.experiments.tables import Table
    from vase.training import Plan

NOWHERE: dict[str, Any] = {"data": None, "device": "auto", "threads": 1}
"""Where a run computed is nobody's business but its machine's."""
FOLDERS = ("faces", "frames")
"""Settings that name a folder of pictures: that there is one belongs to a run, its path to the machine."""
DIR = "DIR"
"""What a result file says instead of such a path."""
FIVE_SEEDS = (0, 1, 2, 3, 4)
THREE_SEEDS = (0, 1, 2)


@dataclass(frozen=True, eq=False)
class Findings:
    """What an experiment asked a learner when its run was over."""

    numbers: dict[str, Any]
    """JSON-ready."""
    pictures: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Kept for conditions that are shown."""


@dataclass(frozen=True)
class Condition:
    """One way to run the learner on the stream of an experiment."""

    name: str
    """In file names, e.g. "disentangled-SDA"."""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the configuration by dotted name."""
    seeds: tuple[int, ...] = FIVE_SEEDS
    shown: bool = False
    """Keep step rows and pictures of the first seed, for figures."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Other settings of its runs, e.g. {"imagination": "mnist"}."""


@dataclass(frozen=True)
class Experiment:
    """A question to the learner: what is run, and how the answer is read from the saved rows."""

    name: str
    title: str
    """One line for a list."""
    stream: str
    steps: Mapping[str, int]
    """Preset -> batches per stage; presets without an entry take their own default."""
    conditions: tuple[Condition, ...]
    tables: Mapping[str, Callable[[Results], Table]]
    """Name -> table; the first one is the main one."""
    figures: Mapping[str, Callable[[Results], Figure]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    """Other settings of every run, e.g. {"measures": False}."""
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Preset -> fields of the configuration that the paper has otherwise for this experiment."""
    examine: Callable[[Any, Plan, Record], Findings] | None = None
    """More questions to the learner when a run is over; the answers are kept with its rows."""
    albums: tuple[str, ...] | None = None
    """Conditions whose first seed keeps traversals and reconstructions; None: all that are shown."""

    @property
    def traversed(self) -> tuple[str, ...]:
        """Conditions that keep an album."""
        shown = tuple(condition.name for condition in self.conditions if condition.shown)
        return shown if self.albums is None else self.albums

    def settings(self, condition: Condition, seed: int, preset: str, **place: Any) -> RunSettings:
        """One run. `place` says where it computes, and of which folders: data, device, threads, faces, frames."""
        return RunSettings.of(
            preset,
            stream=self.stream,
            steps=self.steps.get(preset),
            overrides={**self.values.get(preset, {}), **condition.overrides},
            seed=seed,
            **{"measures": True, **self.options, **condition.options, **place},
        )

    def condition(self, name: str) -> Condition:
        """A condition by its name."""
        for condition in self.conditions:
            if condition.name == name:
                return condition
        known = ", ".join(condition.name for condition in self.conditions)
        raise ValueError(f"{self.name} has no condition {name!r}; it has {known}.")


def public(settings: RunSettings) -> RunSettings:
    """The settings of a run as its result file tells them, with nothing of the machine."""
    named: dict[str, Any] = {name: DIR for name in FOLDERS if getattr(settings, name) is not None}
    return replace(settings, **NOWHERE, **named)


def without_path(source: str) -> str:
    """Where images came from, as a result file tells it.

    >>> without_path("faces (320 pictures in /home/me/faces/train)"), without_path("fashion (cache)")
    ('faces (320 pictures in DIR)', 'fashion (cache)')
    """
    return re.sub(r"( pictures| frames) in .*?(\)?)$", rf"\1 in {DIR}\2", source)


@dataclass(frozen=True)
class Job:
    """One run of an experiment, and the files it fills."""

    experiment: Experiment
    condition: Condition
    seed: int
    settings: RunSettings
    results: Path
    runs: Path

    @property
    def name(self) -> str:
        """CONDITION-SEED."""
        return f"{self.condition.name}-{self.seed}"

    @property
    def target(self) -> Path:
        """The result file."""
        return self.results / self.experiment.name / self.settings.preset / f"{self.name}.json"

    @property
    def cell(self) -> Cell:
        """The run behind it."""
        return Cell(self.runs / self.experiment.name / self.settings.preset / self.name, self.settings)

    @property
    def shown(self) -> bool:
        """Whether figures show it."""
        return self.condition.shown and self.seed == self.condition.seeds[0]

    def rows(self) -> list[dict[str, Any]]:
        """The rows of the run that are kept."""
        return [row for row in RunDirectory(self.cell.path).rows() if self.shown or row["kind"] != "step"]

    def keep(self) -> None:
        """Write the result files of the finished run."""
        directory, shown = RunDirectory(self.cell.path), self.shown
        wanted = shown and self.condition.name in self.experiment.traversed
        if wanted and (data := figure_data_of(directory)) is not None:
            data.save(self.target.with_suffix(".npz"))
        found = self.findings()
        pictures = {**directory.pictures(), **({} if found is None else found.pictures)}
        if pictures and shown:
            checkpoint.write_arrays_atomic(self.target.with_suffix(".pictures.npz"), pictures)
        about = summary(directory.path)
        config = directory.read_config()
        config["settings"] = public(RunSettings.from_dict(config["settings"])).to_dict()
        for told in (config, about):
            told["sources"] = {world: without_path(source) for world, source in told["sources"].items()}
        head = {
            "command": self.command(),
            **config,
            "seconds": about.pop("seconds"),
            "steps_per_second": about.pop("steps_per_second"),
            "summary": about,
            **({} if found is None else {"findings": found.numbers}),
        }
        lines = ",\n  ".join(json.dumps(row) for row in self.rows())
        body = json.dumps(head, indent=1)[:-2] + f',\n "rows": [\n  {lines}\n ]\n}}\n'
        self.target.parent.mkdir(parents=True, exist_ok=True)
        checkpoint.write_bytes_atomic(self.target, body.encode())

    def findings(self) -> Findings | None:
        """Answers of the finished run's learner, computed as it was trained."""
        examine = self.experiment.examine
        if examine is None:
            return None
        with threads(self.settings.threads):
            return examine(*open_run(RunDirectory(self.cell.path)))

    def command(self) -> str:
        """What a user types to get the same run."""
        words = ["vase", "experiment", "run", self.experiment.name, "--preset", self.settings.preset]
        folders = [word for name in FOLDERS if getattr(self.settings, name) is not None for word in (f"--{name}", DIR)]
        return shlex.join([*words, "--only", self.condition.name, "--seeds", str(self.seed), *folders])


@dataclass(frozen=True)
class Result:
    """One finished run, as its file tells it."""

    path: Path

    @cached_property
    def content(self) -> dict[str, Any]:
        """The file."""
        try:
            found = json.loads(self.path.read_bytes())
        except ValueError as error:
            raise self._damaged(error) from error
        if not isinstance(found, dict):
            raise self._damaged("not an object")
        return found

    def _damaged(self, why: object) -> ValueError:
        return ValueError(f"{self.path} is damaged ({why}); restore it, or delete it and run it again.")

    @property
    def settings(self) -> RunSettings:
        """What was run."""
        content = self.content
        try:
            return RunSettings.from_dict(content["settings"])
        except (KeyError, TypeError, ValueError) as error:
            raise self._damaged(f"settings: {error}") from error

    @property
    def seed(self) -> int:
        """Its seed, after its name."""
        return int(self.path.stem.rpartition("-")[2])

    @property
    def summary(self) -> dict[str, Any]:
        """What `vase summary` says about the run, apart from its time."""
        return dict(self.content["summary"])

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Its rows, with step rows only if it is shown."""
        return list(self.content["rows"])

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Rows of one kind."""
        return [row for row in self.content["rows"] if row["kind"] == kind]

    @property
    def record(self) -> Record:
        """What the curves are drawn from."""
        stages = tuple((str(world), int(steps)) for world, steps in self.content["stages"])
        return Record(stages, tuple(self.rows), threshold=self.content["config"]["mask"]["threshold"])

    @property
    def findings(self) -> dict[str, Any]:
        """What the experiment asked beyond the rows."""
        return dict(self.content["findings"])

    @cached_property
    def pictures(self) -> dict[str, np.ndarray]:
        """Pictures of these questions; an error for runs that keep none."""
        path = self.path.with_suffix(".pictures.npz")
        if not path.exists():
            raise FileNotFoundError(
                f"{path} does not exist: restore it from a clone of the repository, or delete {self.path.name} beside "
                "it and run that condition again with: vase experiment run"
            )
        return checkpoint.read_arrays(path)

    @cached_property
    def album(self) -> FigureData:
        """Its pictures; an error for conditions that keep none."""
        return FigureData.load(self.path.with_suffix(".npz"))


@dataclass(frozen=True)
class Results:
    """The finished runs of an experiment in one preset."""

    experiment: Experiment
    preset: str
    folder: Path

    @cached_property
    def _read(self) -> dict[str, list[Result]]:
        """What was read so far: tables and their notes ask for the same runs."""
        return {}

    def of(self, condition: str) -> list[Result]:
        """The finished runs of a condition, by seed."""
        self.experiment.condition(condition)
        if condition not in self._read:
            paths = {path.stem.removeprefix(f"{condition}-"): path for path in self.folder.glob(f"{condition}-*.json")}
            self._read[condition] = [Result(paths[seed]) for seed in sorted(filter(str.isdecimal, paths), key=int)]
        return self._read[condition]

    @property
    def runs(self) -> list[Result]:
        """All finished runs, condition by condition."""
        return [run for condition in self.experiment.conditions for run in self.of(condition.name)]

    def shown(self) -> Results:
        """The same, with the conditions that figures show alone."""
        chosen = tuple(condition for condition in self.experiment.conditions if condition.shown)
        return replace(self, experiment=replace(self.experiment, conditions=chosen))

    def first(self, condition: str) -> Result:
        """The run that figures show."""
        path = self.folder / f"{condition}-{self.experiment.condition(condition).seeds[0]}.json"
        if not path.exists():
            raise FileNotFoundError(
                f"{path} does not exist: run it with: vase experiment run {self.experiment.name} "
                f"--preset {self.preset} --only {condition}"
            )
        return Result(path)


def results_of(experiment: Experiment, preset: str, results: str | Path) -> Results:
    """The finished runs, at least one."""
    folder = Path(results) / experiment.name / preset
    found = Results(experiment, preset, folder)
    if not any(found.of(condition.name) for condition in experiment.conditions):
        raise FileNotFoundError(
            f"{folder} holds no result: stand in a clone of the repository, name its folder with --results, or train "
            f"with: vase experiment run {experiment.name} --preset {preset}"
        )
    return found


def jobs_of(
    experiment: Experiment,
    preset: str,
    results: str | Path,
    runs: str | Path,
    *,
    only: Sequence[str] = (),
    seeds: Sequence[int] = (),
    **place: Any,
) -> list[Job]:
    """The runs of an experiment, seed by seed, so that an interrupted study has every condition equally often.

    `only` names conditions, `seeds` restricts or replaces the seeds.
    """
    chosen = [experiment.condition(name) for name in only] or list(experiment.conditions)
    wanted = seeds or sorted({seed for condition in chosen for seed in condition.seeds})
    return [
        Job(experiment, c, seed, experiment.settings(c, seed, preset, **place), Path(results), Path(runs))
        for seed in wanted
        for c in chosen
        if seeds or seed in c.seeds
    ]
