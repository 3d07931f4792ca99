"""The progress of a sweep: bars on a terminal, lines in a log."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, TextIO

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.text import Text

from vase.sweeps.runner import ENDED, Status

SweepWatcher = Callable[[Sequence[Status]], None]


class SweepLines:
    """Plain lines: one per run that begins or ends, and the total whenever another share of it is done."""

    def __init__(self, share: float = 0.02, stream: TextIO | None = None) -> None:
        self.share = share
        self.stream = stream or sys.stdout
        self._states: dict[str, str] = {}
        self._told = 0
        self._pace = Pace()

    def __enter__(self) -> SweepLines:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stream.flush()

    def __call__(self, statuses: Sequence[Status]) -> None:
        """Print what is new."""
        for sentence in _changes(statuses, self._states):
            print(sentence, file=self.stream, flush=True)
        left = self._pace.left(statuses)
        step, total = _whole(statuses)
        if (share := int(step / total / self.share) if total else 0) > self._told:
            self._told = share
            running = ", ".join(
                f"{s.name} {s.step:,}/{s.total:,} ({s.world})" for s in statuses if s.state == "running"
            )
            parts = [f"all runs: step {step:,}/{total:,}", *([f"{_minutes(left)} left"] if left is not None else [])]
            print(", ".join(parts) + (f": {running}" if running else ""), file=self.stream, flush=True)


class SweepDisplay:
    """A bar for all runs with the remaining time, and one per run in progress; ended runs scroll by above."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console()
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[more]}"),
            console=self.console,
            expand=True,
        )
        self._all = self._bars.add_task("preparing the data", total=None, more="")
        self._tasks: dict[str, TaskID] = {}
        self._states: dict[str, str] = {}
        self._pace = Pace()
        self._live = Live(self._bars, console=self.console, refresh_per_second=2)

    def __enter__(self) -> SweepDisplay:
        self._live.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._live.__exit__(*exception)

    def __call__(self, statuses: Sequence[Status]) -> None:
        """Show the progress."""
        for sentence in _changes(statuses, self._states):
            self._live.console.print(Text(sentence))
        step, total = _whole(statuses)
        left, ended = self._pace.left(statuses), sum(s.state in ENDED for s in statuses)
        more = "" if left is None else f"{_minutes(left)} left"
        name = f"{ended} of {len(statuses)} runs ended"
        self._bars.update(self._all, description=name, completed=step, total=total or None, more=more)
        running = {status.name: status for status in statuses if status.state == "running"}
        for name in [name for name in self._tasks if name not in running]:
            self._bars.remove_task(self._tasks.pop(name))
        for name, status in running.items():
            if name not in self._tasks:
                self._tasks[name] = self._bars.add_task(escape(name), more="")
            self._bars.update(self._tasks[name], completed=status.step, total=status.total, more=escape(status.world))


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


def sweep_watcher(quiet: bool = False) -> AbstractContextManager[SweepWatcher]:
    """The display that suits where the output goes."""
    if quiet:
        return SweepLines(share=0.1)
    return SweepDisplay() if Console().is_terminal and os.environ.get("TERM") != "dumb" else SweepLines()


def _changes(statuses: Sequence[Status], before: dict[str, str]) -> list[str]:
    """A sentence per run whose state is new; `before` is updated."""
    words = {"running": "training", "done": "done", "skipped": "already finished", "stopped": "stopped"}
    found = []
    for status in statuses:
        if status.state not in (before.get(status.name), "waiting"):
            before[status.name] = status.state
            found.append(f"{status.name}: {words.get(status.state) or f'failed: {status.error}'}")
    return found


def _whole(statuses: Sequence[Status]) -> tuple[int, int]:
    """Steps done and steps in all; a run that failed counts as over."""
    over = [status.total if status.state in ("done", "skipped", "failed") else status.step for status in statuses]
    return sum(over), sum(status.total for status in statuses)


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"
