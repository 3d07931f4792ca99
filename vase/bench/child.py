"""Processes of their own: for what may die, for a memory that is counted alone, and for work side by side."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from vase.bench.contestants import ROOT


@dataclass(frozen=True)
class Outcome:
    """What a process said, one JSON value per line, and how it ended."""

    said: list[Any]
    failure: str | None
    """Why it did not end well; None if it did."""


def environment() -> dict[str, str]:
    """One thread, and the same vase as here."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}


def command(target: str, spec: dict[str, Any], python: str | None = None) -> list[str]:
    """The command line of a job of vase.bench, or of a script if the target ends in .py."""
    place = [target] if target.endswith(".py") else ["-m", "vase.bench", target]
    return [python or sys.executable, *place, json.dumps(spec)]


def run(target: str, spec: dict[str, Any], python: str | None = None) -> Outcome:
    """Run a job to its end."""
    try:
        done = subprocess.run(
            command(target, spec, python), capture_output=True, text=True, env=environment(), check=False
        )
    except OSError as error:
        return Outcome([], f"{python or sys.executable} could not be started: {error.strerror}")
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return Outcome(said, failure(done.returncode, done.stderr))


def failure(code: int, errors: str) -> str | None:
    """How a process ended, in words; None if all went well."""
    if code == 0:
        return None
    if code < 0:
        return f"the process died of {signal.Signals(-code).name}"
    last = [line for line in errors.strip().splitlines() if line.strip()]
    return last[-1][:300] if last else f"the process ended with code {code}"


def say(**values: Any) -> None:
    """Tell the parent process something."""
    print(json.dumps(values), flush=True)
