"""Runs that an earlier version of their preset trained: tables say which, and what differs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vase.experiments.results import Result, Results
from vase.fields import flat

_SHOWN = 3
"""Fields that are named; of more, only their number."""


def earlier_preset(*results: Results) -> str:
    """A sentence on the conditions with a run that the preset would configure differently now; empty if there is none.

    The configuration of a learner of one's own is not compared.
    """
    found: dict[str, set[tuple[Any, Any]]] = {}
    finished = [pair for part in results for pair in part.finished]
    names = {condition.name: True for condition, _ in finished}
    for condition, runs in finished:
        for run in runs:
            for name, before, now in _differences(run):
                found.setdefault(name, set()).add((before, now))
                names[condition.name] = False
    if not found:
        return ""
    differing = [name for name, same in names.items() if not same]
    who = "all conditions" if len(differing) == len(names) else ", ".join(differing)
    what = ", ".join(_words(name, values) for name, values in list(found.items())[:_SHOWN])
    more = f", and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f" Trained with an earlier version of the preset: {who} ({what}{more})."


def _differences(run: Result) -> list[tuple[str, Any, Any]]:
    """Field, its value in the run (None if it did not exist), and its value now."""
    config: Mapping[str, Any] = run.content.get("config", {})
    if "capacity" not in config:
        return []
    channels, height, width = config["image_shape"]
    now = flat(run.settings.configure((channels, height, width)).to_dict())
    before = {name: tuple(value) if isinstance(value, list) else value for name, value in flat(config).items()}
    return [(name, before.get(name), value) for name, value in now.items() if before.get(name) != value]


def _words(name: str, values: set[tuple[Any, Any]]) -> str:
    if len(values) > 1:
        return name
    ((before, now),) = values
    return f"without {name}" if before is None else f"{name} = {before}, now {now}"
