"""Finished runs as files. Tables and figures read these files and nothing else.

results/EXPERIMENT/PRESET/CONDITION-SEED.json holds one run: command, settings, configuration, versions, commit,
processor, seconds, summary and rows. Conditions that figures show save more of their first seed: step rows for the
curves, and pictures in CONDITION-SEED.npz or CONDITION-SEED.pictures.npz.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from vase.experiments.experiment import Condition, Experiment
from vase.metrics.record import Record
from vase.rows import Row
from vase.training.settings import RunSettings
from vase.worlds.spec import FACES_VARIABLE
from vase.worlds.timeline import Timeline

MACHINE_DEFAULTS: dict[str, Any] = {"data": None, "device": "auto", "threads": 1}
"""Machine-specific settings, removed from result files."""
FOLDERS = ("faces", "frames")
"""Settings that name a folder of pictures. A result file says that there was one, not where."""
DIR = "DIR"
"""What a result file says instead of such a path."""


def public(settings: RunSettings) -> RunSettings:
    """The settings of a run as its result file has them, without anything machine-specific."""
    named: dict[str, Any] = {name: DIR for name in FOLDERS if getattr(settings, name) is not None}
    return replace(settings, **MACHINE_DEFAULTS, **named)


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
    def path(self) -> Path:
        """The run directory."""
        return self.runs / self.experiment.name / self.settings.preset / self.name

    @property
    def shown(self) -> bool:
        """Whether figures show it."""
        return self.condition.shown and self.seed == self.condition.seeds[0]

    def command(self) -> str:
        """The command that reproduces the run."""
        words = ["vase", "experiment", "run", self.experiment.command_name, "--preset", self.settings.preset]
        folders = [word for name in FOLDERS if getattr(self.settings, name) is not None for word in (f"--{name}", DIR)]
        return shlex.join([*words, "--only", self.condition.name, "--seeds", str(self.seed), *folders])


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


@dataclass(frozen=True)
class Result:
    """One finished run, read from its file."""

    path: Path

    @cached_property
    def content(self) -> dict[str, Any]:
        """The parsed file."""
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
        """Its seed, from its file name."""
        return int(self.path.stem.rpartition("-")[2])

    @property
    def summary(self) -> dict[str, Any]:
        """What `vase summary` says about the run, apart from its time."""
        return dict(self.content["summary"])

    @property
    def infers_environments(self) -> bool:
        """Whether its learner infers environments; one that does announces at least the first."""
        return bool(self.content["summary"].get("environments"))

    @property
    def rows(self) -> list[Row]:
        """Its rows, with step rows only if figures show it."""
        return list(self.content["rows"])

    def of(self, kind: str) -> list[Row]:
        """Rows of one kind."""
        return [row for row in self.content["rows"] if row["kind"] == kind]

    @cached_property
    def timeline(self) -> Timeline:
        """The stages of its stream."""
        return Timeline.of(self.content["stages"])

    @property
    def record(self) -> Record:
        """Its stages and rows, for curves."""
        threshold = self.content["config"].get("mask", {}).get("threshold", 0.6)
        return Record(self.timeline.stages, tuple(self.rows), threshold=threshold)

    @property
    def analysis(self) -> dict[str, Any]:
        """The numbers of the experiment's own analysis of the learner; empty if it has none."""
        return dict(self.content.get("findings", {}))


@dataclass(frozen=True)
class Results:
    """The finished runs of an experiment in one preset."""

    experiment: Experiment
    preset: str
    folder: Path

    @cached_property
    def _read(self) -> dict[str, list[Result]]:
        """Results read so far: tables and their notes ask for the same runs."""
        return {}

    def of(self, condition: str) -> list[Result]:
        """The finished runs of a condition, by seed."""
        self.experiment.condition(condition)
        if condition not in self._read:
            paths = {path.stem.removeprefix(f"{condition}-"): path for path in self.folder.glob(f"{condition}-*.json")}
            self._read[condition] = [Result(paths[seed]) for seed in sorted(filter(str.isdecimal, paths), key=int)]
        return self._read[condition]

    @property
    def finished(self) -> list[tuple[Condition, list[Result]]]:
        """Every condition that has finished runs, with them."""
        pairs = [(condition, self.of(condition.name)) for condition in self.experiment.conditions]
        return [(condition, runs) for condition, runs in pairs if runs]

    @property
    def runs(self) -> list[Result]:
        """All finished runs, condition by condition."""
        return [run for _, runs in self.finished for run in runs]

    def shown(self) -> Results:
        """The same, restricted to the conditions that figures show."""
        return self.where(lambda condition: condition.shown)

    def where(self, chosen: Callable[[Condition], bool]) -> Results:
        """The same, restricted to some conditions."""
        conditions = tuple(filter(chosen, self.experiment.conditions))
        return replace(self, experiment=replace(self.experiment, conditions=conditions))

    def first(self, condition: str) -> Result:
        """The run that figures show."""
        path = self.folder / f"{condition}-{self.experiment.condition(condition).seeds[0]}.json"
        if not path.exists():
            raise FileNotFoundError(
                f"{path} does not exist: run it with: vase experiment run {self.experiment.command_name} "
                f"--preset {self.preset} --only {condition}"
            )
        return Result(path)


def results_of(experiment: Experiment, preset: str, results: str | Path) -> Results:
    """The finished runs, at least one."""
    folder = Path(results) / experiment.name / preset
    found = Results(experiment, preset, folder)
    if not found.finished:
        raise FileNotFoundError(
            f"{folder} holds no result: stand in a clone of the repository, name its folder with --results, or train "
            f"with: vase experiment run {experiment.command_name} --preset {preset}"
        )
    return found


def checked_results(experiment: Experiment, preset: str, results: str | Path) -> Results:
    """The finished runs. One with other settings is an error, but any folder of pictures will do."""
    return checked(results_of(experiment, preset, results))


def checked(found: Results) -> Results:
    """The same runs, none of which has other settings."""
    for condition, runs in found.finished:
        for run in runs:
            before = run.settings
            folders = {name: getattr(before, name) for name in FOLDERS}
            now = found.experiment.settings(condition, run.seed, found.preset, **folders)
            require_same(found.experiment, run.path, now, before)
    return found


def require_same(experiment: Experiment, path: Path, now: RunSettings, before: RunSettings) -> None:
    """Raise ValueError if a result file was made with other settings than the experiment has now."""
    if names := public(now).differences(before):
        raise ValueError(
            f"{path} was made {_difference(experiment, names[0], before)}: delete it to run it again, or name another "
            "folder with --results."
        )


def _difference(experiment: Experiment, name: str, before: RunSettings) -> str:
    if name not in FOLDERS:
        return f"with another {name} than {experiment.name} has now"
    hint = f" (or {FACES_VARIABLE} in the environment)" if name == "faces" else ""
    words = ("without", "with") if getattr(before, name) is None else ("with", "without")
    return f"{words[0]} --{name}{hint}, and now it is {words[1]}"
