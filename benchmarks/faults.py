"""Inject faults into training runs, resume them each time, and compare them with a run that nothing disturbed.

    python -m benchmarks.faults [--faults 20] [--seed 0] [--preset smoke] [--out FILE]

Every fault hits a process that trains: it is killed while it learns or saves, its disk is full, slow or broken, its
clock jumps, or its files are damaged before the next process finds them. The bar: rows and weights are identical to the
last bit in the end. Prints a table, and writes results/faults/PRESET.json.
"""

from __future__ import annotations

import argparse
import errno
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vase.learners.records import Step
from vase.training import Callback, Run, RunDirectory, RunSettings, train

RESULTS = Path(__file__).parent.parent / "results" / "faults"
RUNS = {
    "smoke": {"stream": "moving-digits*24,digits:12*18", "batch_size": 8, "checkpoint_every": 5, "rows_every": 3},
    "laptop": {"stream": "moving-digits*60,digits:12*60", "checkpoint_every": 10, "probe_every": 30, "frozen_every": 0},
}
"""Preset -> the run that is disturbed."""
MOST_STEPS = 12
"""Steps that a process makes before it is hit, at most."""


class Later(Callback):
    """Does something after a number of steps of this process."""

    def __init__(self, steps: int, act: Callable[[], None]) -> None:
        self.steps, self.act = steps, act

    def on_step(self, run: Run, step: Step) -> None:
        """Count down."""
        self.steps -= 1
        if self.steps == 0:
            self.act()


def die() -> None:
    """End this process as a power cut does."""
    os.kill(os.getpid(), signal.SIGKILL)


def terminate() -> None:
    """Ask this process to end, as a scheduler does."""
    signal.raise_signal(signal.SIGTERM)


def nothing(number: int) -> None:
    """Leave a call as it is."""


def every_call(module: Any, name: str, before: Callable[[int], None], after: Callable[[int], None] = nothing) -> None:
    """Do something before and after each call of a function, with the number of the call."""
    original, calls = getattr(module, name), 0

    def changed(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        number = calls
        before(number)
        found = original(*arguments)
        after(number)
        return found

    setattr(module, name, changed)


Injected = Callable[[random.Random], "Callback | None"]


def killed_learning(rng: random.Random) -> Callback:
    """SIGKILL in the middle of a step."""
    return Later(rng.randint(1, MOST_STEPS), die)


def killed_saving(rng: random.Random) -> None:
    """SIGKILL just before or after a file takes its place."""
    fatal, late = rng.randint(2, 12), rng.random() < 0.5

    def hit(number: int) -> None:
        if number == fatal:
            die()

    every_call(os, "replace", *((nothing, hit) if late else (hit, nothing)))


def terminated(rng: random.Random) -> Callback:
    """SIGTERM in the middle of a step."""
    return Later(rng.randint(1, MOST_STEPS), terminate)


def disk_full(rng: random.Random) -> None:
    """No space left, from some write on."""
    first = rng.randint(3, 20)

    def refuse(number: int) -> None:
        if number >= first:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    every_call(os, "fsync", refuse)


def disk_error(rng: random.Random) -> None:
    """One write that fails."""
    fatal = rng.randint(2, 12)

    def fail(number: int) -> None:
        if number == fatal:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    every_call(os, "replace", fail)


def slow_disk(rng: random.Random) -> Callback:
    """A disk that takes its time, and a kill."""
    every_call(os, "fsync", lambda number: time.sleep(0.02))
    return Later(rng.randint(1, MOST_STEPS), die)


def clock_jump(rng: random.Random) -> Callback:
    """Clocks that jump by up to a day in either direction, and a SIGTERM."""
    for name in ("time", "monotonic", "perf_counter"):
        original = getattr(time, name)
        setattr(time, name, lambda original=original: original() + rng.uniform(-86_400, 86_400))
    return Later(rng.randint(1, MOST_STEPS), terminate)


@dataclass(frozen=True)
class Fault:
    """What happens to a process, and to its files once it has ended."""

    inject: Injected
    spoil: Callable[[RunDirectory, random.Random], None] = lambda directory, rng: None


def torn_rows(directory: RunDirectory, rng: random.Random) -> None:
    """Rows after the last checkpoint that are cut off or nonsense."""
    with directory.rows_path.open("ab") as file:
        file.write(rng.randbytes(rng.randint(1, 300)))


def newest_file(directory: RunDirectory, rng: random.Random) -> Path | None:
    """A file of the newest checkpoint, if there is one before it to go back to."""
    steps = directory.checkpoints.steps()
    return rng.choice(sorted(directory.checkpoints.path(steps[-1]).iterdir())) if len(steps) > 1 else None


def damaged_file(directory: RunDirectory, rng: random.Random) -> None:
    """One bit of the newest checkpoint is wrong."""
    if path := newest_file(directory, rng):
        data = bytearray(path.read_bytes())
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)


