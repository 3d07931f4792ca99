"""Write the report of a run: one HTML page with a timeline and latents to drag, which needs no network."""

from __future__ import annotations

import argparse

from vase.cli.options import add_settings, add_shared

EXAMPLE = "vase report runs/demo"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `vase report`."""
    add_shared(parser, "directory")
    parser.add_argument("--out", metavar="FILE", help="the file to write (default: report.html in the run's folder)")
    add_settings(parser, "data")


def run(arguments: argparse.Namespace) -> None:
    """Write the page and print its path and size."""
    from vase.report.build import write_report

    path = write_report(arguments.directory, arguments.out, data=arguments.data)
    print(f"{path} ({path.stat().st_size / 1e6:.2f} MB)")
