"""A run directory: settings, rows, checkpoint. A killed run resumes exactly, whatever moment it was killed at.

config.json     settings, configuration, data and versions; written once
rows.jsonl      one JSON object per line; nothing in it depends on time or machine
checkpoint/     learner, callbacks (probes among them), position in the stream and in rows.jsonl, committed as one unit
timing.json     wall time, which may differ between two runs
summary.json    the results
pictures.npz    images from the end of stages with imagination or anticipation
figures/        PNG
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import vase
from vase import checkpoint
from vase.config import VASEConfig
from vase.learners.protocol import Learner
from vase.rows import Row
from vase.training.plan import Plan, build_learner
from vase.training.settings import RunSettings
from vase.worlds.timeline import Timeline

FORMAT = 1


class RunDirectory:
    """Paths, configuration and checkpoint of one run."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.rows_path = self.path / "rows.jsonl"
        self.checkpoint_path = self.path / "checkpoint"
        self.figures_path = self.path / "figures"

    def require_free(self) -> None:
        """Refuse a path that already holds something."""
        if self.path.exists() and not self.path.is_dir():
            raise FileExistsError(f"{self.path} is a file; name another directory with --out.")
        if self.path.is_dir() and any(not entry.name.startswith(".") for entry in self.path.iterdir()):
            what = "is a run already" if (self.path / "config.json").exists() else "already exists and is not empty"
            raise FileExistsError(f"{self.path} {what}: resume it with --resume, or name another directory with --out.")

    def write_config(self, plan: Plan) -> None:
        """Write config.json."""
        value = {
            "format": FORMAT,
            "settings": plan.settings.to_dict(),
            "stages": plan.timeline.stages,
            "sources": plan.sources,
            "config": plan.config.to_dict(),
            "versions": versions(),
        }
        checkpoint.write_json_atomic(self.path / "config.json", value)

    def read_config(self) -> dict[str, Any]:
        """The content of config.json, checked."""
        path = self.path / "config.json"
        if not self.path.is_dir():
            raise FileNotFoundError(
                f"{self.path} does not exist; name the directory of a run, or start one with --out."
            )
        if not path.exists():
            raise FileNotFoundError(f"{self.path} is not a run: it holds no config.json; start it without --resume.")
        try:
            value = json.loads(path.read_bytes())
            written = value["format"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is damaged ({error}); restore it from a copy, or start a new run.") from error
        if written != FORMAT:
            raise ValueError(
                f"{self.path} is a run directory of format {written}, and this version of vase ({vase.__version__}) "
                f"reads format {FORMAT}; use the version that wrote it, or start a new run."
            )
        if missing := {"settings", "stages", "sources", "config", "versions"} - value.keys():
            raise ValueError(f"{path} is damaged: no {min(missing)!r} in it; restore it, or start a new run.")
        return value

    def settings(self) -> RunSettings:
        """The settings this run was started with."""
        return RunSettings.from_dict(self.read_config()["settings"])

    def require_same(
        self, given: RunSettings, remedy: str = "leave it out to resume, or start another run with another --out"
    ) -> None:
        """Refuse settings that would compute something else than this run."""
        started = self.settings()
        for name in given.differences(started):
            ours, theirs = getattr(given, name), getattr(started, name)
            raise ValueError(f"{name} = {ours!r}, but {self.path} was started with {name} = {theirs!r}: {remedy}.")

    def timeline(self) -> Timeline:
        """The stages of the stream, with the worlds that the run really uses."""
        return Timeline.of(self.read_config()["stages"])

    def rows(self) -> list[Row]:
        """All complete rows."""
        if not self.rows_path.exists():
            return []
        lines = self.rows_path.read_bytes().split(b"\n")[:-1]
        try:
            return [json.loads(line) for line in lines]
        except ValueError as error:
            raise ValueError(f"{self.rows_path} is damaged ({error}); restore it from a copy.") from error

    def timing(self) -> list[dict[str, float]]:
        """Timed segments of the run: {"from", "to", "seconds"}; empty if none can be read."""
        try:
            return list(json.loads((self.path / "timing.json").read_bytes())["segments"])
        except (OSError, ValueError, KeyError, TypeError):
            return []

    def write_timing(self, segments: list[dict[str, float]]) -> None:
        """Replace the timed segments."""
        checkpoint.write_json_atomic(self.path / "timing.json", {"segments": segments})

    def pictures(self) -> dict[str, np.ndarray]:
        """The content of pictures.npz, by name; empty for most runs."""
        path = self.path / "pictures.npz"
        return checkpoint.read_arrays(path) if path.exists() else {}

    def keep_pictures(self, pictures: Mapping[str, np.ndarray]) -> None:
        """Add pictures to pictures.npz, or replace them."""
        checkpoint.write_arrays_atomic(self.path / "pictures.npz", {**self.pictures(), **pictures})

    @property
    def has_checkpoint(self) -> bool:
        """Whether a state was ever committed."""
        return (self.checkpoint_path / checkpoint.MANIFEST).exists()

    def save(self, state: Mapping[str, Any]) -> None:
        """Commit a state as one unit, which is also a saved learner: `VASE.load(run)` opens it."""
        checkpoint.write(self.checkpoint_path, checkpoint.LEARNER, state)

    def load(self) -> checkpoint.State:
        """The committed state {"learner", "run", "callbacks": {name: state}}."""
        state = checkpoint.read(self.checkpoint_path, checkpoint.LEARNER)
        if "run" not in state:
            raise checkpoint.CheckpointError(f"{self.checkpoint_path}: holds a learner, not the state of a run.")
        return state

    def remove_stale_tensors(self) -> None:
        """Delete what the committed state does not name: a crash came before its clean-up. Needs the lock."""
        manifest = json.loads((self.checkpoint_path / checkpoint.MANIFEST).read_bytes())
        wanted = {entry["file"] for entry in manifest["files"].values()}
        for path in self.checkpoint_path.glob("*.safetensors"):
            if path.name not in wanted:
                path.unlink(missing_ok=True)

    def learner(self, device: str = "auto") -> Learner:
        """The learner, of whichever class, as the last checkpoint left it."""
        found = build_learner(
            replace(self.settings(), device=device), VASEConfig.from_dict(self.read_config()["config"])
        )
        found.load_state_dict(self.load()["learner"])
        return found

    def is_complete(self) -> bool:
        """Whether the run has reached the end of its stream."""
        return self.has_checkpoint and int(self.load()["run"]["step"]) >= self.timeline().total

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the directory; the lock ends with the process, however it ends."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            reason = error.strerror or str(error)
            raise OSError(f"{self.path} cannot be written ({reason}); name another directory with --out.") from error
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise FileExistsError(
                    f"{self.path}: another process is training there; wait for it, or name another one with --out."
                ) from None
            for folder in (self.path, self.checkpoint_path):
                for leftover in folder.glob(".*.*"):  # half-written files of a process that was killed
                    leftover.unlink(missing_ok=True)
            yield
        finally:
            os.close(handle)


START: dict[str, Any] = {"bytes": 0, "sha256": hashlib.sha256().hexdigest()}
"""Position of an empty rows.jsonl."""


class RowWriter:
    """Appends to rows.jsonl. Its position is the size and the hash of the file: a resume verifies and cuts it."""

    def __init__(self, path: Path, position: Mapping[str, Any]) -> None:
        """Open the file and truncate whatever a dead process wrote after the given position."""
        size = int(position["bytes"])
        self._file = path.open("r+b" if path.exists() else "w+b")
        self._digest = hashlib.sha256(self._file.read(size))
        if self._file.tell() != size or self._digest.hexdigest() != position["sha256"]:
            self._file.close()
            raise ValueError(
                f"{path} does not start with the {size} bytes that its checkpoint expects: it was cut or altered; "
                "restore it from a copy, or start a new run."
            )
        self._file.truncate()

    def write(self, row: Mapping[str, Any]) -> None:
        """Append one row; it is on disk after the next `sync`."""
        line = json.dumps(row, separators=(",", ":"), allow_nan=False, ensure_ascii=False).encode() + b"\n"
        self._file.write(line)
        self._digest.update(line)

    def sync(self) -> dict[str, Any]:
        """Bring all rows to disk; returns the position for the checkpoint."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return {"bytes": self._file.tell(), "sha256": self._digest.hexdigest()}

    def close(self) -> None:
        """Close the file; an error while closing must not hide the one that led here."""
        with suppress(OSError):
            self._file.close()


def versions() -> dict[str, str]:
    """Versions of the packages that a run depends on."""
    return {
        "vase": vase.__version__,
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def explain_disk_error(error: OSError, path: Path) -> OSError:
    """An OSError of writing, with its cause and how to resume."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    what = "the disk is full" if full else (error.strerror or str(error))
    return OSError(
        f"{path} cannot be written: {what}. The last checkpoint is intact; "
        f"{'free some space' if full else 'repair this'} and resume with: vase train --resume --out {path}"
    )
