"""Two learners in parallel, one thread each, against one alone."""

from __future__ import annotations

import subprocess
import sys
import time
from types import TracebackType
from typing import Any

from benchmarks import child
from benchmarks.reference import PLAIN
from vase.bench.contestants import Learner, block, timed_config
from vase.bench.report import Part
from vase.bench.timing import Ratio, Spread


class Worker:
    """A process with a learner that takes steps when it is told to."""

    def __init__(self, preset: str) -> None:
        self.process = subprocess.Popen(
            child.command("benchmarks.processes", {"preset": preset}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=child.environment(),
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            if error is None:  # else what went wrong is known already
                raise self._ended() from None
        finally:
            self.process.wait()
            self.process.stdout.close()

    def tell(self, steps: int) -> None:
        """Start so many steps."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(f"{steps}\n")
            self.process.stdin.flush()
        except BrokenPipeError:  # which the command line would take for a terminal that is gone
            raise self._ended() from None

    def wait(self) -> None:
        """Until they are done."""
        assert self.process.stdout is not None
        if not self.process.stdout.readline():
            raise self._ended()

    def _ended(self) -> OSError:
        how = child.failure(self.process.wait(), "") or "without a word"
        return OSError(
            f"a worker ended early: {how}; what it said is above. Free memory, or leave this part out with --only."
        )


def rate(workers: list[Worker], steps: int) -> float:
    """Steps per second of all workers together, until the last is done."""
    start = time.perf_counter()
    for worker in workers:
        worker.tell(steps)
    for worker in workers:
        worker.wait()
    return len(workers) * steps / (time.perf_counter() - start)


def measure(preset: str, rounds: int) -> Part:
    """Each round: one alone, both, the other alone; the ratio is taken within the round."""
    steps = 2 * block(timed_config(preset, **PLAIN))
    solo, duo = [], []
    with Worker(preset) as a, Worker(preset) as b:
        for worker in (a, b):
            worker.wait()  # it is ready
        for _ in range(rounds):
            before = rate([a], steps)
            duo.append(rate([a, b], steps))
            solo.append((before + rate([b], steps)) / 2)
    rows = [
        {"processes": "one", "steps/s": Spread.of(solo)},
        {"processes": "two", "steps/s": Spread.of(duo)},
    ]
    ratio = Ratio.of("throughput of two processes / one", duo, solo, at_least=1.8)
    return Part("processes", f"Side by side: {preset} preset, dreaming, one thread each", rows, [ratio])


def take_steps(asked: dict[str, Any]) -> None:
    """In a worker: as many steps as each line of the input says."""
    learner = Learner(timed_config(asked["preset"], **PLAIN), 2)
    child.say(ready=True)
    for line in sys.stdin:
        for _ in range(int(line)):
            learner()
        child.say(done=int(line))


if __name__ == "__main__":
    child.serve(take_steps)
