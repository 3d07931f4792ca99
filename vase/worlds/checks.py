"""Checks of arguments; light, so that the grammar of streams can use them."""

from __future__ import annotations

import operator
import os
from pathlib import Path
from typing import Any

MAX_SEED = 2**63 - 1
"""The largest seed that every generator of random numbers takes."""


def require_int(name: str, value: Any, minimum: int, maximum: int | None = None) -> int:
    """Return ``value`` as an int, or raise an error that names it, the rule and the remedy."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} = {value!r}: expected a whole number; pass an int of at least {minimum}") from None
    if isinstance(value, bool) or number < minimum:
        raise ValueError(f"{name} = {value!r}: must be a whole number of at least {minimum}; pass a larger one")
    if maximum is not None and number > maximum:
        raise ValueError(f"{name} = {value!r}: must be a whole number of at most {maximum}; pass a smaller one")
    return number


def require_size(value: Any) -> tuple[int, int]:
    """Return the size of images, the side of a square or (height, width), as (height, width)."""
    sides = value if isinstance(value, tuple | list) else (value, value)
    if len(sides) != 2:
        raise ValueError(f"size = {value!r}: must be one number or (height, width); pass e.g. (48, 64)")
    height, width = (require_int("size", side, 1, 4096) for side in sides)
    return height, width


def require_seed(value: Any) -> int:
    """Return the seed of a learner as an int; it may be negative."""
    return require_int("seed", value, -MAX_SEED - 1, MAX_SEED)


def require_text(name: str) -> str:
    """Return a name of a file that can be written as UTF-8, as rows are."""
    try:
        name.encode()
    except UnicodeEncodeError:
        shown = name.encode(errors="surrogateescape").decode(errors="backslashreplace")
        raise ValueError(f"the name {shown} is not UTF-8; rename the folder") from None
    return name


def expanded(path: str | os.PathLike[str]) -> Path:
    """Return a path with its ~ replaced; one of an unknown user stays as it is."""
    return Path(os.path.expanduser(path))
