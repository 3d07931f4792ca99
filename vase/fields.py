"""Fields of nested dataclasses: their names with dots, and values parsed from text or JSON."""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from vase.spelling import did_you_mean


def leaves(cls: type, prefix: str) -> Iterator[tuple[str, Any]]:
    """Name, with dots, and type of every field that is no dataclass itself."""
    for name, hint in typing.get_type_hints(cls).items():
        if dataclasses.is_dataclass(hint):
            yield from leaves(typing.cast(type, hint), f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", hint


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested values by their names with dots.

    >>> flat({"capacity": {"gamma": 5.0}, "latents": 24})
    {'capacity.gamma': 5.0, 'latents': 24}
    """
    found: dict[str, Any] = {}
    for name, value in values.items():
        nested = isinstance(value, Mapping) and value
        found |= flat(value, f"{prefix}{name}.") if nested else {f"{prefix}{name}": value}
    return found


def build(cls: Any, values: dict[str, Any], prefix: str) -> Any:
    """An object of a dataclass from nested dictionaries; unknown names are refused."""
    hints = typing.get_type_hints(cls)
    if not isinstance(values, dict):
        raise ValueError(f"{prefix.rstrip('.') or 'configuration'}={values!r}: must be an object of named fields.")
    for name in values:
        if name not in hints:
            raise ValueError(f"unknown field {prefix + name!r}{did_you_mean(name, hints)}")
    return cls(
        **{
            name: build(hints[name], value, f"{prefix}{name}.")
            if dataclasses.is_dataclass(hints[name])
            else parse(prefix + name, value, hints[name])
            for name, value in values.items()
        }
    )


def parse(name: str, value: Any, hint: Any) -> Any:
    """Turn a string (from a command line) or a JSON value into the type of a field."""
    if typing.get_origin(hint) is Literal:
        *others, last = map(repr, typing.get_args(hint))
        if value not in typing.get_args(hint):
            raise ValueError(f"{name}={value!r}: must be {', '.join(others)} or {last}.")
        return value
    if typing.get_origin(hint) is tuple:
        parts = value.replace("x", ",").strip("()[] ").split(",") if isinstance(value, str) else value
        if not isinstance(parts, list | tuple):
            raise ValueError(f"{name}={value!r}: not a value of type tuple.")
        return tuple(parse(name, part, int) for part in parts if part != "")
    try:
        if hint is bool:
            words = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False}
            return value if isinstance(value, bool) else ({**words, "0": False})[str(value).strip().lower()]
        if hint is int and not isinstance(value, bool) and float(value) == int(float(value)):
            return int(float(value))
        if hint is float and not isinstance(value, bool) and math.isfinite(float(value)):
            return float(value)
    except (KeyError, ValueError, TypeError, OverflowError):
        pass
    raise ValueError(f"{name}={value!r}: not a value of type {hint.__name__}.")
