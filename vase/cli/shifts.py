"""Run the shift benchmark: how fast detectors notice that the world changed, and whether they know it again.

Streams are drawn at random from worlds and changes. What is missing in the result files is computed; the same command,
repeated, continues. Then the table is printed, and with --figures the figures are drawn.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vase.cli.options import add_shared
from vase.cli.parsing import whole_number
from vase.experiments.shifts.settings import DETECTORS, LEARNERS, PARTS, SIZES
from vase.experiments.tables import FORMATS

EXAMPLE = "vase experiment shifts --only monitor ks-latents --streams 8 --seeds 0"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `vase experiment shifts`."""
    learners = [name for name in LEARNERS if name not in DETECTORS]
    names = f"of {', '.join((*DETECTORS, *learners))}, and package.module:Class of your own"
    default = "(default: all but vase*; of a table: all that have results)"
    parser.add_argument("--only", nargs="+", default=[], metavar="DETECTOR", help=f"{names} {default}")
    parser.add_argument("--size", choices=tuple(SIZES), default="full", help="how much to run (default: %(default)s)")
    parser.add_argument("--smoke", dest="size", action="store_const", const="smoke", help="the same as --size smoke")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="(default: all)")
    parser.add_argument("--streams", type=whole_number, metavar="N", help="(default: 40, smoke 4)")
    parser.add_argument("--seeds", help="e.g. 0-4 or 0,1,7 (default: full 0-2, others 0)")
    parser.add_argument("--results", default="results", metavar="DIR", help="of result files (default: %(default)s)")
    parser.add_argument("--runs", default="runs", metavar="DIR", help="of recordings (default: %(default)s)")
    parser.add_argument(
        "--table", choices=("main", "kinds", "rates", "single", "all"), default="main", help="(default: %(default)s)"
    )
    parser.add_argument("--format", choices=FORMATS, default="text", help="format of the table (default: %(default)s)")
    parser.add_argument("--figures", metavar="DIR", help="draw the figures into this folder")
    parser.add_argument("--no-run", action="store_true", help="compute nothing; only print what the files hold")
    add_shared(parser, "--quiet")


def run(arguments: argparse.Namespace) -> None:
    """Compute what is missing, print the table, draw the figures."""
    from vase.experiments.shifts.analysis import TABLES, read_scores
    from vase.experiments.tables import render_all

    size = SIZES[arguments.size]
    if not arguments.no_run:
        _compute(arguments)
    scores = read_scores(size, arguments.results, arguments.only)
    made = {name: make(scores) for name, make in TABLES.items() if arguments.table in (name, "all")}
    tables = [table for name, table in made.items() if table.rows or name == arguments.table]
    print(tables[0].render(arguments.format) if len(tables) == 1 else render_all(tables, arguments.format))
    if arguments.figures:
        from vase.experiments.shifts.figures import FIGURES
        from vase.plots.style import save

        for name, draw in FIGURES.items():
            print(save(draw(scores), Path(arguments.figures) / f"shifts-{name}.png"))


def _compute(arguments: argparse.Namespace) -> None:
    """Run what is missing, with a progress bar on a terminal and lines in a log."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    from vase.experiments.shifts.runner import run as compute
    from vase.sweeps.grid import read_seeds
    from vase.training.process import threads
    from vase.training.progress import is_interactive

    if arguments.streams is not None and arguments.streams < 1:
        raise ValueError(f"streams={arguments.streams}: must be at least 1.")
    options: dict[str, Any] = {"results": arguments.results, "runs": arguments.runs, "streams": arguments.streams}
    options["parts"] = arguments.parts
    options["seeds"] = read_seeds(arguments.seeds) if arguments.seeds else ()
    size = SIZES[arguments.size]

    def start(notify: Callable[[str, int, int], None]) -> None:
        with threads(1):
            compute(size, arguments.only or list(DETECTORS), notify=notify, **options)

    if arguments.quiet or not is_interactive():
        start(lambda text, done, total: print(f"{done}/{total} {text}", flush=True))
        return
    columns = ("{task.description}", BarColumn(bar_width=None), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns) as bars:
        task = bars.add_task("")
        start(lambda text, done, total: bars.update(task, description=text, completed=done, total=total))
