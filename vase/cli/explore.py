"""Explore runs in the browser, on their full models: your own pictures, mixtures, comparisons, names of latents."""

from __future__ import annotations

import argparse

from vase.cli.options import add_settings
from vase.cli.parsing import whole_number
from vase.extras import install_command

EXAMPLE = "vase explore runs/demo"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `vase explore`."""
    parser.add_argument("directories", nargs="+", metavar="RUN", help="directories of runs")
    parser.add_argument("--port", type=whole_number, default=0, metavar="N", help="port (default: a free one)")
    parser.add_argument("--no-browser", action="store_true", help="print the address without opening it")
    add_settings(parser, "data")


def run(arguments: argparse.Namespace) -> None:
    """Serve the page on this machine until Ctrl-C."""
    from vase.cli.demo import show

    try:
        from vase.explorer.app import explore
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn"):
            raise
        raise ModuleNotFoundError(f"{error.name} is not installed: {install_command('explorer')}.") from error

    def ready(address: str) -> None:
        opened = not arguments.no_browser and show(address)
        print(
            f"{'Opened' if opened else 'Open'} {address}\nOnly this machine can reach it. Ctrl-C ends it.", flush=True
        )

    try:
        explore(arguments.directories, data=arguments.data, port=arguments.port, ready=ready)
    except KeyboardInterrupt:  # uvicorn raises it again once the server has closed
        print("\nThe explorer has ended.", flush=True)
