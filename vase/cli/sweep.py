"""Train many learners at the same time, one thread each; the same command, repeated, runs what is missing."""

from __future__ import annotations

import argparse
from pathlib import Path

from vase.cli.options import add_settings, add_shared, given_settings, new_settings

EXAMPLE = "vase sweep --seeds 0-4 --vary capacity.gamma=5,7 --jobs 2 --out runs/gamma"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `vase sweep`."""
    add_settings(parser, without=("seed", "threads"))
    parser.add_argument(
        "--vary",
        action="append",
        metavar="FIELD=V1,V2,...",
        help="values of a field of the configuration, each combined with every seed; may be repeated for all "
        "combinations; semicolons separate values that contain commas, and end a single one: "
        "'network.channels=8,16,32,64;'",
    )
    parser.add_argument("--out", metavar="DIR", default="runs/sweep", help="for all runs (default: %(default)s)")
    add_shared(parser, "--seeds", "--jobs", "--backend", "--address", "--dry-run", "--quiet")


def run(arguments: argparse.Namespace) -> int:
    """Train every combination that is missing, and print a table."""
    from vase.sweeps.grid import grid, read_seeds, read_vary, table
    from vase.sweeps.progress import sweep_watcher
    from vase.sweeps.runner import print_failures, run_many

    settings = new_settings(given_settings(arguments))
    cells = grid(Path(arguments.out), settings, read_seeds(arguments.seeds or "0"), read_vary(arguments.vary or []))
    if arguments.dry_run:
        words = {"new": "to do", "started": "to be continued", "done": "finished"}
        for cell in cells:
            print(f"{cell.path}: {words[cell.progress()]}")
        return 0
    with sweep_watcher(arguments.quiet) as watch:
        where = {"jobs": arguments.jobs, "backend": arguments.backend, "address": arguments.address}
        outcomes = run_many(cells, **where, on_progress=watch, on_note=print)
    print(f"\n{table(outcomes)}\n\nRuns: {arguments.out}. One of them: vase summary {cells[0].path}")
    return min(1, print_failures(outcomes, traces=arguments.traceback))
