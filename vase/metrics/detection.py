"""Shift detection against the truth: delays, false alarms, missed switches, worlds recognised when they return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from vase.metrics.record import Record

# What a summary keeps of a "switch" row.
SWITCH_KEYS = ("step", "world", "environment", "is_new", "from", "true_step", "delay", "false_alarm", "reasons")


def compare_switch(true_switches: Iterable[int], announced: int, step: int) -> dict[str, Any]:
    """How a switch announced at `step` compares with the truth: batches since the world changed, or a false alarm.

    `announced` is the step of the announcement before it (0 for none): each true switch counts for the first
    announcement after it, and of several true switches in between the last one is taken.
    """
    recent = [true for true in true_switches if announced <= true < step]
    if not recent:
        return {"true_step": None, "delay": None, "false_alarm": True}
    return {"true_step": recent[-1], "delay": step - recent[-1], "false_alarm": False}


def switch_summary(record: Record) -> dict[str, Any]:
    """Environments found, announced switches with delays and false alarms, and the true switches that were missed."""
    rows = record.of("switch")
    switches = [row for row in rows if row["from"] is not None]
    caught = {row["true_step"] for row in switches}
    return {
        "environments": sum(bool(row["is_new"]) for row in rows),
        "worlds": len(record.worlds),
        "switches": [{name: row[name] for name in SWITCH_KEYS} for row in switches],
        "delays": [row["delay"] for row in switches if not row["false_alarm"]],
        "false_alarms": sum(row["false_alarm"] for row in switches),
        "missed": [step for step in record.true_switches if step not in caught],
    }


def one_to_one(environment_of: Mapping[str, int], environments: int, false_alarms: int) -> bool:
    """Whether each world has one environment of its own, and there are no other environments and no false alarms."""
    return len(set(environment_of.values())) == len(environment_of) == environments and not false_alarms


def returns_recognised(record: Record) -> tuple[int, int]:
    """(recognised, due): returns to a world met before, and those that were announced as its own environment."""
    home: dict[str, int] = {}
    recognised = due = 0
    before: tuple[str, int] | None = None
    for visit in record.visits:
        inside = [period for period in record.environments if period.overlap(visit) > 0]
        longest = max(inside, key=lambda period: period.overlap(visit)).environment
        if before is not None and visit.name in home and visit.name != before[0]:
            due += 1
            recognised += longest == home[visit.name] != before[1]
        home.setdefault(visit.name, longest)
        before = visit.name, longest
    return recognised, due
