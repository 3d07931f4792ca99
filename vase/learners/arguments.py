"""Checks of what people ask a learner: a mask or a fraction is not taken for an index in silence."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

_Number = TypeVar("_Number", int, float)


def require_index(what: str, value: Any, count: int) -> int:
    """The index of one of `count` things that the learner has; booleans and floats are no indices."""
    try:
        index = operator.index(value)
    except TypeError:
        index = None
    if index is None or isinstance(value, bool | np.bool_):
        raise TypeError(f"{what} {value!r}: must be a whole number from 0 to {count - 1}.")
    if not 0 <= index < count:
        raise ValueError(f"{what} {index}: the learner has {what}s 0 to {count - 1}.")
    return index


def require_latents(latents: Iterable[Any], count: int) -> list[int]:
    """Indices of latents."""
    chosen = list(latents)
    if chosen and all(isinstance(value, bool | np.bool_) for value in chosen):
        raise TypeError("latents: a mask of booleans; pass indices instead, e.g. numpy.flatnonzero(mask).")
    return [require_index("latent", value, count) for value in chosen]


def require_span(span: Any) -> float:
    """How far a traversal goes on either side of zero."""
    if isinstance(span, bool) or not isinstance(span, int | float | np.number) or not math.isfinite(span):
        raise ValueError(f"span={span!r}: must be a finite number, e.g. 2.0.")
    return float(span)


def require_number(name: str, value: Any, kind: type[_Number], minimum: float) -> _Number:
    """An option of a learner, which the command line gives as text, as a finite number of a kind.

    >>> require_number("images", "1000", int, minimum=1), require_number("strength", "1e3", float, minimum=0)
    (1000, 1000.0)
    """
    words = "a whole number" if kind is int else "a number"
    try:
        number = kind(float(value))
        if number >= minimum and math.isfinite(number) and number == float(value) and not isinstance(value, bool):
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"{name}={value!r}: must be {words} of at least {minimum:g}.")