def lost_file(directory: RunDirectory, rng: random.Random) -> None:
    """One file of the newest checkpoint is gone."""
    if path := newest_file(directory, rng):
        path.unlink()


FAULTS = {
    "killed while learning": Fault(killed_learning),
    "killed while saving": Fault(killed_saving),
    "terminated": Fault(terminated),
    "disk full": Fault(disk_full),
    "disk error": Fault(disk_error),
    "slow disk, killed": Fault(slow_disk),
    "clock jumps": Fault(clock_jump),
    "torn rows": Fault(killed_learning, torn_rows),
    "damaged checkpoint": Fault(terminated, damaged_file),
    "lost file of a checkpoint": Fault(terminated, lost_file),
}
"""Kind of fault by name."""


def work(path: Path, settings: RunSettings, name: str, seed: int) -> None:
    """In a process of its own: train until the end, or until the fault."""
    callback = FAULTS[name].inject(random.Random(seed)) if name else None
    try:
        train(path, settings, resume=(path / "config.json").exists(), callbacks=[] if callback is None else [callback])
    except (OSError, KeyboardInterrupt):
        sys.exit(1)


def content(path: Path) -> tuple[bytes, dict[str, bytes]]:
    """Rows, and the tensors of the last checkpoint."""
    checkpoints = RunDirectory(path).checkpoints
    files = sorted(checkpoints.path(checkpoints.steps()[-1]).glob("*.safetensors"))
    return (path / "rows.jsonl").read_bytes(), {file.name: file.read_bytes() for file in files}


def disturb(path: Path, settings: RunSettings, names: Sequence[str], rng: random.Random) -> list[str]:
    """Train a run to its end through faults, in order; returns those that hit it."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.faults"])
    waiting, hit = list(names), []
    while True:
        name, seed = waiting.pop(0) if waiting else "", rng.randrange(2**32)
        process = context.Process(target=work, args=(path, settings, name, seed))
        process.start()
        process.join()
        if process.exitcode == 0:
            return hit
        if not name:
            raise RuntimeError(f"{path} could not be resumed: a process without a fault ended with {process.exitcode}")
        FAULTS[name].spoil(RunDirectory(path), rng)
        hit.append(name)


def campaign(count: int, settings: RunSettings, seed: int, folder: Path) -> dict[str, Any]:
    """Run after run until so many faults have hit: how many of each kind, and how many runs came out identical."""
    rng, found, runs, same = random.Random(seed), Counter[str](), 0, 0
    disturb(folder / "whole", settings, [], rng)
    expected = content(folder / "whole")
    while (left := count - found.total()) > 0:
        rare = sorted(FAULTS, key=lambda name: (found[name], rng.random()))
        path, runs = folder / f"run-{runs}", runs + 1
        found.update(disturb(path, settings, rare[: min(left, 5)], rng))
        same += content(path) == expected
        print(f"{found.total()} faults in {runs} runs, {same} of them identical", flush=True)
    return {"faults": {name: found[name] for name in FAULTS}, "runs": runs, "identical": same}


def main() -> int:
    """Inject, compare, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="of the kinds and moments of the faults")
    parser.add_argument("--preset", choices=tuple(RUNS), default="smoke")
    parser.add_argument("--out", type=Path, help="file of the result (default: results/faults/PRESET.json)")
    given = parser.parse_args()
    probes = "none" if given.preset == "smoke" else "periodic"
    settings = RunSettings.of(given.preset, **{"probes": probes, "device": "cpu", **RUNS[given.preset]})
    with tempfile.TemporaryDirectory(prefix="vase-faults-") as folder:
        result = campaign(given.faults, settings, given.seed, Path(folder))
    out = given.out or RESULTS / f"{given.preset}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    options = f"--preset {given.preset} --faults {given.faults} --seed {given.seed}"
    out.write_text(json.dumps({"command": f"python -m benchmarks.faults {options}", **result}, indent=1) + "\n")
    for name, count in result["faults"].items():
        print(f"{name:28}{count:5}")
    return 0 if result["identical"] == result["runs"] else 1


if __name__ == "__main__":
    sys.exit(main())
