"""Draw the figures of a run from its saved data."""

from __future__ import annotations

import argparse

from vase.cli.options import add_settings, add_shared

EXAMPLE = "vase figures runs/demo"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `vase figures`."""
    add_shared(parser, "directory")
    add_settings(parser, "data")
    parser.add_argument("--out", metavar="DIR", help="folder for the figures (default: figures in the run)")


def run(arguments: argparse.Namespace) -> None:
    """Draw the figures and print their paths."""
    from vase.plots.run import write_run_figures

    for path in write_run_figures(arguments.directory, data=arguments.data, out=arguments.out):
        print(path)
