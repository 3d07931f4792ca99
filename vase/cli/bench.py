"""Measure the speed of the learner on this machine against a bare VAE, in float32 and bfloat16, and time to quality."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from vase.cli.options import add_settings
from vase.cli.parsing import hint, whole_number

EXAMPLE = "vase bench --quick"
DEFAULT = ("step", "precision")
PARTS = (*DEFAULT, "quality")
"""Modules of vase.bench, each with a function `measure`. "quality" trains for minutes per round and contestant."""
ROUNDS, QUICK = 10, 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `vase bench`."""
    add_settings(parser, "preset", preset="laptop")
    parser.add_argument(
        "--rounds", type=whole_number, metavar="N", help=f"measurements per contestant (default: {ROUNDS})"
    )
    parser.add_argument("--only", nargs="+", metavar="PART", help=f"of {', '.join(PARTS)} (default: all but quality)")
    parser.add_argument("--out", metavar="FILE", help="also write everything as JSON")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} rounds: a check that it works, no measurement")


def run(given: argparse.Namespace) -> int:
    """Measure, print and write; returns the exit code."""
    from rich.console import Console

    from vase.bench import report
    from vase.training.process import threads

    names = list(dict.fromkeys(given.only or DEFAULT))
    for name in names:
        if name not in PARTS:
            raise ValueError(f"--only {name}: no part of the benchmark{hint(name, PARTS)}.")
    rounds = (QUICK if given.quick else ROUNDS) if given.rounds is None else given.rounds
    if rounds < 1:
        raise ValueError(f"--rounds {rounds}: must be at least 1.")
    out = None if given.out is None else Path(given.out)
    if out is not None and out.is_dir():
        raise ValueError(f"--out {out}: is a directory; name a file, e.g. {out / 'bench.json'}.")
    console = Console()
    with threads(1):
        record = _record(given, rounds, names)
        console.print(f"{record['cpu']}, {record['cores']} cores; {rounds} rounds, one thread", highlight=False)
        if record["OMP_NUM_THREADS"] != "1":
            print(
                f"vase: warning: OMP_NUM_THREADS is {record['OMP_NUM_THREADS']}; set it to 1, or threads of the math "
                "libraries may disturb the measurement",
                file=sys.stderr,
            )
        for name in names:
            found = import_module(f"vase.bench.{name}").measure(given.preset, rounds)
            found.show(console)
            record["parts"][name] = found.to_dict()
            if out is not None:
                report.write(out, record)  # after each part: a long run may be stopped
    if out is not None:
        console.print(f"\n{out}", highlight=False)
    return 0


def _record(given: argparse.Namespace, rounds: int, names: list[str]) -> dict[str, Any]:
    from vase.bench import report
    from vase.bench.contestants import block, timed_config
    from vase.process import keep_memory

    config = timed_config(given.preset)
    words = ["vase", "bench", "--preset", given.preset, "--rounds", str(rounds)]
    words += ["--only", *names] if given.only else []
    settings = {"preset": given.preset, "rounds": rounds, "steps_per_round": block(config), "parts": names}
    return {
        "command": shlex.join(words),
        **report.machine(),
        "keeps_memory": keep_memory(),
        "settings": {**settings, "load_before": os.getloadavg()[0] if hasattr(os, "getloadavg") else None},
        "config": config.to_dict(),
        "parts": {},
    }
