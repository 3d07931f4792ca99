"""Train for a long time in one world, and record how the memory of the process and the time of a step develop.

    python -m benchmarks.soak [--steps 100000] [--every 2000]

Writes results/soak/smoke.json: a point every so many steps. Fails if the memory at the end exceeds that of the first
point by more than two percent.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from vase import VASE, VASEConfig
from vase.process import keep_memory
from vase.worlds import Schedule

RESULT = Path(__file__).parent.parent / "results" / "soak" / "smoke.json"
STREAM = "moving-digits"
GROWTH = 1.02
"""Memory at the end against that of the first point, at most."""


@dataclass(frozen=True)
class Point:
    """Where the process stands after some steps."""

    step: int
    resident_bytes: int
    environments: int
    step_ms: float
    """Processor time of a step since the point before."""


def resident_bytes() -> int:
    """Resident memory of this process (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def soak(steps: int, every: int, config: VASEConfig | None = None) -> Iterator[Point]:
    """Train, and look at the process every so many steps."""
    config = config or VASEConfig.smoke()
    schedule = Schedule.parse(STREAM, steps, batch_size=config.batch_size, canvas=config.image_shape[-1], sprite=12)
    model, begin = VASE(config, seed=0, device="cpu"), time.process_time()
    for batch in schedule:
        model.partial_fit(batch.images)
        if schedule.step % every == 0:
            spent = time.process_time() - begin
            yield Point(schedule.step, resident_bytes(), len(model.environments), round(1e3 * spent / every, 3))
            begin = time.process_time()


def growth(points: list[Point]) -> float:
    """Memory at the last point relative to the first."""
    return points[-1].resident_bytes / points[0].resident_bytes


def main() -> int:
    """Train, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--every", type=int, default=2_000)
    parser.add_argument("--out", type=Path, default=RESULT)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    keep_memory()
    points: list[Point] = []
    for point in soak(arguments.steps, arguments.every):
        points.append(point)
        print(f"step {point.step:,}: {point.resident_bytes / 1e6:.1f} MB, {point.step_ms:.1f} ms a step", flush=True)
        result = {"command": f"python -m benchmarks.soak --steps {arguments.steps}", "stream": STREAM}
        result |= {"growth": round(growth(points), 4), "points": [asdict(point) for point in points]}
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(result, indent=1) + "\n")
    return 0 if growth(points) <= GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
