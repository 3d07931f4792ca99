"""Forks: a new run that continues a checkpoint of another one with other hyperparameters."""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import Any

from vase.checkpoint import State
from vase.files import PART, write_bytes
from vase.learners.protocol import Learner, Reconfigures
from vase.training.directory import RunDirectory
from vase.training.lock import lock
from vase.training.plan import Plan, build_learner
from vase.training.resume import Note, resumed_plan
from vase.training.row_file import prefix
from vase.training.settings import RunSettings

_FREE = ("overrides", "learner_options")
"""Settings in which a fork may differ from its parent, besides those that may change on resume."""


def fork(
    run_dir: str | os.PathLike[str],
    settings: RunSettings | None = None,
    *,
    step: int | None = None,
    note: Note = lambda text: None,
) -> Path:
    """Make a new run out of the checkpoint of a step, by default the newest one; returns its directory.

    The new run is called NAME-from-STEP, has the rows of its parent until then, and says in config.json where it comes
    from. `settings` are the parent's with other overrides. The parent stays as it is. Train the fork with
    `train(path, resume=True)`.
    """
    parent = RunDirectory(run_dir)
    plan = resumed_plan(parent, settings, note, free=_FREE)
    state = parent.load(step, **({"report": note} if step is None else {}))
    state["learner"] = _reconfigured(build_learner(plan.settings, plan.config), state["learner"], parent)
    changes = {"settings": plan.settings.to_dict(), "config": plan.config.to_dict()}
    origin = {"run": str(parent.path), "step": state["run"]["step"], "rows": state["run"]["rows"]["sha256"]}
    state["run"] |= changes
    plan.schedule.load_state_dict(state["run"]["schedule"])
    state["run"]["schedule"] = plan.schedule.state_dict()
    return _create(f"{parent.path.resolve().name}-from-{origin['step']}", plan, parent, state, origin)


def _reconfigured(learner: Learner, state: State, parent: RunDirectory) -> State:
    """The state of a learner as it is with the configuration of the fork."""
    load = learner.load_reconfigured if isinstance(learner, Reconfigures) else learner.load_state_dict
    try:
        load(state)
    except (ValueError, KeyError, TypeError, RuntimeError) as error:
        raise ValueError(
            f"{parent.path} cannot be continued with these settings ({error}); change only hyperparameters that leave "
            "the shape of the learner as it is, e.g. learning_rate or capacity.gamma."
        ) from error
    return learner.state_dict()


def _create(name: str, plan: Plan, parent: RunDirectory, state: State, origin: dict[str, Any]) -> Path:
    """Write the directory under a name that nobody else has: a fork is there as a whole or not at all."""
    _remove_parts(parent.path.parent, name)
    directory = RunDirectory(parent.path.parent / f".{name}.{secrets.token_hex(4)}{PART}")
    try:
        with directory.locked():
            directory.write_config(plan, parent=origin)
            rows = prefix(parent.rows_path, state["run"]["rows"])
            write_bytes(directory.rows_path, rows, directory.require_own)
            directory.save(state)
            return _rename(directory.path, name)
    except BaseException:
        shutil.rmtree(directory.path, ignore_errors=True)
        raise


def _remove_parts(folder: Path, name: str) -> None:
    """Delete what killed processes left of forks of this name; that of a process that lives is locked."""
    for part in folder.glob(f".{escape(name)}.*{PART}"):
        with suppress(OSError), lock(part):
            shutil.rmtree(part)


def _rename(part: Path, name: str) -> Path:
    """Give a finished fork its name, with a number if that is taken."""
    path, number = part.with_name(name), 1
    while True:
        try:
            if not path.exists():
                return part.rename(path)
        except OSError:
            if not path.exists():
                raise
        number += 1
        path = part.with_name(f"{name}-{number}")
