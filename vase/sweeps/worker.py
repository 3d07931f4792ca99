"""One run of a sweep, in a worker: it reports its progress in a small file, and stops when the sweep does.

The folder of a sweep holds the file "go" as long as the sweep lasts, and NUMBER.json per run: its state, step, total
and world; at its end also its error. Files on a shared file system work with every backend, without a connection.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from vase.learners.records import Step
from vase.process import keep_memory
from vase.training.callbacks import Callback, Run
from vase.training.settings import RunSettings
from vase.training.trainer import train

REPORT_SECONDS = 1.0
"""Seconds between two reports of a worker, and between two checks whether it must stop."""
GO = "go"
"""Name of the file that exists as long as the workers should continue."""


def work(folder: Path, number: int, path: Path, settings: RunSettings, own_session: bool) -> None:
    """Train the run with a number, new or interrupted, and write its outcome to the folder of the sweep; never raises.

    `own_session` leaves the session of the terminal, so that Ctrl-C reaches the driver alone.
    """
    reporter = Reporter(folder, number)
    if reporter.must_stop():
        reporter.put(state="stopped")
        return
    if threading.current_thread() is not threading.main_thread():
        _apart(folder, number, path, settings)
        return
    if own_session:
        with suppress(OSError):  # it already has one
            os.setsid()
    os.environ["OMP_NUM_THREADS"] = "1"
    keep_memory()
    try:
        reporter.put(state="running")
        train(path, settings, resume=(path / "config.json").exists(), callbacks=[reporter])
        reporter.put(state="done")
    except KeyboardInterrupt:
        reporter.put(state="stopped")
    except Exception as error:
        text = str(error).strip() or type(error).__name__
        reporter.put(state="failed", error=text, trace=traceback.format_exc())
    if own_session and reporter.is_orphan():
        os._exit(1)  # no driver is left to ask for another run


def _apart(folder: Path, number: int, path: Path, settings: RunSettings) -> None:
    """Train in a new process: a thread of a worker gets no signals, and shares its interpreter with others."""
    values = json.dumps([str(folder), number, str(path), settings.to_dict()])
    code = "import sys; from vase.sweeps.worker import work_on; work_on(sys.argv[1])"
    command, environment = [sys.executable, "-c", code, values], {**os.environ, "OMP_NUM_THREADS": "1"}
    streams: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    done = subprocess.run(command, env=environment, **streams, start_new_session=True, check=False)
    if report(folder, number).get("state") in (None, "running"):
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        Reporter(folder, number).put(state="failed", error=f"its process ended with code {done.returncode} ({last})")


def work_on(values: str) -> None:
    """`work` with its arguments as JSON."""
    folder, number, path, settings = json.loads(values)
    work(Path(folder), number, Path(path), RunSettings.from_dict(settings), own_session=False)


class Reporter(Callback):
    """Reports the progress of a run about once per second, and stops the run when the sweep does."""

    def __init__(self, folder: Path, number: int, *, every: float = REPORT_SECONDS, parent: int | None = None) -> None:
        self.folder, self.number, self.every = folder, number, every
        self._parent = os.getppid() if parent is None else parent
        self._stopping = False
        self._progress: dict[str, Any] = {}

    def on_step(self, run: Run, step: Step) -> None:
        """Report, if the last report is old enough."""
        if run.step == run.total or time.monotonic() - self._last >= self.every:
            self.on_start(run)

    def on_start(self, run: Run) -> None:
        """Report where the run is, and stop it if the sweep was stopped."""
        self._last = time.monotonic()
        self._progress = {"step": run.step, "total": run.total, "world": run.world}
        self.put(state="running")
        if run.step < run.total and not self._stopping and self.must_stop():
            self._stopping = True
            signal.raise_signal(signal.SIGTERM)  # train() saves at the end of the step

    def must_stop(self) -> bool:
        """Whether the sweep was stopped, or the process that started this one is gone."""
        return not (self.folder / GO).exists() or self.is_orphan()

    def is_orphan(self) -> bool:
        """Whether the process that started this one is gone."""
        return os.getppid() != self._parent

    def put(self, **values: Any) -> None:
        """Replace the report. A failing disk does not end the run here."""
        with suppress(OSError):
            fresh = self.folder / f".{self.number}"
            fresh.write_text(json.dumps({**self._progress, **values}))
            os.replace(fresh, self.folder / f"{self.number}.json")


def report(folder: Path, number: int) -> dict[str, Any]:
    """The last report of a run; empty before it began."""
    try:
        return dict(json.loads((folder / f"{number}.json").read_bytes()))
    except (OSError, ValueError):
        return {}
