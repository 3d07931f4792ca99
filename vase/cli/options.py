"""Options that several commands share: the settings of a run, made from the fields of RunSettings, and a few others."""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Collection
from typing import Any, Literal, get_args, get_origin, get_type_hints

from vase.cli.parsing import real_number, whole_number
from vase.config import VASEConfig
from vase.sweeps import BACKENDS
from vase.training.settings import FOLDERS, PRESET_DEFAULTS, RunSettings, absolute
from vase.worlds.spec import FACES_VARIABLE, StreamSpec

_FIELDS = {field.name: field for field in dataclasses.fields(RunSettings)}
SETTINGS = frozenset(_FIELDS) - {"overrides", "learner_options"}
"""Settings of a run that are options of the same name."""
_CONFIGURATION = {field.name for field in dataclasses.fields(VASEConfig)}
_SHARED: dict[str, dict[str, Any]] = {
    "directory": {"metavar": "RUN", "help": "directory of the run"},
    "--quiet": {"action": "store_true", "help": "print a few plain lines, even on a terminal"},
    "--dry-run": {"action": "store_true", "help": "list the runs without training"},
    "--jobs": {"type": whole_number, "default": 2, "metavar": "N", "help": "runs at the same time (default: 2)"},
    "--backend": {
        "choices": BACKENDS,
        "default": "processes",
        "help": "this machine or a cluster (default: processes)",
    },
    "--address": {"help": "address of a running Ray or Dask cluster (default: start one on this machine)"},
    "--seeds": {"help": "e.g. 0-4 or 0,1,7 (default: 0, or those of the experiment)"},
}


def add_shared(parser: argparse.ArgumentParser, *names: str) -> None:
    """Add options that are the same in several commands."""
    for name in names:
        parser.add_argument(name, **_SHARED[name])


def add_settings(parser: argparse.ArgumentParser, *names: str, without: Collection[str] = (), **defaults: Any) -> None:
    """Add an option for each named field of RunSettings, or for all of them.

    An option that is not given is None, unless the command has a default of its own.
    """
    hints = get_type_hints(RunSettings)
    for name in names or [name for name in _FIELDS if name not in without]:
        details = {**_kind(hints[name]), **_FIELDS[name].metadata}
        if details.get("action") == "append" and "flag" not in details:
            continue  # learner_options are given with --set
        flag = details.pop("flag", f"--{name.replace('_', '-')}")
        details["help"] += f" (default: {defaults[name]})" if name in defaults else _default_text(name)
        parser.add_argument(flag, dest=name, default=defaults.get(name), **details)


def _kind(hint: Any) -> dict[str, Any]:
    """How argparse reads a value of a type."""
    if hint is bool:
        return {"action": "store_const", "const": True}
    if hint is int:
        return {"type": whole_number, "metavar": "N"}
    if hint is float:
        return {"type": real_number, "metavar": "X"}
    if get_origin(hint) is Literal:
        return {"choices": get_args(hint)}
    return {str: {}, str | None: {"metavar": "DIR"}}.get(hint, {"action": "append"})


def _default_text(name: str) -> str:
    """The default of a field in each preset, in words; nothing for switches and for what is empty."""
    plain = _FIELDS[name].default
    if plain in (None, "", dataclasses.MISSING) or isinstance(plain, bool):
        return ""
    values = {preset: changed.get(name, plain) for preset, changed in PRESET_DEFAULTS.items()}
    if len(set(values.values())) == 1:
        return f" (default: {plain})"
    return f" (default: {', '.join(f'{preset} {value}' for preset, value in values.items())})"


def given_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings of a run that the command line gives, as arguments of RunSettings."""
    given = {name: value for name, value in vars(arguments).items() if name in _FIELDS and value is not None}
    starting, faces = not getattr(arguments, "resume", False), os.environ.get(FACES_VARIABLE)
    if starting and faces and "stream" in given and "faces" in StreamSpec.parse(given["stream"]).picture_folders:
        given.setdefault("faces", faces)
    given |= {name: absolute(given[name]) for name in FOLDERS if given.get(name)}
    return given | ({"overrides": assignments(given["overrides"])} if "overrides" in given else {})


def new_settings(given: dict[str, Any]) -> RunSettings:
    """The settings of a new run: those of its preset, unless others are given."""
    return RunSettings.of(given.get("preset", "laptop"), **given)


def assignments(texts: list[str]) -> dict[str, str]:
    """The values of --set, by field of the configuration."""
    found = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or not value:
            raise ValueError(f"--set {text}: write field=value, e.g. --set capacity.gamma=7.")
        if name in _FIELDS and name not in _CONFIGURATION:
            flag = f"--{name.replace('_', '-')}"
            raise ValueError(f"--set {text}: {name} is no field of the configuration; write {flag} {value}.")
        found[name] = value
    return found
