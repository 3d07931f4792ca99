"""List or download the datasets, or ask which settings suit some images."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from vase.cli.options import add_settings, given_settings
from vase.cli.parsing import add_actions, add_command, whole_number
from vase.worlds.rooms import WORLDS
from vase.worlds.spec import NAMES, StreamSpec

EXAMPLE = "vase data fetch mnist fashion"
_SOURCES = ("sprite", "data", "faces", "frames")


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
    suggester = add_command(actions, "suggest", _suggest.__doc__, "vase data suggest folder:DAY,folder:NIGHT", _suggest)
    suggester.add_argument("stream", metavar="WORLDS", help="worlds as in vase train --stream")
    suggester.add_argument(
        "--canvas",
        type=whole_number,
        metavar="N",
        help="side of the images in pixels (default: 32; of folders, the longer side of their pictures, at most 64)",
    )
    add_settings(suggester, *_SOURCES)


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


def _suggest(arguments: argparse.Namespace) -> None:
    """Print which settings of `vase train` suit the images of a stream, with the reasons."""
    from vase.cli.config import fields
    from vase.config import preset
    from vase.suggestions import suggest
    from vase.worlds import Schedule

    given = given_settings(arguments)
    canvas, why = (given["canvas"], "as you ask") if "canvas" in given else _canvas(given["stream"])
    sources: dict[str, Any] = {name: given[name] for name in _SOURCES if name in given}
    options = {"folder" if name == "data" else name: value for name, value in sources.items()}
    schedule = Schedule.parse(given["stream"], canvas=canvas, **options)
    found = suggest(list({stage.world.name: stage.world for stage in schedule.stages}.values()), resize=False)
    usual = {name: value for name, value, _ in fields(preset("laptop"))}
    words = ["vase", "train", "--stream", given["stream"], "--canvas", str(canvas)]
    for name, value in sources.items():
        words += [f"--{name}", str(value)]
    for name, value in found.values.items():
        if str(value) != usual[name]:
            words += ["--set", f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"]
    print("\n".join((f"canvas = {canvas}: {why}; images are squares.", *found.reasons)))
    print(f"\n{shlex.join([*words, '--out', 'runs/mine'])}")


def _canvas(stream: str) -> tuple[int, str]:
    """A side that suits the pictures of folders, if the stream has any, else the usual one; and why."""
    from vase.resize import SIDE
    from vase.training.settings import RunSettings
    from vase.worlds.folders import longer_side

    folders = {world.folder for world, _ in StreamSpec.parse(stream).stages if world.folder is not None}
    if not folders:
        return RunSettings().canvas, "the preset's size"
    longest = max(map(longer_side, folders))
    return min(SIDE, longest), f"the longer side of the pictures is {longest} pixels, and {SIDE} are enough for shapes"
