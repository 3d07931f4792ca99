"""The command line: a module per command. Its docstring is the description in its help; `run` imports what it needs."""

from __future__ import annotations

import os
import re
import sys
import warnings
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import vase
from vase.cli import (
    bench,
    completion,
    config,
    data,
    demo,
    experiment,
    explore,
    export,
    figures,
    report,
    share,
    summary,
    sweep,
    train,
    watch,
)
from vase.cli.options import SETTINGS
from vase.cli.parsing import Parser, add_command
from vase.process import keep_memory, silence_other_ranks

COMMANDS = (
    *(demo, data, train, watch, sweep, report, explore, figures, summary, share, export, config, bench, experiment),
    completion,
)
USER_ERRORS = (ValueError, TypeError, OSError, FloatingPointError, ModuleNotFoundError)
"""What wrong input or a machine in trouble leads to; each message says what to do. See also DataUnavailable."""
STOPPED = "stopped at once; what was saved before stays, and a run continues from its last checkpoint with --resume"
NO_MEMORY = (
    "there is not enough memory for this; use a smaller --batch-size, --canvas or network, or fewer images. "
    "--traceback shows where it was needed."
)


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
        _prepare_process()
        with _plain_warnings():
            return int(arguments.run(arguments) or 0)
    except KeyboardInterrupt as stop:
        print(f"\n{str(stop) or STOPPED}", flush=True)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if "--traceback" in words or not _is_user_error(error):
            raise
        message = NO_MEMORY if _is_memory_error(error) else _in_options(str(error), arguments)
        print(f"vase: error: {message}", file=sys.stderr)
        return 2


def _prepare_process() -> None:
    """Settings of the process that every command needs.

    Modules of the current folder can be imported, as with `python -m vase`: `--learner mine:Mine` finds mine.py. The
    folder is searched last, so that no file in it hides an installed module.
    """
    with suppress(FileNotFoundError):  # the folder was deleted; a command that needs one says so
        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
    silence_other_ranks()
    keep_memory()


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print warnings for users as one line each, without the line of code that raised them."""
    usual = warnings.formatwarning

    def plain(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
    ) -> str:
        if category is UserWarning:
            return f"vase: warning: {message}\n"
        return usual(message, category, filename, lineno, line)

    warnings.formatwarning = plain
    try:
        yield
    finally:
        warnings.formatwarning = usual


def _is_memory_error(error: Exception) -> bool:
    """Whether NumPy or PyTorch could not allocate an array."""
    told = isinstance(error, RuntimeError) and re.search("out of memory|not enough memory|can't allocate", str(error))
    return isinstance(error, MemoryError) or bool(told)


def _is_user_error(error: Exception) -> bool:
    if isinstance(error, USER_ERRORS) or _is_memory_error(error):
        return True
    from vase.worlds.sources import DataUnavailable

    return isinstance(error, DataUnavailable)


def _in_options(message: str, arguments: Namespace) -> str:
    """A message of the library with options of the command instead of Python arguments.

    >>> _in_options("steps=0: must be at least 1; use fallback=True.", Namespace(steps=0))
    '--steps 0: must be at least 1; use --fallback.'
    """

    def option(found: re.Match[str]) -> str:
        name, value = found[1], found[2].strip("'")
        if name not in arguments and name not in SETTINGS:
            return found[0]
        flag = f"--{name.replace('_', '-')}"
        return flag if value == "True" else f"{flag} {value or repr(value)}"

    return re.sub(r"(?<![\w./'\"-])([a-z_]+)=('[^']*'|[^\s:;,.)({\[]+(?:\.\w+)*)", option, message)
