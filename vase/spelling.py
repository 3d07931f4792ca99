"""Suggestions for misspelt names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def suggest(name: str, known: Iterable[str], cutoff: float = 0.5) -> str | None:
    """The known name that a misspelt one resembles most, also by its last dotted part; None if there is none.

    >>> suggest("mnits", ["mnist", "fashion"]), suggest("gama", ["capacity.gamma"]), suggest("xyz", ["mnist"])
    ('mnist', 'capacity.gamma', None)
    """
    names = list(known)
    if found := difflib.get_close_matches(name, names, n=1, cutoff=cutoff):
        return found[0]
    by_last_part = {candidate.rpartition(".")[2]: candidate for candidate in names}
    found = difflib.get_close_matches(name.rpartition(".")[2], by_last_part, n=1, cutoff=max(cutoff, 0.6))
    return by_last_part[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of the sentence "... is unknown": a suggestion if one name is close, else a full stop.

    >>> did_you_mean("mnits", ["mnist", "fashion"]), did_you_mean("xyz", ["mnist"])
    ("; did you mean 'mnist'?", '.')
    """
    found = suggest(name, known)
    return "." if found is None else f"; did you mean {found!r}?"
