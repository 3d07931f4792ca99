"""Callbacks that show a run: a live display on a terminal, lines in a log."""

from __future__ import annotations

import math
import os
import sys
import time
from typing import Any, Self, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from vase.learners.records import Step
from vase.training.callbacks import AnyRow, Callback, Run
from vase.training.summary import switch_sentence


class Output:
    """Where progress is shown; a context manager."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: Any) -> None:
        """Nothing to close."""

    def print(self, text: str) -> None:
        """Show one line."""
        raise NotImplementedError


class PlainOutput(Output):
    """Lines in a log."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout

    def print(self, text: str) -> None:
        print(text, file=self.stream, flush=True)


class LiveOutput(Output):
    """Progress bars at the bottom of a terminal, a line of text below them, and lines that scroll by above."""

    def __init__(self, console: Console | None, *columns: ProgressColumn | str) -> None:
        shape = ("{task.description}", BarColumn(bar_width=None), MofNCompleteColumn(), *columns)
        self.bars = Progress(*shape, console=console, expand=True)
        self.below = Text()
        self._live = Live(Group(self.bars, self.below), console=console, refresh_per_second=5)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._live.__exit__(*exception)

    def print(self, text: str) -> None:
        self._live.console.print(Text(text))


def is_interactive() -> bool:
    """Whether the output goes to a terminal that can show bars."""
    return Console().is_terminal and os.environ.get("TERM") != "dumb"


class Watcher(Output, Callback):
    """Shows notes, the resumed step and announced switches as lines."""

    last: Step | None = None
    """The last step with a loss: a held batch has none."""

    def on_note(self, text: str) -> None:
        self.print(text)

    def on_start(self, run: Run) -> None:
        if run.step:
            self.print(f"resuming from step {run.step:,} of {run.total:,}")

    def on_row(self, run: Run, row: AnyRow) -> None:
        if row["kind"] == "switch" and row["from"] is not None:
            self.print(switch_sentence(row))

    def on_step(self, run: Run, step: Step) -> None:
        if math.isfinite(step.loss) or self.last is None:
            self.last = step

    def numbers(self, run: Run) -> str:
        """The numbers of the last step, as far as the learner has them."""
        if (step := self.last) is None:
            return ""
        active, known = int(step.mask.sum()), run.environments
        losses = {"loss": step.loss, "reconstruction": step.reconstruction, "KL": step.kl}
        parts = [f"{name} {value:.1f}" for name, value in losses.items() if math.isfinite(value)]
        if math.isfinite(step.kl) and math.isfinite(step.capacity):
            parts[-1] += f" against C {step.capacity:.1f}"
        if known:
            parts.append(f"environment {step.environment} ({known} known)")
        if len(step.mask):
            parts.append(f"latents {active} active {len(step.mask) - active} masked")
        return ", ".join(parts)


class Lines(PlainOutput, Watcher):
    """Plain lines: one every `every` steps, one per switch and per note."""

    def __init__(self, every: int = 100, stream: TextIO | None = None) -> None:
        super().__init__(stream)
        self.every = every

    def on_start(self, run: Run) -> None:
        super().on_start(run)
        self._since = (run.step, time.perf_counter())

    def on_step(self, run: Run, step: Step) -> None:
        super().on_step(run, step)
        if run.step % self.every == 0 or run.step == run.total:
            (before, begin), now = self._since, time.perf_counter()
            self._since = (run.step, now)
            speed = f"{(run.step - before) / (now - begin):.1f} steps/s" if run.step > before and now > begin else ""
            texts = ", ".join(text for text in (self.numbers(run), speed) if text)
            self.print(f"step {run.step:,}/{run.total:,} ({run.world}): {texts}")


class Display(LiveOutput, Watcher):
    """A progress bar with the remaining time and the latest numbers; switches scroll by above it."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(console, TimeElapsedColumn(), "left", TimeRemainingColumn(elapsed_when_finished=False))
        self._task = self.bars.add_task("preparing the data", total=None)

    def on_start(self, run: Run) -> None:
        self.bars.reset(self._task, total=run.total, completed=run.step)
        super().on_start(run)

    def on_step(self, run: Run, step: Step) -> None:
        super().on_step(run, step)
        self.bars.update(self._task, completed=run.step, description=run.world)
        self.below.plain = self.numbers(run)


def watcher(quiet: bool = False) -> Watcher:
    """The display that suits where the output goes."""
    if quiet:
        return Lines(every=500)
    return Display() if is_interactive() else Lines(every=100)
