"""The runs behind the claims in the README: what the learner must reach, measured on real streams.

    python benchmarks/bars.py run [--jobs 2] [--only three-worlds]    trains what is missing; resumable
    python benchmarks/bars.py table                                   prints the table from the committed results

One file per run under results/learner: the command, settings, configuration, versions, summary, and every row but the
step rows. Runs use the laptop preset, one thread each.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

RESULTS = Path(__file__).parent.parent / "results" / "learner"
RUNS = Path("runs") / "bars"
TWELVE = (
    "mnist,inverse-fashion,fashion:28,inverse-mnist:12,moving-fashion:14,mnist:28,inverse-mnist,fashion:12,"
    "moving-mnist:12,inverse-fashion:28,moving-inverse-mnist:14,mnist:12"
)
OFF = "--set environments.enabled=no --set dreaming.enabled=no --set mask.enabled=no"


@dataclass(frozen=True)
class Cell:
    """One condition of the learner on one stream."""

    name: str
    stream: str
    steps: int
    seeds: tuple[int, ...]
    options: str = ""

    def command(self, seed: int) -> str:
        """What a user types to get the same run."""
        words = ["vase train --stream", self.stream, "--preset laptop --steps", str(self.steps), self.options]
        return " ".join(word for word in [*words, f"--seed {seed} --out {RUNS / self.name}-{seed}"] if word)


CELLS = (
    Cell("three-worlds", "moving-fashion,mnist,moving-mnist", 3000, (0, 1, 2, 3, 4)),
    Cell("three-worlds-off", "moving-fashion,mnist,moving-mnist", 3000, (0, 1, 2, 3, 4), OFF),
    Cell("returns", "mnist,fashion,mnist,fashion,mnist", 1000, (0, 1, 2, 3, 4)),
    Cell("five-worlds", "moving-mnist,fashion,inverse-fashion,mnist,moving-fashion", 1500, (0, 1, 2, 3, 4)),
    Cell("twelve-worlds", TWELVE, 300, (0,), "--probes none"),
)


def run(cell: Cell, seed: int) -> None:
    """Train one run, or go on with it, and keep what matters of it."""
    target = RESULTS / f"{cell.name}-{seed}.json"
    if target.exists():
        return
    out = RUNS / f"{cell.name}-{seed}"
    words = shlex.split(cell.command(seed))[1:]
    if (out / "config.json").exists():
        words = ["train", "--resume", "--out", str(out)]
    out.parent.mkdir(parents=True, exist_ok=True)
    with (out.parent / f"{out.name}.log").open("a") as log:
        subprocess.run([sys.executable, "-m", "vase", *words, "--quiet"], check=True, stdout=log, stderr=log)
    target.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in (out / "rows.jsonl").read_text().splitlines()]
    config = json.loads((out / "config.json").read_text())
    result = {
        "command": cell.command(seed),
        **config,
        "summary": json.loads((out / "summary.json").read_text()),
        "rows": [row for row in rows if row["kind"] != "step"],
    }
    lines = [json.dumps(row) for row in result.pop("rows")]
    body = json.dumps(result, indent=1)[:-2] + ',\n "rows": [\n  ' + ",\n  ".join(lines) + "\n ]\n}\n"
    target.write_text(body)
    print(f"{target.stem}: done", flush=True)


def load(name: str) -> list[dict[str, Any]]:
    """The committed results of one cell, by seed."""
    cell = next(cell for cell in CELLS if cell.name == name)
    paths = [RESULTS / f"{name}-{seed}.json" for seed in cell.seeds]
    return [json.loads(path.read_text()) for path in paths if path.exists()]


def spread(values: list[float], digits: int = 1) -> str:
    """Mean ± standard deviation over seeds."""
    if not values:
        return "–"
    return f"{mean(values):.{digits}f}" + (f" ± {stdev(values):.{digits}f}" if len(values) > 1 else "")


def position_latents(result: dict[str, Any]) -> set[int]:
    """Latents that carry x and y at the end of the first stage."""
    first = next(row for row in result["rows"] if row["kind"] == "stage")
    return {first["position"][axis]["latent"] for axis in "xy"}


def position_pattern(result: dict[str, Any]) -> bool:
    """Both position latents used on moving Fashion, masked on MNIST, active and used on moving MNIST."""
    latents = position_latents(result)
    first, second, third = (row for row in result["rows"] if row["kind"] == "stage")
    return (
        len(latents) == 2
        and all(first["used"][n] for n in latents)
        and not any(second["mask"][n] for n in latents)
        and all(third["mask"][n] and third["used"][n] for n in latents)
    )


def recruited(result: dict[str, Any]) -> int:
    """Latents that MNIST uses and moving Fashion does not."""
    end = next(row for row in result["rows"] if row["kind"] == "end")["environments"]
    return sum(new and not old for old, new in zip(end[0]["used"], end[1]["used"], strict=True))


def table() -> str:
    """Every bar, with what was reached."""
    lines = ["| what | bar | reached | seeds |", "|---|---|---|---|"]

    def row(what: str, bar: str, reached: str, results: list[dict[str, Any]]) -> None:
        lines.append(f"| {what} | {bar} | {reached} | {len(results)} |")

    for name, worlds in (("three-worlds", 3), ("returns", 2), ("five-worlds", 5)):
        if results := load(name):
            found = [r["summary"]["environments"] for r in results]
            delays = [d for r in results for d in r["summary"]["delays"]]
            alarms = sum(r["summary"]["false_alarms"] for r in results)
            missed = sum(len(r["summary"]["missed"]) for r in results)
            row(f"{name}: environments found", str(worlds), ", ".join(map(str, found)), results)
            row(f"{name}: largest delay in batches", "10", str(max(delays, default=0)), results)
            row(f"{name}: false alarms, missed switches", "0, 0", f"{alarms}, {missed}", results)
    if results := load("twelve-worlds"):
        state = ["to the end" if r["summary"]["complete"] else "stopped" for r in results]
        found = [str(r["summary"]["environments"]) for r in results]
        row("twelve-worlds: runs; environments found", "to the end", f"{', '.join(state)}; {', '.join(found)}", results)
    if results := load("three-worlds"):
        pattern = [position_pattern(r) for r in results]
        row("position latents masked on static MNIST only", "4 of 5", f"{sum(pattern)} of {len(pattern)}", results)
        change = [100 * r["summary"]["identity"]["mean"]["change"] for r in results]
        row("three-worlds: change of identity accuracy, points (paper −5.4)", "≥ −3", spread(change), results)
        moved = [1e4 * r["summary"]["position"]["mse"]["mean"]["change"] for r in results]
        row("three-worlds: change of position MSE, 1e-4 (paper +3.0)", "≤ +3", spread(moved), results)
        best = [100 * identity_best(r) for r in results]
        row("three-worlds: best identity accuracy, % (paper 88.6)", "see next", spread(best), results)
        row("latents recruited for MNIST, smallest", "2", str(min(map(recruited, results))), results)
        if off := load("three-worlds-off"):
            plain = [100 * identity_best(r) for r in off]
            row("same with S, D, A off: best, % (paper 88.6)", "at most 1.5 above", spread(plain), off)
            drop = [100 * r["summary"]["identity"]["mean"]["change"] for r in off]
            row("same with S, D, A off: change, points (paper −15.2)", "–", spread(drop), off)
            drift = [1e4 * r["summary"]["position"]["mse"]["mean"]["change"] for r in off]
            row("same with S, D, A off: position, 1e-4 (paper +24.8)", "–", spread(drift), off)
    if results := load("returns"):
        change = [100 * r["summary"]["identity"]["mean"]["change"] for r in results]
        row("returns: change of identity accuracy, points (paper −0.9)", "≥ −1.5", spread(change), results)
    return "\n".join(lines)


def identity_best(result: dict[str, Any]) -> float:
    """Best accuracy during the stage, mean of moving Fashion and MNIST."""
    worlds = result["summary"]["identity"]["worlds"]
    return mean(worlds[name]["best"] for name in ("moving-fashion", "mnist"))


def main() -> None:
    """Run what is missing, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("run", "table"))
    parser.add_argument("--jobs", type=int, default=2, help="runs side by side, one thread each (default 2)")
    parser.add_argument("--only", nargs="*", help="cells to run")
    arguments = parser.parse_args()
    if arguments.action == "run":
        todo = [(c, s) for c in CELLS for s in c.seeds if not arguments.only or c.name in arguments.only]
        with ThreadPoolExecutor(arguments.jobs) as pool:
            for future in [pool.submit(run, *cell) for cell in todo]:
                future.result()
    print(table())


if __name__ == "__main__":
    main()
