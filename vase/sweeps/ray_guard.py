"""A process that outlives the driver of a Ray cluster on this machine, and ends what is left of the cluster.

Ray's agents go on when their driver is killed. The guard reads its standard input, which ends with the driver; then it
ends the processes whose command line names the session. It imports nothing of the package, and runs as a file.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE = 5.0
"""Seconds between asking the processes to end and killing them."""


@contextmanager
def guarded(session: str) -> Iterator[None]:
    """Within the block, a process watches over the Ray session in this folder."""
    command = [sys.executable, __file__, session]
    silent = subprocess.DEVNULL
    guard = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=silent, stderr=silent, start_new_session=True, cwd="/"
    )
    try:
        yield
    finally:
        guard.communicate(b"ended")  # in an orderly way: nothing is left to end


def processes(session: str) -> list[int]:
    """Processes whose command line names a session (Linux; none elsewhere)."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if session.encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                found.append(int(path.parent.name))
    return found


def end(session: str) -> None:
    """Ask the processes of a session to end, and kill those that do not."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in processes(session):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, number)
        deadline = time.monotonic() + PATIENCE
        while processes(session) and time.monotonic() < deadline:
            time.sleep(0.1)


if __name__ == "__main__":
    if sys.stdin.read() != "ended":
        end(sys.argv[1])
