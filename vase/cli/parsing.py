"""An argument parser that suggests corrections, and the form of every command's help."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from vase.spelling import did_you_mean, suggest

_FOLDER = {"bash": "_shtab_compgen_dirs", "zsh": "_files -/"}
_COMPLETION = {"DIR": _FOLDER, "RUN": _FOLDER, "FILE": {"bash": "_shtab_compgen_files", "zsh": "_files"}}
"""Metavar -> how shells complete it, in the notation of shtab."""


class UsageError(ValueError):
    """A command line that cannot be parsed."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are exceptions that suggest the correct name."""

    def error(self, message: str) -> NoReturn:
        """Raise UsageError instead of exiting, so that `main` reports all errors in the same form."""
        raise UsageError(f"{message} (see {self.prog} --help)")

    def add_argument(self, *names: str, **details: Any) -> argparse.Action:
        """Add an argument; one that names a file or folder is completed by the shell."""
        action = super().add_argument(*names, **details)
        if isinstance(action.metavar, str) and action.metavar in _COMPLETION:
            action.complete = _COMPLETION[action.metavar]  # type: ignore[attr-defined]
        return action

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Parse, and refuse what is unknown here, where the options of the subcommand are known."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            word = next((word for word in unknown if word.startswith("-")), None)
            if word is None:
                self.error(f"unexpected argument {unknown[0]!r}")
            word = word.partition("=")[0]
            close = suggest(word, self._option_string_actions)
            self.error(f"unknown option {word}" + (f"; did you mean {close}?" if close else ""))
        return found, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value, command or action that is not among the choices, and suggest one."""
        if action.choices is not None and value not in action.choices:
            name = action.dest if action.option_strings else str(action.metavar).lower()
            raise argparse.ArgumentError(None, f"unknown {name} {value!r}{hint(value, action.choices)}")


def hint(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the closest known one, and all of them.

    >>> hint("trian", ["train", "demo"]), hint("x", ["train", "demo"])
    ("; did you mean 'train'? Known: train, demo", '. Known: train, demo')
    """
    known = list(known)
    return f"{did_you_mean(name, known)} Known: {', '.join(known)}"


def whole_number(text: str) -> int:
    """Parse the value of an option that counts something."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def real_number(text: str) -> float:
    """Parse the value of an option that measures something."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def add_command(commands: Any, name: str, text: str | None, example: str, run: Callable[..., Any]) -> Parser:
    """Add a command, or an action of one, whose docstring is `text`."""
    text = text or name  # python -OO has no docstrings
    line = text[0].lower() + text.partition("\n")[0][1:].rstrip(".")
    parser: Parser = commands.add_parser(name, help=line, description=text, epilog=f"example: {example}")
    parser.add_argument("--traceback", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    parser.set_defaults(run=run)
    return parser


def add_actions(parser: argparse.ArgumentParser) -> Any:
    """Where the actions of a command such as `vase data` are added."""
    return parser.add_subparsers(title="actions", metavar="ACTION", required=True)
