"""Measure the speed of the learner, and write one of the files in results/speed.

    export OMP_NUM_THREADS=1
    python -m benchmarks.speed laptop [--peers-python PYTHON]    writes results/speed/laptop.json
    python -m benchmarks.speed paper                             writes results/speed/paper.json
    python -m benchmarks.speed scaling                           writes results/speed/scaling.json
    python -m benchmarks.speed rivals                            writes results/speed/rivals.json

Run it on an otherwise idle machine. PYTHON: an interpreter that has pythae and avalanche-lib.
"""

from __future__ import annotations

import argparse
import functools
import os
from collections.abc import Callable
from pathlib import Path

import torch
from rich.console import Console

from benchmarks import parts, peers, processes, rivals, scaling, step
from benchmarks.reference import PLAIN
from vase.bench import precision, report
from vase.bench.contestants import block, timed_config
from vase.process import keep_memory

RESULTS = Path(__file__).parent.parent / "results" / "speed"
FILES: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "laptop": ("laptop", 8, ("step", "precision", "parts", "processes", "peers")),
    "paper": ("paper", 3, ("step",)),
    "scaling": ("laptop", 3, ("scaling",)),
    "rivals": ("laptop", 1, ("rivals",)),
}
"""File -> preset, rounds, parts."""
PARTS: dict[str, Callable[[str, int], report.Part]] = {
    "step": step.measure,
    "precision": precision.measure,
    "parts": parts.measure,
    "scaling": scaling.measure,
    "processes": processes.measure,
    "peers": peers.measure,
    "rivals": rivals.measure,
}


def main() -> None:
    """Measure, print, and write after each part: a long run may be stopped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", choices=FILES)
    parser.add_argument("--only", nargs="+", choices=PARTS, help="(default: all parts of the file)")
    parser.add_argument("--preset", help="(default: that of the file)")
    parser.add_argument("--rounds", type=int, help="measurements per contestant (default: those of the file)")
    parser.add_argument("--out", type=Path, help="(default: the file in results/speed)")
    parser.add_argument("--peers-python", metavar="PYTHON", help="(default: this interpreter)")
    given = parser.parse_args()
    preset, rounds, names = FILES[given.file]
    preset, rounds, names = given.preset or preset, given.rounds or rounds, given.only or names
    out = given.out or RESULTS / f"{given.file}.json"
    console = Console()
    torch.set_num_threads(1)
    config = timed_config(preset, **PLAIN)
    record = {
        "command": f"python -m benchmarks.speed {given.file}",
        **report.machine(),
        "keeps_memory": keep_memory(),
        "settings": {
            "preset": preset,
            "rounds": rounds,
            "steps_per_round": block(config),
            "parts": list(names),
            "load_before": os.getloadavg()[0],
        },
        "config": config.to_dict(),
        "parts": {},
    }
    known = {**PARTS, "peers": functools.partial(peers.measure, python=given.peers_python)}
    for name in names:
        found = known[name](preset, rounds)
        found.show(console)
        record["parts"][name] = found.to_dict()
        report.write(out, record)
    console.print(f"\n{out}", highlight=False)


if __name__ == "__main__":
    main()
