"""The progress of a sweep: bars on a terminal, lines in a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TextIO

from rich.console import Console
from rich.markup import escape
from rich.progress import TaskID

from vase.sweeps.runner import ENDED, Status
from vase.training.progress import LiveOutput, Output, PlainOutput, is_interactive

_WORDS = {"running": "training", "done": "done", "skipped": "already finished", "stopped": "stopped"}


class SweepWatcher(Output):
    """Shows the runs of a sweep, each time it is called with the status of all."""

    def __init__(self) -> None:
        self._states: dict[str, str] = {}
        self._pace = Pace()

    def __call__(self, statuses: Sequence[Status]) -> None:
        """Print a line per run whose state is new, then show how far all runs are."""
        for status in statuses:
            if status.state not in (self._states.get(status.name), "waiting"):
                self._states[status.name] = status.state
                self.print(f"{status.name}: {_WORDS.get(status.state) or f'failed: {status.error}'}")
        made, total = sum(status.step for status in statuses), sum(status.total for status in statuses)
        left, failed = self._pace.left(statuses), sum(status.state == "failed" for status in statuses)
        notes = [f"{minutes(left)} left"] if left is not None else []
        notes += [f"{failed} failed"] if failed else []
        self.show(statuses, made, total, ", ".join(notes))

    def show(self, statuses: Sequence[Status], step: int, total: int, notes: str) -> None:
        """Show the progress of all runs: steps that were made, steps in all, remaining time and failures."""
        raise NotImplementedError


class SweepLines(PlainOutput, SweepWatcher):
    """Plain lines: one per run that begins or ends, and the total whenever another share of it is done."""

    def __init__(self, share: float = 0.02, stream: TextIO | None = None) -> None:
        PlainOutput.__init__(self, stream)
        SweepWatcher.__init__(self)
        self.share, self._told = share, 0

    def show(self, statuses: Sequence[Status], step: int, total: int, notes: str) -> None:
        """Print the total, if it is time."""
        if (share := int(step / total / self.share) if total else 0) > self._told:
            self._told = share
            running = [f"{s.name} {s.step:,}/{s.total:,} ({s.world})" for s in statuses if s.state == "running"]
            line = f"all runs: step {step:,}/{total:,}" + (f", {notes}" if notes else "")
            self.print(line + (f": {', '.join(running)}" if running else ""))


class SweepDisplay(LiveOutput, SweepWatcher):
    """A bar for all runs with the remaining time, and one per run in progress; ended runs scroll by above."""

    def __init__(self, console: Console | None = None) -> None:
        LiveOutput.__init__(self, console, "{task.fields[more]}")
        SweepWatcher.__init__(self)
        self._all = self.bars.add_task("preparing the data", total=None, more="")
        self._tasks: dict[str, TaskID] = {}

    def show(self, statuses: Sequence[Status], step: int, total: int, notes: str) -> None:
        """Update the bars."""
        name = f"{sum(s.state in ENDED for s in statuses)} of {len(statuses)} runs ended"
        self.bars.update(self._all, description=name, completed=step, total=total or None, more=notes)
        running = {status.name: status for status in statuses if status.state == "running"}
        for name in self._tasks.keys() - running.keys():
            self.bars.remove_task(self._tasks.pop(name))
        for name, status in running.items():
            if name not in self._tasks:
                self._tasks[name] = self.bars.add_task(escape(name), more="")
            self.bars.update(self._tasks[name], completed=status.step, total=status.total, more=escape(status.world))


class Pace:
    """The remaining time of many runs, from the speed since the first report."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begin: tuple[int, float] | None = None
        self._first: dict[str, int] = {}

    def left(self, statuses: Sequence[Status]) -> float | None:
        """Remaining seconds; None until some steps were timed."""
        for status in statuses:
            if status.state in ("running", *ENDED):
                self._first.setdefault(status.name, status.step)  # steps before a resume were made earlier
        made = sum(s.step - self._first[s.name] for s in statuses if s.name in self._first)
        now = self._clock()
        if made <= 0:
            return None
        if self._begin is None:
            self._begin = (made, now)
        steps, seconds = made - self._begin[0], now - self._begin[1]
        todo = sum(s.total - s.step for s in statuses if s.state in ("waiting", "running"))
        return seconds / steps * todo if steps > 0 else None


def sweep_watcher(quiet: bool = False) -> SweepWatcher:
    """The display that suits where the output goes."""
    if quiet:
        return SweepLines(share=0.1)
    return SweepDisplay() if is_interactive() else SweepLines()


def minutes(seconds: float) -> str:
    """A duration as people read it."""
    whole, rest = divmod(round(seconds), 60)
    hours, whole = divmod(whole, 60)
    return f"{hours} h {whole:02d} min" if hours else f"{whole} min {rest:02d} s"
