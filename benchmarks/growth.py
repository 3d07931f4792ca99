"""What a long life costs: time of a step, memory and size of a checkpoint against environments and against steps.

    python -m benchmarks.growth [--environments 2 50 200 1000] [--steps 2000]
    python -m benchmarks.growth --table    prints the Markdown table of the committed result

Writes results/growth/smoke.json. The last row of the table is arithmetic: a straight line through the smallest and the
largest measured case. A million steps are those of the last row of the soak (benchmarks.soak), times their number.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.scaling import own_bytes
from benchmarks.tables import table
from vase.bench.contestants import Learner, block, timed_config
from vase.learners.vase import VASE
from vase.process import keep_memory
from vase.training import RunSettings, train

RESULTS = Path(__file__).parent.parent / "results"
RESULT, SOAK = RESULTS / "growth" / "smoke.json", RESULTS / "soak" / "smoke.json"
ENVIRONMENTS, STEPS = 1_000, 1_000_000
"""What the arithmetic is about."""
TIMED_STEPS = 50


@dataclass(frozen=True)
class Cost:
    """What a learner with so many environments costs."""

    environments: int
    step_ms: float
    """Processor time of a step."""
    tensor_bytes: int
    """All tensors of the learner, gradients and moments included."""
    checkpoint_bytes: int


def folder_bytes(folder: Path) -> int:
    """Size of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def checkpoint_bytes(model: VASE) -> int:
    """Size of a saved learner."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "learner")
        return folder_bytes(Path(folder))


def cost(environments: int, preset: str = "smoke") -> Cost:
    """Measure a learner that knows so many environments."""
    config = timed_config(preset)
    learner = Learner(config, environments)
    steps = max(TIMED_STEPS, block(config))
    begin = time.process_time()
    for _ in range(steps):
        learner()
    spent = time.process_time() - begin
    return Cost(environments, round(1e3 * spent / steps, 3), own_bytes(learner.model), checkpoint_bytes(learner.model))


def rows_bytes(steps: int, preset: str = "smoke") -> dict[str, float]:
    """Bytes of rows.jsonl per step, and of a checkpoint at the start and at the end, of a run in one world."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        settings = RunSettings.of(
            preset, stream=f"moving-digits*{steps}", probes="none", checkpoint_every=steps // 2, device="cpu", keep=2
        )
        train(folder, settings)
        early, late = (folder_bytes(path) for path in sorted((folder / "checkpoints").iterdir()))
        size = (folder / "rows.jsonl").stat().st_size
    return {"steps": steps, "rows_bytes_per_step": round(size / steps, 2), "early": early, "late": late}


def line(first: float, last: float, x: tuple[int, int], at: int) -> float:
    """The value of a straight line through two points.

    >>> line(10.0, 40.0, (2, 50), 98)
    70.0
    """
    return first + (last - first) * (at - x[0]) / (x[1] - x[0])


def results_table(path: Path = RESULT, soak: Path = SOAK) -> str:
    """The committed result as Markdown: measured costs, the line to 1,000 environments, and a million steps."""
    if not path.exists():
        return "No results are committed yet; `python -m benchmarks.growth` makes them."
    result = json.loads(path.read_text())
    costs = [Cost(**one) for one in result["costs"]]
    fields = ("step_ms", "tensor_bytes", "checkpoint_bytes")

    def cells(values: list[float]) -> list[str]:
        return [f"{values[0]:.1f}", *(f"{value / 1e6:.2f}" for value in values[1:])]

    rows = [[f"{one.environments:,}", *cells([getattr(one, field) for field in fields])] for one in costs]
    first, last = costs[0], costs[-1]
    if last.environments < ENVIRONMENTS:
        x = (first.environments, last.environments)
        reached = [line(getattr(first, field), getattr(last, field), x, ENVIRONMENTS) for field in fields]
        rows.append([f"{ENVIRONMENTS:,} (arithmetic)", *cells(reached)])
    head = ["environments", "ms a step", "tensors, MB", "checkpoint, MB"]
    return "\n\n".join(
        [f"`{result['command']}`", table(head, rows), _sentence(result["run"], json.loads(soak.read_text()))]
    )


def _sentence(run: dict[str, Any], soak: dict[str, Any]) -> str:
    """What a million steps take, from the run and the soak."""
    points = soak["points"]
    milliseconds = sum(point["step_ms"] for point in points) / len(points)
    hours, size = milliseconds * STEPS / 3.6e6, run["rows_bytes_per_step"] * STEPS
    growth = points[-1]["resident_bytes"] / points[0]["resident_bytes"] - 1
    return (
        f"{STEPS:,} steps in one world, by arithmetic: {hours:.1f} hours of one core at {milliseconds:.1f} ms a step, "
        f"and {size / 1e6:.0f} MB of rows. Memory and checkpoints do not grow with steps: resident memory after "
        f"{points[-1]['step']:,} steps differs by {100 * growth:+.1f} % from that after {points[0]['step']:,}, and a "
        f"checkpoint has {run['early'] / 1e6:.2f} MB after {run['steps'] // 2:,} steps and {run['late'] / 1e6:.2f} MB "
        f"after {run['steps']:,}."
    )


def main() -> int:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environments", type=int, nargs="+", default=[2, 50, 200, 1000])
    parser.add_argument("--steps", type=int, default=2_000)
    parser.add_argument("--table", action="store_true", help="only print the table of the committed result")
    given = parser.parse_args()
    if not given.table:
        torch.set_num_threads(1)
        keep_memory()
        numbers = " ".join(map(str, given.environments))
        result: dict[str, Any] = {
            "command": f"python -m benchmarks.growth --environments {numbers} --steps {given.steps}",
            "run": rows_bytes(given.steps),
            "costs": [],
        }
        for number in sorted(given.environments):
            result["costs"].append(asdict(cost(number)))
            print(result["costs"][-1], flush=True)
        RESULT.parent.mkdir(parents=True, exist_ok=True)
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
    print(results_table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
