"""Print a script that completes commands, options and their values in a shell.

For bash, put the line of the example into ~/.bashrc. For zsh, write the script to a file named _vase in a folder of
$fpath.
"""

from __future__ import annotations

import argparse

EXAMPLE = 'eval "$(vase completion bash)"'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `vase completion`."""
    parser.add_argument("shell", choices=("bash", "zsh"), metavar="SHELL", help="bash or zsh")


def run(arguments: argparse.Namespace) -> None:
    """Print the script."""
    import shtab

    from vase.cli import make_parser

    print(shtab.complete(make_parser(), shell=arguments.shell))
