"""A Ray cluster of this machine ends with its driver, even if that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vase.sweeps import ray_guard
from vase.sweeps.ray_guard import guarded, processes

DRIVER = """
import os, signal, sys
import ray
from vase.sweeps.backends import engine
with engine("ray", 1):
    print(ray.get_runtime_context().worker.node.get_session_dir_path(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
SLEEPER = "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_{}); print(flush=True); time.sleep(600)"


def sleeper(session: str, answer: str) -> subprocess.Popen[bytes]:
    """A process that names a session, and ends when it is asked to (DFL) or does not (IGN)."""
    command = [sys.executable, "-c", SLEEPER.format(answer), session]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_what_is_left_of_a_session_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_guard, "PATIENCE", 0.2)
    mine = [sleeper(str(tmp_path / "session_1"), answer) for answer in ("DFL", "IGN")]
    other = sleeper(str(tmp_path / "session_2"), "DFL")
    try:
        assert set(processes(str(tmp_path / "session_1"))) >= {process.pid for process in mine}
        ray_guard.end(str(tmp_path / "session_1"))
        assert [process.wait(timeout=60) for process in mine] == [-signal.SIGTERM, -signal.SIGKILL]
        assert other.poll() is None
    finally:
        for process in (*mine, other):
            process.kill()
            process.communicate()


def test_an_orderly_end_leaves_everything_to_ray(tmp_path: Path) -> None:
    bystander = sleeper(str(tmp_path / "session"), "DFL")
    try:
        with guarded(str(tmp_path / "session")):
            pass
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.communicate()


def test_no_agent_of_ray_outlives_a_killed_driver() -> None:
    pytest.importorskip("ray")
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", DRIVER], env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    session = done.stdout.strip().splitlines()[-1]
    deadline = time.monotonic() + 60
    while (left := processes(session)) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert left == []
