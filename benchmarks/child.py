"""Jobs in processes of their own: for a memory that is counted alone, for work in parallel, for another interpreter."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import vase
from vase.process import keep_memory


@dataclass(frozen=True)
class Outcome:
    """What a process said, one JSON value per line, and how it ended."""

    said: list[Any]
    failure: str | None
    """Why it failed; None if it did not."""


def environment() -> dict[str, str]:
    """One thread, and the same vase as here."""
    root = str(Path(vase.__file__).parent.parent)
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}


def command(module: str, spec: dict[str, Any], python: str | None = None) -> list[str]:
    """The command line of a job: a module that ends in `serve`."""
    return [python or sys.executable, "-m", module, json.dumps(spec)]


def run(module: str, spec: dict[str, Any], python: str | None = None) -> Outcome:
    """Run a job to its end."""
    words = command(module, spec, python)
    try:
        done = subprocess.run(words, capture_output=True, text=True, env=environment(), check=False)
    except OSError as error:
        return Outcome([], f"{words[0]} could not be started: {error.strerror}")
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return Outcome(said, failure(done.returncode, done.stderr))


def failure(code: int, errors: str) -> str | None:
    """How a process failed, in words; None if it did not."""
    if code == 0:
        return None
    if code < 0:
        return f"the process died of {signal.Signals(-code).name}"
    last = [line for line in errors.strip().splitlines() if line.strip()]
    return last[-1][:300] if last else f"the process ended with code {code}"


def say(**values: Any) -> None:
    """Tell the parent process something."""
    print(json.dumps(values), flush=True)


def serve(job: Callable[[dict[str, Any]], None]) -> None:
    """In the process of a job: do it, on one thread."""
    torch.set_num_threads(1)
    keep_memory()
    job(json.loads(sys.argv[1]))
