"""Print the fields of the configuration that --set can change, with their values and documentation."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from vase.cli.options import add_settings
from vase.cli.parsing import hint
from vase.config import preset

EXAMPLE = "vase config --preset paper capacity mask.threshold"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `vase config`."""
    parser.add_argument("fields", nargs="*", metavar="FIELD", help="fields or parts, e.g. capacity (default: all)")
    add_settings(parser, "preset", preset="laptop")


def run(arguments: argparse.Namespace) -> None:
    """Print the fields."""
    found = list(fields(preset(arguments.preset)))
    names = [name for name, _, _ in found]
    for wanted in arguments.fields:
        if not any(_is_in(name, wanted) for name in names):
            raise ValueError(f"unknown field {wanted!r}{hint(wanted, names)}.")
    for name, value, text in found:
        if not arguments.fields or any(_is_in(name, wanted) for wanted in arguments.fields):
            print(f"{name}={value}\n{textwrap.fill(text, 100, initial_indent='    ', subsequent_indent='    ')}")


def _is_in(name: str, part: str) -> bool:
    return name == part or name.startswith(f"{part}.")


def fields(config: Any, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """The dotted name, value as --set takes it, and documentation of every field of a configuration."""
    texts = documentation(type(config))
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            yield from fields(value, f"{prefix}{field.name}.")
        else:
            shown = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
            yield f"{prefix}{field.name}", shown, texts.get(field.name, "")


def documentation(cls: type) -> dict[str, str]:
    """The string below each field of a dataclass, by the name of the field."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    texts = {}
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    for node, below in pairwise(body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and isinstance(below, ast.Expr):
            texts[node.target.id] = " ".join(str(ast.literal_eval(below.value)).split())
    return texts
