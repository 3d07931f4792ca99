"""Where faults hit: a run in one process, a run of several workers, a sweep of runs."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from joblib.externals.loky import get_reusable_executor

from benchmarks.fault_kinds import FAULTS, Fault, lost_rank
from vase.sweeps.runner import Cell, run_many
from vase.training import RunDirectory, RunSettings, train

RANKS = 2
PATIENCE = 0.02
"""Seconds between two looks at the files of a sweep."""


@dataclass(frozen=True)
class Outcome:
    """How an attempt to train a run to its end went."""

    ended: bool
    hit: bool


Attempt = Callable[[Path, RunSettings, str, int], Outcome]
"""Trains what is in a folder until its end, or until the fault of a name, with a seed; "" for no fault."""


def start(target: Callable[..., None], *arguments: Any) -> ForkServerProcess:
    """A process of its own, which has imported this module already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.fault_scenes", "torch._dynamo"])  # imported by the first optimiser
    process = context.Process(target=target, args=arguments)
    process.start()
    return process


def work(path: Path, settings: RunSettings, name: str, seed: int) -> None:
    """In a process of its own: train until the end, or until the fault."""
    callback = FAULTS[name].inject(random.Random(seed)) if name else None
    try:
        train(path, settings, resume=(path / "config.json").exists(), callbacks=[] if callback is None else [callback])
    except (OSError, KeyboardInterrupt):
        sys.exit(1)


def alone(path: Path, settings: RunSettings, name: str, seed: int) -> Outcome:
    """Train in one process."""
    process = start(work, path, settings, name, seed)
    process.join()
    return Outcome(process.exitcode == 0, hit=bool(name) and process.exitcode != 0)


def work_rank(path: Path, settings: RunSettings, rank: int, port: int, seed: int | None) -> None:
    """In one of several workers: train until the end, or until the fault."""
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": RANKS, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ.update({key: str(value) for key, value in place.items()})
    if seed is not None:
        lost_rank(random.Random(seed))
    work(path, settings, "", 0)


def ranks(path: Path, settings: RunSettings, name: str, seed: int) -> Outcome:
    """Train in several workers, as torchrun would start them; the fault kills one of them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    victim = seed % RANKS if name else None
    workers = [start(work_rank, path, settings, rank, port, seed if rank == victim else None) for rank in range(RANKS)]
    for worker in workers:
        worker.join()
    codes = [worker.exitcode for worker in workers]
    return Outcome(codes == [0] * RANKS, hit=-signal.SIGKILL in codes)


def holder(file: Path) -> int | None:
    """The process that has locked a file (Linux)."""
    try:
        number = file.stat().st_ino
    except FileNotFoundError:
        return None
    for line in Path("/proc/locks").read_text().splitlines():
        _, kind, _, _, process, place, *_ = line.replace("->", "").split()
        if kind == "FLOCK" and int(place.rpartition(":")[2]) == number:
            return int(process)
    return None


def kill_holder(path: Path, done: threading.Event, steps: int) -> None:
    """Kill the process that trains in a directory, once it has saved so many steps."""
    while not done.wait(PATIENCE):
        saved = RunDirectory(path).checkpoints.steps()
        if saved and saved[-1] >= steps and (process := holder(path / ".lock")):
            os.kill(process, signal.SIGKILL)
            (path.parent / "hit").touch()
            return


def work_sweep(path: Path, settings: RunSettings, seed: int | None) -> None:
    """In a process of its own: a sweep of two runs, one of whose workers is killed."""
    cells = [Cell(path / f"run-{number}", replace(settings, seed=number)) for number in range(2)]
    done, rng = threading.Event(), random.Random(seed)
    victim = cells[rng.randrange(2)].path
    killer = threading.Thread(target=kill_holder, args=(victim, done, rng.choice((5, 10, 15, 20))))
    if seed is not None:
        killer.start()
    try:
        outcomes = run_many(cells)
    finally:
        done.set()
        get_reusable_executor().shutdown()  # its thread would keep this process from ending
    sys.exit(0 if all(outcome.state in ("done", "skipped") for outcome in outcomes) else 1)


def sweep(path: Path, settings: RunSettings, name: str, seed: int) -> Outcome:
    """Train two runs as a sweep, which goes on by itself when one of its workers is killed."""
    (path / "hit").unlink(missing_ok=True)
    process = start(work_sweep, path, settings, seed if name else None)
    process.join()
    return Outcome(process.exitcode == 0, hit=(path / "hit").exists())


@dataclass(frozen=True)
class Scene:
    """How runs are trained, what can happen to them there, and which share of the faults that is."""

    attempt: Attempt
    faults: Mapping[str, Fault]
    share: float


def scenes(preset: str) -> list[Scene]:
    """The scenes of a preset; several workers and sweeps with the small one only."""
    if preset != "smoke":
        return [Scene(alone, FAULTS, 1.0)]
    several = Scene(ranks, {"lost rank": Fault(lambda rng: None)}, 0.06)
    swept = Scene(sweep, {"killed worker of a sweep": Fault(lambda rng: None)}, 0.04)
    return [Scene(alone, FAULTS, 0.9), several, swept]
