"""A run directory: settings, rows, checkpoints. A killed run resumes exactly, whatever moment it was killed at.

config.json     settings, stages, configuration, data and versions; of a fork also its parent
rows.jsonl      one JSON object per line; nothing in it depends on time or machine
checkpoints/    the last few, a folder each, named after its step: learner, callbacks (probes among them), position in
                the stream and in rows.jsonl, committed as one unit
timing.json     wall time, which may differ between two runs
summary.json    the results
latents.json    names that people gave to latents
pictures.npz    images from the end of stages with imagination or anticipation
figures/        PNG
"""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import vase
from vase import checkpoint
from vase.config import VASEConfig
from vase.files import read_arrays, read_json, write_arrays, write_json
from vase.learners.protocol import Learner
from vase.learners.sharing import shipped_models
from vase.rows import Row
from vase.training.lock import LockedDirectory
from vase.training.plan import Plan, build_learner
from vase.training.row_file import START, read_rows
from vase.training.settings import RunSettings
from vase.worlds.timeline import Timeline

FORMAT = 2
_CONFIG = {"settings": dict, "stages": list, "sources": dict, "config": dict, "versions": dict}
"""What config.json holds, apart from its format."""
_SEGMENT = ("from", "to", "seconds")
_RUN = {"step": int, "settings": dict, "config": dict, "schedule": dict, "rows": dict}
"""What a checkpoint holds of its run."""


