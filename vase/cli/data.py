"""List or download the datasets."""

from __future__ import annotations

import argparse

from vase.cli.parsing import add_actions, add_command
from vase.worlds.rooms import WORLDS
from vase.worlds.spec import NAMES

EXAMPLE = "vase data fetch mnist fashion"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `vase data`."""
    actions = add_actions(parser)
    add_command(actions, "list", run.__doc__, "vase data list", run)
    fetcher = add_command(actions, "fetch", _fetch.__doc__, "vase data fetch mnist", _fetch)
    fetcher.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"of {', '.join((*NAMES, *WORLDS))} (default: mnist fashion); digits and glyphs are embedded, outdoors "
        "and indoors are rendered; faces are the 400 ORL faces, unless the environment variable VASE_FACES names a "
        "folder of other pictures, e.g. CelebA's, which needs no download",
    )


def run(arguments: argparse.Namespace) -> None:
    """Print where each dataset is and whether its content is verified."""
    from vase.worlds.sources import status

    rows = status()
    width = max(len(f"{row.name} {row.split}") for row in rows)
    for row in rows:
        print(f"{f'{row.name} {row.split}'.ljust(width)}  {row.state}  ({row.where})")


def _fetch(arguments: argparse.Namespace) -> None:
    """Download datasets into the cache."""
    from vase.worlds.sources import fetch

    fetch(arguments.names or ("mnist", "fashion"))
