"""One run of many, in a worker: it says how far it is in a small file, and stops when it is told to.

The folder of a sweep holds the file "go" while the sweep lasts, and NUMBER.json per run: its state, step, total and
world; at its end also its error. Files on a shared file system need no connection, whatever starts the workers.
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

from vase.machine import keep_memory
from vase.training.settings import RunSettings
from vase.training.trainer import Event, train

REPORT_SECONDS = 1.0
"""How often a worker says how far it is, and looks whether it must stop."""
GO = "go"
"""Name of the file that is there as long as the workers shall go on."""


def work(folder: Path, number: int, path: Path, settings: RunSettings, own_session: bool) -> None:
    """Train one run, new or interrupted, and leave its outcome in the folder of the sweep; never raises.

    Args:
        folder: of the sweep.
        number: of the run in the sweep.
        path: directory of the run.
        settings: the run.
        own_session: leave the session of the terminal, so that Ctrl-C reaches the driver alone.
    """
    reporter = Reporter(folder, number)
    if reporter.must_stop():
        reporter.put(state="stopped")
        return
    if threading.current_thread() is not threading.main_thread():
        _apart(folder, number, path, settings)
        return
    if own_session:
        with suppress(OSError):  # it has one already
            os.setsid()
    os.environ["OMP_NUM_THREADS"] = "1"
    keep_memory()
    try:
        reporter.put(state="running")
        train(path, settings, resume=(path / "config.json").exists(), on_event=reporter)
        reporter.put(state="done")
    except KeyboardInterrupt:
        reporter.put(state="stopped")
    except Exception as error:
        text = str(error).strip() or type(error).__name__
        reporter.put(state="failed", error=text, trace=traceback.format_exc())
    if own_session and reporter.is_orphan():
        os._exit(1)  # nobody will ask for another run


def _apart(folder: Path, number: int, path: Path, settings: RunSettings) -> None:
    """Train in a process of its own: a thread of a worker hears no signals, and shares its interpreter with others."""
    values = json.dumps([str(folder), number, str(path), settings.to_dict()])
    code = "import sys; from vase.sweeps.worker import work_on; work_on(sys.argv[1])"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, values],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        check=False,
    )
    if report(folder, number).get("state") in (None, "running"):
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        Reporter(folder, number).put(state="failed", error=f"its process ended with code {done.returncode} ({last})")


def work_on(values: str) -> None:
    """`work`, from text."""
    folder, number, path, settings = json.loads(values)
    work(Path(folder), number, Path(path), RunSettings.from_dict(settings), own_session=False)


class Reporter:
    """Writes how far a run is, about once per second, and stops it when the sweep does."""

    def __init__(self, folder: Path, number: int) -> None:
        self.folder, self.number = folder, number
        self._parent = os.getppid()
        self._last = float("-inf")
        self._stopping = False
        self._place: dict[str, Any] = {}

    def __call__(self, event: Event) -> None:
        """Take note of a step."""
        if event.kind not in ("start", "step", "end"):
            return
        self._place = {"step": event.step, "total": event.total, "world": event.world}
        now = time.monotonic()
        if event.kind == "step" and now - self._last < REPORT_SECONDS:
            return
        self._last = now
        self.put(state="running")
        if event.kind != "end" and not self._stopping and self.must_stop():
            self._stopping = True
            signal.raise_signal(signal.SIGTERM)  # train() saves at the end of the batch

    def must_stop(self) -> bool:
        """Whether the sweep was stopped, or whoever started this process is gone."""
        return not (self.folder / GO).exists() or self.is_orphan()

    def is_orphan(self) -> bool:
        """Whether the process that started this one is gone."""
        return os.getppid() != self._parent

    def put(self, **values: Any) -> None:
        """Replace the report. A disk in trouble does not end a run because of it."""
        with suppress(OSError):
            fresh = self.folder / f".{self.number}"
            fresh.write_text(json.dumps({**self._place, **values}))
            os.replace(fresh, self.folder / f"{self.number}.json")


def report(folder: Path, number: int) -> dict[str, Any]:
    """What a run said last; empty before it began."""
    try:
        return dict(json.loads((folder / f"{number}.json").read_bytes()))
    except (OSError, ValueError):
        return {}
