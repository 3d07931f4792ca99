"""Suggestions for misspelt names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that a misspelt one resembles most, also by its last dotted part; None if there is none.

    >>> closest("mnits", ["mnist", "fashion"]), closest("gama", ["capacity.gamma"]), closest("xyz", ["mnist"])
    ('mnist', 'capacity.gamma', None)
    """
    names = list(known)
    if found := difflib.get_close_matches(name, names, n=1, cutoff=0.5):
        return found[0]
    by_last_part = {candidate.rpartition(".")[2]: candidate for candidate in names}
    found = difflib.get_close_matches(name.rpartition(".")[2], by_last_part, n=1)
    return by_last_part[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of the sentence "... is unknown": a suggestion if one name is close, else a full stop.

    >>> did_you_mean("mnits", ["mnist", "fashion"]), did_you_mean("xyz", ["mnist"])
    ("; did you mean 'mnist'?", '.')
    """
    found = closest(name, known)
    return "." if found is None else f"; did you mean {found!r}?"
