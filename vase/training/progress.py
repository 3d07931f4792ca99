"""Watching a run: a live display on a terminal, lines in a log, scalars in TensorBoard."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from vase.learners.records import Step
from vase.training import Event
from vase.training.summary import switch_sentence

Watcher = Callable[[Event], None]


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
