"""Kinds of faults: what happens to a process that trains, and to its files once it has ended."""

from __future__ import annotations

import errno
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vase.learners.records import Step
from vase.learners.vase import VASE
from vase.training import Callback, Run, RunDirectory
from vase.worlds import Schedule

MOST_STEPS = 12
"""Steps that a process makes before it is hit, at most."""


class Later(Callback):
    """Does something after a number of steps of this process."""

    def __init__(self, steps: int, act: Callable[[], None]) -> None:
        self.steps, self.act = steps, act

    def on_step(self, run: Run, step: Step) -> None:
        """Count down."""
        self.steps -= 1
        if self.steps == 0:
            self.act()


def die() -> None:
    """End this process as a power cut does."""
    os.kill(os.getpid(), signal.SIGKILL)


def terminate() -> None:
    """Ask this process to end, as a scheduler does."""
    signal.raise_signal(signal.SIGTERM)


def nothing(number: int) -> None:
    """Leave a call as it is."""


def every_call(module: Any, name: str, before: Callable[[int], None], after: Callable[[int], None] = nothing) -> None:
    """Do something before and after each call of a function, with the number of the call."""
    original, calls = getattr(module, name), 0

    def changed(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        number = calls
        before(number)
        found = original(*arguments, **options)
        after(number)
        return found

    setattr(module, name, changed)


Injected = Callable[[random.Random], "Callback | None"]


def killed_learning(rng: random.Random) -> Callback:
    """SIGKILL in the middle of a step."""
    return Later(rng.randint(1, MOST_STEPS), die)


def killed_saving(rng: random.Random) -> None:
    """SIGKILL just before or after a file takes its place."""
    fatal, late = rng.randint(2, 12), rng.random() < 0.5

    def hit(number: int) -> None:
        if number == fatal:
            die()

    every_call(os, "replace", *((nothing, hit) if late else (hit, nothing)))


def terminated(rng: random.Random) -> Callback:
    """SIGTERM in the middle of a step."""
    return Later(rng.randint(1, MOST_STEPS), terminate)


def disk_full(rng: random.Random) -> None:
    """No space left, from some write on."""
    first = rng.randint(3, 20)

    def refuse(number: int) -> None:
        if number >= first:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    every_call(os, "fsync", refuse)


def disk_error(rng: random.Random) -> None:
    """One write that fails."""
    fatal = rng.randint(2, 12)

    def fail(number: int) -> None:
        if number == fatal:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    every_call(os, "replace", fail)


def slow_disk(rng: random.Random) -> Callback:
    """A disk that takes its time, and a kill."""
    every_call(os, "fsync", lambda number: time.sleep(0.02))
    return Later(rng.randint(1, MOST_STEPS), die)


def clock_jump(rng: random.Random) -> Callback:
    """Clocks that jump by up to a day in either direction, and a SIGTERM."""
    for name in ("time", "monotonic", "perf_counter"):
        original = getattr(time, name)
        setattr(time, name, lambda original=original: original() + rng.uniform(-86_400, 86_400))
    return Later(rng.randint(1, MOST_STEPS), terminate)


def lost_source(rng: random.Random) -> None:
    """A camera that is unplugged: one batch cannot be drawn."""
    fatal = rng.randint(1, MOST_STEPS)

    def unplug(number: int) -> None:
        if number == fatal:
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))

    every_call(Schedule, "batch", unplug)


def lost_rank(rng: random.Random) -> None:
    """SIGKILL before a step; for a worker that no callback reaches."""
    fatal = rng.randint(1, MOST_STEPS)

    def hit(number: int) -> None:
        if number == fatal:
            die()

    every_call(VASE, "partial_fit", hit)


@dataclass(frozen=True)
class Fault:
    """What happens to a process, and to its files once it has ended."""

    inject: Injected
    spoil: Callable[[RunDirectory, random.Random], None] = lambda directory, rng: None


def torn_rows(directory: RunDirectory, rng: random.Random) -> None:
    """Rows after the last checkpoint that are cut off or nonsense."""
    with directory.rows_path.open("ab") as file:
        file.write(rng.randbytes(rng.randint(1, 300)))


def newest_file(directory: RunDirectory, rng: random.Random) -> Path | None:
    """A file of the newest checkpoint, if there is one before it to go back to."""
    steps = directory.checkpoints.steps()
    return rng.choice(sorted(directory.checkpoints.path(steps[-1]).iterdir())) if len(steps) > 1 else None


def damaged_file(directory: RunDirectory, rng: random.Random) -> None:
    """One bit of the newest checkpoint is wrong."""
    if path := newest_file(directory, rng):
        data = bytearray(path.read_bytes())
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)


def lost_file(directory: RunDirectory, rng: random.Random) -> None:
    """One file of the newest checkpoint is gone."""
    if path := newest_file(directory, rng):
        path.unlink()


FAULTS = {
    "killed while learning": Fault(killed_learning),
    "killed while saving": Fault(killed_saving),
    "terminated": Fault(terminated),
    "disk full": Fault(disk_full),
    "disk error": Fault(disk_error),
    "slow disk, killed": Fault(slow_disk),
    "clock jumps": Fault(clock_jump),
    "source lost": Fault(lost_source),
    "torn rows": Fault(killed_learning, torn_rows),
    "damaged checkpoint": Fault(terminated, damaged_file),
    "lost file of a checkpoint": Fault(terminated, lost_file),
}
"""Faults of a run in one process, by name."""
