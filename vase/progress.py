"""Watching a run: a live display on a terminal, lines in a log, scalars in TensorBoard."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from vase.records import Step
from vase.runs import Event, Status
from vase.runs.many import ENDED
from vase.runs.summary import switch_sentence

Watcher = Callable[[Event], None]
SweepWatcher = Callable[[Sequence[Status]], None]


class Lines:
    """Plain lines: one every `every` steps, one per switch and per note."""

    def __init__(self, every: int = 100, stream: TextIO | None = None) -> None:
        self.every = every
        self.stream = stream or sys.stdout
        self._last: Step | None = None
        self._since = (0, time.perf_counter())

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stream.flush()

    def __call__(self, event: Event) -> None:
        """Print what the event is worth."""
        if event.kind == "start":
            self._since = (event.step, time.perf_counter())
        sentence = _sentence(event)
        if sentence:
            self._print(sentence)
        if event.kind == "step" and event.result is not None:
            self._last = _latest(event.result, self._last)
            if event.step % self.every == 0 or event.step == event.total:
                self._print(self._line(event))

    def _line(self, event: Event) -> str:
        (step, begin), now = self._since, time.perf_counter()
        self._since = (event.step, now)
        rate = f", {(event.step - step) / (now - begin):.1f} steps/s" if event.step > step and now > begin else ""
        return f"step {event.step:,}/{event.total:,} ({event.world}): {_numbers(self._last, event)}{rate}"

    def _print(self, text: str) -> None:
        print(text, file=self.stream, flush=True)


class Display:
    """A bar with the time that remains and the numbers of the moment; switches scroll by above it."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(elapsed_when_finished=False),
            console=self.console,
            expand=True,
        )
        self._task = self._bar.add_task("preparing the data", total=None)
        self._status = Text("")
        self._last: Step | None = None
        self._live = Live(Group(self._bar, self._status), console=self.console, refresh_per_second=5)

    def __enter__(self) -> Display:
        self._live.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._live.__exit__(*exception)

    def __call__(self, event: Event) -> None:
        """Show the event."""
        if event.kind == "start":
            self._bar.reset(self._task, total=event.total, completed=event.step)
        sentence = _sentence(event)
        if sentence:
            self._live.console.print(Text(sentence))
        if event.kind == "step" and event.result is not None:
            self._last = _latest(event.result, self._last)
            self._bar.update(self._task, completed=event.step, description=event.world)
            self._status.plain = _numbers(self._last, event)


def watcher(quiet: bool = False) -> AbstractContextManager[Watcher]:
    """The display that suits where the output goes."""
    if quiet:
        return Lines(every=500)
    return Display() if Console().is_terminal and os.environ.get("TERM") != "dumb" else Lines(every=100)


# ----------------------------------------------------------------------------------------------------------- many runs


class SweepLines:
    """Plain lines about many runs: one per run that begins or ends, and the whole whenever a share of it is done."""

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
    """A bar for the whole with the time that remains, and one per run under way; what ends scrolls by above."""

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
        """Show how far the runs are."""
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
    """How long many runs will take, from the steps made since they were first watched."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begin: tuple[int, float] | None = None
        self._first: dict[str, int] = {}

    def left(self, statuses: Sequence[Status]) -> float | None:
        """Seconds that remain; None while nothing was measured."""
        for status in statuses:
            if status.state in ("running", *ENDED):
                self._first.setdefault(status.name, status.step)  # where a resumed run began is no work of this sweep
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
    """The display of many runs that suits where the output goes."""
    if quiet:
        return SweepLines(share=0.1)
    return SweepDisplay() if Console().is_terminal and os.environ.get("TERM") != "dumb" else SweepLines()


def _changes(statuses: Sequence[Status], before: dict[str, str]) -> list[str]:
    """A sentence per run whose state is new; `before` is brought up to date."""
    words = {"running": "training", "done": "done", "skipped": "finished before", "stopped": "stopped"}
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


# --------------------------------------------------------------------------------------------------------- TensorBoard


class TensorBoard:
    """Numbers of every tenth step, and probe scores, as TensorBoard scalars."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise ModuleNotFoundError(
                "TensorBoard is not installed: pip install tensorboard, or leave out --tensorboard."
            ) from None
        self._make: Any = SummaryWriter
        self._folder = Path(folder)
        self._writer: Any = None

    def __enter__(self) -> TensorBoard:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def __call__(self, event: Event) -> None:
        """Write the event's numbers; a resumed run replaces what came after its checkpoint."""
        if event.kind == "start":
            self._writer = self._make(str(self._folder), purge_step=event.step + 1)
        elif event.kind == "row" and event.row is not None and event.row["kind"] == "probe":
            for name in ("accuracy", "mse", "pixels"):
                if name in event.row:
                    self._writer.add_scalar(f"{name}/{event.row['world']}", event.row[name], event.step)
        elif event.kind == "step" and event.result is not None and event.step % 10 == 0:
            self._step(event, event.result)

    def _step(self, event: Event, result: Step) -> None:
        for name in ("loss", "reconstruction", "deviance", "kl", "capacity", "dream_encoder", "dream_decoder"):
            value = getattr(result, name)
            if math.isfinite(value):
                self._writer.add_scalar(f"learner/{name}", value, event.step)
        self._writer.add_scalar("learner/environment", result.environment, event.step)
        self._writer.add_scalar("learner/environments", event.environments, event.step)
        self._writer.add_scalar("learner/active latents", int(result.mask.sum()), event.step)
        for latent, value in enumerate(result.atypicality.tolist()):
            self._writer.add_scalar(f"atypicality/{latent}", value, event.step)


def _sentence(event: Event) -> str:
    """What deserves a line of its own."""
    if event.kind == "note":
        return event.text
    if event.kind == "start" and event.step:
        return f"going on from step {event.step:,} of {event.total:,}"
    row = event.row
    if event.kind != "row" or row is None or row["kind"] != "switch" or row["from"] is None:
        return ""
    return switch_sentence(row)


def _latest(result: Step, before: Step | None) -> Step:
    """The last step that learnt something: a held batch has no losses."""
    return result if math.isfinite(result.loss) or before is None else before


def _numbers(result: Step | None, event: Event) -> str:
    if result is None:
        return ""
    active = int(result.mask.sum())
    return (
        f"loss {result.loss:.1f}, reconstruction {result.reconstruction:.1f}, "
        f"KL {result.kl:.1f} against C {result.capacity:.1f}, "
        f"environment {result.environment} ({event.environments} known), "
        f"latents {active} active {len(result.mask) - active} masked"
    )
