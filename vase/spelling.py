"""Suggestions for misspelt names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def suggest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known name that is most similar to `name`, or None if none is similar enough.

    >>> suggest("moving-minst", ["moving-mnist", "mnist"])
    'moving-mnist'
    """
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return close[0] if close else None
