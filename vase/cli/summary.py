"""Print the results of a run."""

from __future__ import annotations

import argparse
import json

from vase.cli.options import add_shared

EXAMPLE = "vase summary runs/demo"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `vase summary`."""
    add_shared(parser, "directory")
    parser.add_argument("--json", action="store_true", help="print all numbers as JSON")


def run(arguments: argparse.Namespace) -> None:
    """Print the summary."""
    from vase.training.summary import describe, summary

    found = summary(arguments.directory)
    print(json.dumps(found, indent=1) if arguments.json else describe(found))
