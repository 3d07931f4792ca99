"""The last checkpoints of a run: one folder each, named after its step.

Every generation is a complete checkpoint that can be copied and loaded by itself. The newest one counts; if it is
damaged, the one before it does.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vase import checkpoint
from vase.checkpoint import LEARNER, MANIFEST, CheckpointError, State
from vase.files import Guard, hold_folder, remove_parts, unguarded

FOLDER = "checkpoints"
"""Name of the folder within a run directory."""
Report = Callable[[str], None]
Accept = Callable[[State], bool]
"""Whether a state is of use, from what it holds besides tensors."""
_NAME = re.compile(r"\d{9,}")
_log = logging.getLogger("vase.checkpoint")


@dataclass(frozen=True)
class Generations:
    """The checkpoints of one run, in a folder."""

    folder: Path
    kind: str = LEARNER

    def path(self, step: int) -> Path:
        """The folder of the checkpoint of a step."""
        return self.folder / f"{step:09d}"

    def steps(self) -> list[int]:
        """Steps with a committed checkpoint, in ascending order."""
        return sorted(int(path.name) for path in self._folders() if (path / MANIFEST).exists())

    def _folders(self) -> Iterator[Path]:
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if _NAME.fullmatch(path.name) and path.is_dir():
                yield path

    def save(self, step: int, state: State, keep: int, guard: Guard = unguarded) -> None:
        """Commit a state unless `guard` raises, then delete all but the `keep` newest ones."""
        checkpoint.write(self.path(step), self.kind, state, guard)
        for old in self.steps()[:-keep]:
            checkpoint.remove(self.path(old), guard)

    def load(self, accept: Accept = lambda values: True, report: Report = _log.warning) -> State:
        """The newest state that is intact and accepted; `report` is told which damaged ones were passed over."""
        damaged: list[CheckpointError] = []
        for step in reversed(self.steps()):
            try:
                if not accept(checkpoint.read_values(self.path(step), self.kind)):
                    continue
                found = checkpoint.read(self.path(step), self.kind)
            except CheckpointError as error:
                damaged.append(error)
                continue
            for problem in damaged:
                report(f"{problem} Using the checkpoint of step {step:,} instead.")
            return found
        if damaged:
            raise damaged[0]
        raise CheckpointError(f"{self.folder}: no {MANIFEST} of a usable step in it; name a folder that was saved.")

    def load_step(self, step: int) -> State:
        """The state of one step."""
        if step not in (kept := self.steps()):
            steps = ", ".join(f"{one:,}" for one in kept) or "none"
            raise CheckpointError(f"{self.folder}: no checkpoint of step {step:,}; choose one of: {steps}.")
        return checkpoint.read(self.path(step), self.kind)

    def values(self) -> dict[str, Any] | None:
        """What the newest state with an intact manifest holds besides tensors; None without any."""
        for step in reversed(self.steps()):
            try:
                return checkpoint.read_values(self.path(step), self.kind)
            except CheckpointError:
                continue
        return None

    def set_aside_after(self, step: int, guard: Guard = unguarded) -> list[Path]:
        """Rename the checkpoints of later steps, which no longer count; returns their new names."""
        aside = []
        for later in [self.path(later) for later in self.steps() if later > step]:
            target = later.with_name(f"replaced-{later.name}")
            if target.exists():
                checkpoint.remove(target, guard)
            with hold_folder(self.folder, guard) as folder:
                folder.rename(later.name, target.name)
            aside.append(target)
        return aside

    def tidy(self, guard: Guard = unguarded) -> None:
        """Delete what a killed process left: half-written files, and tensors without a manifest."""
        for folder in list(self._folders()):
            remove_parts(folder, guard)
            if not (folder / MANIFEST).exists():
                checkpoint.remove(folder, guard)


def load_learner(folder: Path) -> State:
    """The state of a learner that was saved alone, or with a run whose directory is given."""
    generations = Generations(folder / FOLDER)
    if not (folder / MANIFEST).exists() and generations.steps():
        return generations.load()
    return checkpoint.read(folder, LEARNER)
