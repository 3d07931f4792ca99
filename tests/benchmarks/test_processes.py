"""Jobs in processes of their own."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable

import pytest

from benchmarks import child, processes


def test_a_process_that_dies_says_what_it_said_and_how_it_ended(tmp_path, monkeypatch):
    script = tmp_path / "dies.py"
    script.write_text("import os\nprint('{\"a\": 1}', flush=True)\nos.kill(os.getpid(), 4)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    outcome = child.run("dies", {})
    assert outcome.said == [{"a": 1}]
    assert outcome.failure == "the process died of SIGILL"
    script.write_text("raise ValueError('no')\n")
    assert child.run("dies", {}).failure == "ValueError: no"
    assert "could not be started" in str(child.run("dies", {}, python=str(tmp_path / "python")).failure)
    assert child.failure(-signal.SIGKILL, "") == "the process died of SIGKILL"


@pytest.mark.parametrize(
    "ask",
    [
        lambda worker: worker.tell(1),
        lambda worker: worker.wait(),
        lambda worker: worker.process.stdin.write("1\n"),  # said when the pipe is closed
    ],
    ids=["tell", "wait", "leave"],
)
def test_a_worker_that_dies_is_no_closed_terminal(monkeypatch, ask: Callable[[processes.Worker], None]):
    dies = [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]
    monkeypatch.setattr(child, "command", lambda *given: dies)
    worker = processes.Worker("smoke")
    worker.process.wait()
    with pytest.raises(OSError, match="a worker ended early: the process died of SIGKILL") as caught, worker:
        ask(worker)
    assert not isinstance(caught.value, BrokenPipeError)
