"""The command line: a module per command. Its docstring is the description in its help; `run` imports what it needs."""

from __future__ import annotations

import os
import re
import sys
from argparse import Namespace
from collections.abc import Sequence

import vase
from vase.cli import bench, completion, config, data, demo, experiment, figures, summary, sweep, train
from vase.cli.parsing import Parser, add_command

COMMANDS = (demo, data, train, sweep, figures, summary, config, bench, experiment, completion)
_LIGHT = tuple(module.__name__ for module in (data, config, completion))
"""Modules of commands that do not use PyTorch."""
USER_ERRORS = (ValueError, TypeError, OSError, FloatingPointError, ModuleNotFoundError)
"""What wrong input or a machine in trouble leads to; each message says what to do. See also DataUnavailable."""


def make_parser() -> Parser:
    """The parser of all commands."""
    parser = Parser(
        prog="vase",
        description="VASE: lifelong learning of one disentangled representation from a stream of images whose "
        "environment changes without notice.",
        epilog="example: vase demo",
    )
    parser.add_argument("--version", action="version", version=f"vase {vase.__version__}")
    parser.add_argument("--traceback", action="store_true", help="show the traceback of an error, for bug reports")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in COMMANDS:
        name = module.__name__.rpartition(".")[2]
        module.add_arguments(add_command(commands, name, module.__doc__, module.EXAMPLE, module.run))
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    words, arguments = sys.argv[1:] if argv is None else list(argv), Namespace()
    try:
        arguments = make_parser().parse_args(words)
        if arguments.run.__module__ not in _LIGHT:
            _prepare_process()
        return int(arguments.run(arguments) or 0)
    except KeyboardInterrupt as stop:
        print(f"\n{stop or 'stopped'}", flush=True)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if "--traceback" in words or not _is_user_error(error):
            raise
        print(f"vase: error: {_in_options(str(error), arguments)}", file=sys.stderr)
        return 2


def _prepare_process() -> None:
    """Settings of the process that only commands make, never the import of the library.

    Modules of the current folder can be imported, as with `python -m vase`: `--learner mine:Mine` finds mine.py. The
    folder is searched last, so that no file in it hides an installed module.
    """
    from vase.distributed import silence_other_ranks
    from vase.machine import keep_memory

    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    silence_other_ranks()
    keep_memory()


def _is_user_error(error: Exception) -> bool:
    if isinstance(error, USER_ERRORS):
        return True
    from vase.worlds.sources import DataUnavailable

    return isinstance(error, DataUnavailable)


def _in_options(message: str, arguments: Namespace) -> str:
    """A message of the library with options of the command instead of Python arguments.

    >>> _in_options("steps=0: must be at least 1.", Namespace(steps=0))
    '--steps 0: must be at least 1.'
    """

    def option(found: re.Match[str]) -> str:
        name, value = found[1], found[2].strip("'")
        return f"--{name.replace('_', '-')} {value}" if name in arguments else found[0]

    return re.sub(r"(?:^|(?<=use ))(\w+)=('[^']*'|[^\s:;,]+)", option, message)
