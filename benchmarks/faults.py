"""Inject faults into training runs, resume them each time, and compare them with a run that nothing disturbed.

    python -m benchmarks.faults [--faults 20] [--seed 0] [--preset smoke] [--out FILE]
    python -m benchmarks.faults --table    prints the Markdown table of all committed results

Every fault hits a process that trains: it is killed while it learns or saves, its disk is full, slow or broken, its
clock jumps, its source of images fails, its files are damaged before the next process finds them, or it is one of
several workers. The bar: rows and weights are identical to the last bit in the end. Writes results/faults/PRESET.json.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.fault_scenes import Scene, scenes
from benchmarks.tables import table
from vase.training import RunDirectory, RunSettings

RESULTS = Path(__file__).parent.parent / "results" / "faults"
RUNS = {
    "smoke": {"stream": "moving-digits*24,digits:12*18", "batch_size": 8, "checkpoint_every": 5, "rows_every": 3},
    "laptop": {"stream": "moving-digits*60,digits:12*60", "checkpoint_every": 10, "probe_every": 30, "frozen_every": 0},
}
"""Preset -> the run that is disturbed."""
FAULTS_OF_A_RUN = 5
"""Faults that hit one run, at most."""


def content(path: Path) -> dict[str, bytes]:
    """Rows, and the tensors of the last checkpoint, of every run in a folder."""
    found = {}
    for run in sorted(config.parent for config in path.rglob("config.json")):
        checkpoints = RunDirectory(run).checkpoints
        files = [run / "rows.jsonl", *checkpoints.path(checkpoints.steps()[-1]).glob("*.safetensors")]
        found |= {str(file.relative_to(path)): file.read_bytes() for file in files}
    return found


def disturb(path: Path, settings: RunSettings, scene: Scene, names: Sequence[str], rng: random.Random) -> list[str]:
    """Train to the end through faults, in order; returns those that hit."""
    waiting, hit = list(names), []
    while True:
        name, seed = waiting.pop(0) if waiting else "", rng.randrange(2**32)
        outcome = scene.attempt(path, settings, name, seed)
        if outcome.hit:
            scene.faults[name].spoil(RunDirectory(path), rng)
            hit.append(name)
        if outcome.ended:
            return hit
        if not outcome.hit:
            raise RuntimeError(f"{path} could not be resumed: an attempt failed without a fault")


def campaign(count: int, settings: RunSettings, scene: Scene, seed: int, folder: Path) -> dict[str, Any]:
    """Run after run until so many faults have hit: how many of each kind, and how many runs came out identical."""
    rng, found, runs, same = random.Random(seed), Counter[str](), 0, 0
    folder.mkdir(parents=True, exist_ok=True)
    disturb(folder / "whole", settings, scene, [], rng)
    expected = content(folder / "whole")
    while (left := count - found.total()) > 0:
        rare = sorted(scene.faults, key=lambda name: (found[name], rng.random()))
        names = (rare * FAULTS_OF_A_RUN)[: min(left, FAULTS_OF_A_RUN)]
        path, runs = folder / f"run-{runs}", runs + 1
        found.update(disturb(path, settings, scene, names, rng))
        same += content(path) == expected
        print(f"{found.total()} faults in {runs} runs, {same} of them identical", flush=True)
    return {"faults": {name: found[name] for name in scene.faults}, "runs": runs, "identical": same}


def together(campaigns: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The sum of several campaigns."""
    faults = {name: count for one in campaigns for name, count in one["faults"].items()}
    return {"faults": faults, **{key: sum(one[key] for one in campaigns) for key in ("runs", "identical")}}


def results_table(folder: Path = RESULTS) -> str:
    """The committed results as a Markdown table: faults by kind and preset, and what came of the runs."""
    paths = {name: folder / f"{name}.json" for name in RUNS}
    results = {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}
    if not results:
        return "No results are committed yet; `python -m benchmarks.faults --faults 200` makes them."
    kinds = list(dict.fromkeys(kind for result in results.values() for kind in result["faults"]))
    counts = [[result["faults"].get(kind, 0) for result in results.values()] for kind in kinds]
    rows = [[kind, *(str(n or "–") for n in row), str(sum(row))] for kind, row in zip(kinds, counts, strict=True)]
    sums = [sum(column) for column in zip(*counts, strict=True)]
    rows.append(["**all**", *map(str, sums), f"**{sum(sums)}**"])
    for key, title in (("runs", "runs that were hit"), ("identical", "of them identical to an undisturbed run")):
        values = [result[key] for result in results.values()]
        rows.append([title, *map(str, values), str(sum(values))])
    commands = ", ".join(f"`{result['command']}`" for result in results.values())
    return f"{table(['fault', *results, 'all'], rows)}\n\n{commands}"


def main() -> int:
    """Inject, compare, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="of the kinds and moments of the faults")
    parser.add_argument("--preset", choices=tuple(RUNS), default="smoke")
    parser.add_argument("--out", type=Path, help="file of the result (default: results/faults/PRESET.json)")
    parser.add_argument("--table", action="store_true", help="only print the table of the committed results")
    given = parser.parse_args()
    if given.table:
        print(results_table())
        return 0
    probes = "none" if given.preset == "smoke" else "periodic"
    settings = RunSettings.of(given.preset, **{"probes": probes, "device": "cpu", **RUNS[given.preset]})
    options = f"--preset {given.preset} --faults {given.faults} --seed {given.seed}"
    out = given.out or RESULTS / f"{given.preset}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    begin, found, result = time.monotonic(), [], together([])
    with tempfile.TemporaryDirectory(prefix="vase-faults-") as folder:
        for number, scene in enumerate(scenes(given.preset)):
            if count := round(scene.share * given.faults):
                found.append(campaign(count, settings, scene, given.seed + number, Path(folder) / str(number)))
                result = together(found)
                out.write_text(
                    json.dumps({"command": f"python -m benchmarks.faults {options}", **result}, indent=1) + "\n"
                )
    for name, count in result["faults"].items():
        print(f"{name:28}{count:5}")
    print(f"{time.monotonic() - begin:.0f} s")
    return 0 if result["identical"] == result["runs"] else 1


if __name__ == "__main__":
    sys.exit(main())
