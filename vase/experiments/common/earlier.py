"""Runs that an earlier version of their preset trained: tables say which, and what differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vase.experiments.common.conditions import label
from vase.experiments.results import Result, Results
from vase.fields import flat

_FIELDS = 3
"""Fields that are named; of more, only their number."""
_GROUPS = 3
"""Different lists of fields that are told apart; of more, the conditions and the number of fields are named."""


def earlier_preset(*results: Results, name: Callable[[str], str] = label) -> str:
    """A sentence on the runs that the preset would configure differently now; empty if there is none.

    Conditions with the same differences stand together, with their seeds if others of the condition do not differ and,
    of several results, with the experiment. The configuration of a learner of one's own is not compared.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    count = sum(len(part.finished) for part in results)
    for part in results:
        for condition, runs in part.finished:
            who = name(condition.name) + (f" ({part.experiment.name})" if len(results) > 1 else "")
            found: dict[tuple[str, ...], list[int]] = {}
            for run in runs:
                found.setdefault(_differences(run), []).append(run.seed)
            for fields, seeds in found.items():
                which = f" (seeds {', '.join(map(str, seeds))})" if len(found) > 1 else ""
                groups.setdefault(fields, []).append(who + which)
    groups.pop((), None)
    if not groups:
        return ""
    if len(groups) > _GROUPS:
        differing = {who for group in groups.values() for who in group}
        groups = {(f"up to {max(map(len, groups))} fields",): sorted(differing)}
    texts = [f"{_who(names, count)}: {_what(fields)}" for fields, names in groups.items()]
    return f" Trained with an earlier version of the preset: {'; '.join(texts)}."


def _differences(run: Result) -> tuple[str, ...]:
    """What the configuration of a run had, and has now: "capacity.c_max 25.0 → 35.0"."""
    config: Mapping[str, Any] = run.content.get("config", {})
    if "capacity" not in config:
        return ()
    channels, height, width = config["image_shape"]
    now = flat(run.settings.configure((channels, height, width)).to_dict())
    before = {name: tuple(value) if isinstance(value, list) else value for name, value in flat(config).items()}
    if before["capacity.objective"] != "ceiling":  # the others do not have it
        del now["capacity.kl_weight"]
        before.pop("capacity.kl_weight", None)
    texts = [
        f"without {field}" if field not in before else f"{field} {before[field]} → {value}"
        for field, value in now.items()
        if field not in before or before[field] != value
    ]
    return (*texts, *(f"with {field}" for field in before if field not in now))


def _who(names: list[str], count: int) -> str:
    return "all conditions" if len(names) == count > 1 else ", ".join(names)


def _what(fields: tuple[str, ...]) -> str:
    more = f", and {len(fields) - _FIELDS} more" if len(fields) > _FIELDS else ""
    return ", ".join(fields[:_FIELDS]) + more