class RunDirectory(LockedDirectory):
    """Paths, configuration and checkpoints of one run."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path, kind="run", marker="config.json", pictures="figures")
        self.figures_path = self.pictures_path

    def write_config(self, plan: Plan, parent: Mapping[str, Any] | None = None) -> None:
        """Write config.json."""
        value = {
            "format": FORMAT,
            "settings": plan.settings.to_dict(),
            "stages": plan.timeline.stages,
            "sources": plan.sources,
            "config": plan.config.to_dict(),
            "versions": versions(),
            **({} if parent is None else {"parent": parent}),
        }
        self._write_json("config.json", value)

    def write_stages(self, timeline: Timeline) -> None:
        """Replace the stages in config.json, because their lengths have changed."""
        self._write_json("config.json", {**self.read_config(), "stages": timeline.stages})

    def read_config(self) -> dict[str, Any]:
        """The content of config.json, checked."""
        path = self.path / "config.json"
        if not self.path.is_dir() and str(self.path) in shipped_models():
            raise FileNotFoundError(
                f"{self.path} comes with the package as a learner, not as a run: open it in Python with "
                f"VASE.from_pretrained({str(self.path)!r}); 'vase demo' makes a run to look at."
            )
        if not self.path.is_dir():
            raise FileNotFoundError(
                f"{self.path} does not exist; name the directory of a run, or start one with --out."
            )
        if (self.path / checkpoint.MANIFEST).exists():
            raise FileNotFoundError(
                f"{self.path} is a saved learner, not a run: open it with VASE.load or VASE.from_pretrained."
            )
        if (self.path / "watch.json").exists():
            raise FileNotFoundError(
                f"{self.path} is a watch, not a run: read its rows.jsonl, or see it live with 'vase watch --page'; "
                "VASE.load opens its learner, which save_pretrained shares."
            )
        if not path.exists():
            raise FileNotFoundError(
                f"{self.path} is not a run: it holds no config.json; name that of a run, or start one with --out."
            )
        try:
            value = read_json(path)
            written = value["format"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is damaged ({error}); restore it from a copy, or start a new run.") from error
        if written != FORMAT:
            raise ValueError(
                f"{self.path} is a run directory of format {written}, and this version of vase ({vase.__version__}) "
                f"reads format {FORMAT}; use the version that wrote it, or start a new run."
            )
        if wrong := _misfit(value, _CONFIG):
            raise ValueError(f"{path} is damaged: {wrong}; restore it, or start a new run.")
        return value

    def settings(self) -> RunSettings:
        """The settings this run was started with."""
        try:
            return RunSettings.from_dict(self.read_config()["settings"])
        except TypeError as error:
            raise ValueError(f"{self.path / 'config.json'} is damaged ({error}); restore it from a copy.") from error

    def require_same(
        self,
        given: RunSettings,
        remedy: str = "leave it out to resume, or start another run with another --out",
        free: Collection[str] = (),
    ) -> None:
        """Refuse settings that would compute something else than this run; those in `free` may differ."""
        started = self.settings()
        for name in given.differences(started):
            if name not in free:
                ours, theirs = getattr(given, name), getattr(started, name)
                raise ValueError(f"{name} = {ours!r}, but {self.path} was started with {name} = {theirs!r}: {remedy}.")

    def timeline(self) -> Timeline:
        """The stages of the stream, with the worlds that the run really uses."""
        stages = self.read_config()["stages"]
        try:
            return Timeline.of(stages)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.path / 'config.json'} is damaged ({error}); restore it from a copy.") from error

    def rows(self) -> list[Row]:
        """All complete rows; those that a checkpoint knows of are verified."""
        saved = self.checkpoints.values()
        return read_rows(self.rows_path, START if saved is None else _run_of(saved, self.checkpoints.folder)["rows"])

    def timing(self) -> list[dict[str, float]]:
        """Timed segments of the run: {"from", "to", "seconds"}; empty if none can be read."""
        try:
            found = read_json(self.path / "timing.json")["segments"]
            return [segment for segment in found if math.isfinite(sum(segment[name] for name in _SEGMENT))]
        except (OSError, ValueError, KeyError, TypeError):
            return []

    def write_timing(self, segments: list[dict[str, float]]) -> None:
        """Replace the timed segments."""
        self._write_json("timing.json", {"segments": segments})

    def write_summary(self, found: Mapping[str, Any]) -> None:
        """Replace summary.json."""
        self._write_json("summary.json", found)

    def latent_names(self) -> dict[int, str]:
        """Names that people gave to latents; empty if there are none."""
        path = self.path / "latents.json"
        try:
            return {int(latent): str(name) for latent, name in read_json(path)["names"].items()}
        except FileNotFoundError:
            return {}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path} is damaged ({error}); restore it from a copy, or delete it.") from error

    def write_latent_names(self, names: Mapping[int, str]) -> None:
        """Replace the names of latents."""
        self._write_json("latents.json", {"names": {str(latent): names[latent] for latent in sorted(names)}})

    def pictures(self) -> dict[str, np.ndarray]:
        """The content of pictures.npz, by name; empty for most runs."""
        path = self.path / "pictures.npz"
        return read_arrays(path) if path.exists() else {}

    def keep_pictures(self, pictures: Mapping[str, np.ndarray]) -> None:
        """Add pictures to pictures.npz, or replace them."""
        write_arrays(self.path / "pictures.npz", {**self.pictures(), **pictures}, self.require_own)

    @property
    def has_checkpoint(self) -> bool:
        """Whether a state was ever committed."""
        return bool(self.checkpoints.steps())

    def save(self, state: checkpoint.State, keep: int = 3) -> None:
        """Commit a state as one unit, which is also a saved learner: `VASE.load(run)` opens it."""
        self.checkpoints.save(int(state["run"]["step"]), state, keep, self.require_own)

    def load(self, step: int | None = None, **options: Any) -> checkpoint.State:
        """A committed state {"learner", "run", "callbacks": {name: state}}: of a step, or the newest one.

        `options` are those of `Generations.load`.
        """
        state = self.checkpoints.load(**options) if step is None else self.checkpoints.load_step(step)
        _run_of(state, self.checkpoints.folder)
        if not isinstance(state.get("learner"), dict) or not isinstance(state.get("callbacks"), dict):
            raise checkpoint.CheckpointError(f"{self.checkpoints.folder}: lacks its learner or callbacks; use a copy.")
        return state

    def learner(self, device: str = "auto", step: int | None = None) -> Learner:
        """The learner, of whichever class, as the checkpoint of a step left it, or the last one."""
        found = build_learner(
            replace(self.settings(), device=device), VASEConfig.from_dict(self.read_config()["config"])
        )
        found.load_state_dict(self.load(step)["learner"])
        return found

    def is_complete(self) -> bool:
        """Whether the run has reached the end of its stream."""
        return self.has_checkpoint and int(self.load()["run"]["step"]) >= self.timeline().total

    def _write_json(self, name: str, value: Any) -> None:
        write_json(self.path / name, value, self.require_own)


def _run_of(state: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """What a checkpoint says of its run, checked."""
    run = state.get("run")
    if run is None:
        raise checkpoint.CheckpointError(f"{folder}: holds a learner, not the state of a run.")
    wrong = _misfit(run, _RUN) or _misfit(run["rows"], {"bytes": int, "sha256": str})
    if wrong:
        raise checkpoint.CheckpointError(f"{folder}: not the state of a run ({wrong}); use another copy.")
    return dict(run)


def _misfit(value: Any, shape: Mapping[str, type]) -> str:
    """Why a JSON value does not have these fields; empty if it has them."""
    if not isinstance(value, dict):
        return f"a {type(value).__name__} where an object belongs"
    for name, kind in shape.items():
        if name not in value:
            return f"no {name!r} in it"
        if not isinstance(value[name], kind):
            return f"{name!r} is a {type(value[name]).__name__}, not a {kind.__name__}"
    return ""


def versions() -> dict[str, str]:
    """Versions of the packages that a run depends on."""
    return {
        "vase": vase.__version__,
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
