"""What the watcher hands out for each batch, and the rows that it writes."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from vase.learners.change import Change
from vase.learners.records import Step
from vase.method.mixture import NONE
from vase.rows import Row
from vase.training.columns import step_columns, switch_columns


@dataclass(frozen=True, eq=False)
class Watched(Step):
    """A `Step` with the frames that it came from. `step` counts the batches of this watch."""

    frames: int = 0
    """Frames read so far, those that --every passes over included."""
    broken: int = 0
    """Frames so far that could not be read."""
    label: str = ""
    """The last frame of the batch: the name of a file, or "frame 17"."""
    time: str | float | None = None
    """When that frame was made: seconds since the start of a video, or a date."""
    since: str | None = None
    """At a switch, about where the environment began: the first frame of the batches that led to the switch."""
    since_time: str | float | None = None
    """When that frame was made."""
    snapshot: Path | None = None
    """At a switch, the picture that is kept of the environment."""
    before: int | None = None
    """At a switch, the environment that was left; None at the first one."""

    @property
    def unknown(self) -> bool:
        """Whether the batch comes from no environment that a frozen learner knows."""
        return self.environment == NONE


def watched(step: Step, number: int, **facts: Any) -> Watched:
    """The record of a batch, numbered as the watch counts."""
    values = {field.name: getattr(step, field.name) for field in fields(Step)}
    change = None if step.change is None else replace(step.change, step=number)
    return Watched(**values | {"step": number, "change": change}, **facts)


def heading(change: Change) -> str:
    """When and between which environments, in words."""
    return f"batch {change.step:,}: {change.way}"


def step_row(seen: Watched, stage: int, world: str) -> Row:
    """One batch."""
    place = _place("step", seen, stage, world)
    return {**place, **step_columns(seen), **_frame(seen), "frames": seen.frames, "broken": seen.broken}


def switch_row(seen: Watched, stage: int, world: str) -> Row:
    """An announced switch. Nobody knows the truth: there is no delay, and no alarm is known to be false."""
    return {
        **_place("switch", seen, stage, world),
        "from": seen.before,
        "environment": seen.environment,
        "is_new": seen.is_new,
        "true_step": None,
        "delay": None,
        "false_alarm": False,
        **switch_columns(seen),
        **_frame(seen),
        "since": seen.since,
        "since_time": seen.since_time,
        "snapshot": None if seen.snapshot is None else seen.snapshot.name,
    }


def _place(kind: str, seen: Watched, stage: int, world: str) -> Row:
    return {"kind": kind, "step": seen.step, "stage": stage, "world": world}


def _frame(seen: Watched) -> dict[str, Any]:
    return {"frame": seen.label, "time": seen.time}
