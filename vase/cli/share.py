"""Write the learner of a run as a folder for others, with a model card; or upload it to the Hugging Face Hub."""

from __future__ import annotations

import argparse

from vase.cli.options import add_settings, add_shared

EXAMPLE = "vase share runs/demo --out shared/three-worlds"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `vase share`."""
    add_shared(parser, "directory")
    parser.add_argument("--out", metavar="DIR", required=True, help="the folder to write; its last part is the name")
    parser.add_argument("--push", metavar="USER/NAME", help="also upload the folder to the Hub under this name")
    parser.add_argument("--private", action="store_true", help="with --push: make a private repository")
    add_settings(parser, "data")


def run(arguments: argparse.Namespace) -> None:
    """Write the folder, print its path and size, and upload it if asked."""
    from vase.learners.sharing import push_folder
    from vase.report.card import share_run

    if arguments.private and not arguments.push:
        raise ValueError("--private without --push: name the repository with --push USER/NAME.")
    folder = share_run(arguments.directory, arguments.out, name=arguments.push, data=arguments.data)
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{folder} ({size / 1e6:.2f} MB). Load it with: VASE.from_pretrained({str(folder)!r})")
    if arguments.push:
        print(push_folder(folder, arguments.push, private=arguments.private or None))
