"""Checks of arguments; light, so that the grammar of streams can use them."""

from __future__ import annotations

import operator
from typing import Any


def require_int(name: str, value: Any, minimum: int) -> int:
    """Return ``value`` as an int, or raise an error that names it, the rule and the remedy."""
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        raise TypeError(f"{name} = {value!r}: expected a whole number; pass an int of at least {minimum}") from None
    if isinstance(value, bool) or number < minimum:
        raise ValueError(f"{name} = {value!r}: must be a whole number of at least {minimum}; pass a larger one")
    return number
