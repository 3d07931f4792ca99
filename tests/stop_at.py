"""A callback for tests: interrupts a run while a step is in progress."""

from __future__ import annotations

import os
import signal

from vase.learners.records import Step
from vase.training import Callback, Run


class StopAt(Callback):
    """Presses Ctrl-C, or sends another signal, in the middle of a step; notes what it was told."""

    def __init__(self, step: int, number: signal.Signals = signal.SIGINT) -> None:
        self.step, self.number = step, number
        self.notes: list[str] = []

    def on_note(self, text: str) -> None:
        self.notes.append(text)

    def on_step(self, run: Run, step: Step) -> tuple[()]:
        if run.step == self.step:
            os.kill(os.getpid(), self.number)
        return ()
