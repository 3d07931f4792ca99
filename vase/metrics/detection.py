"""Shift detection against the truth: delays, false alarms, missed switches, worlds recognised when they return."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from vase.metrics.record import Record
from vase.worlds.timeline import Span, Timeline

# What a summary keeps of a "switch" row.
SWITCH_KEYS = ("step", "world", "environment", "is_new", "from", "true_step", "delay", "false_alarm", "reasons")
PATIENCE = 4
"""Batches at the beginning of a visit that do not count when its environment is determined."""
MAX_DELAY = 20
"""Batches after a change within which it must be announced; a later announcement is a false alarm."""


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
    """Environments in the end, announced switches, delays, false alarms, and the true switches that were missed."""
    rows = record.of("switch")
    switches = [row for row in rows if row["from"] is not None]
    caught = {row["true_step"] for row in switches}
    return {
        "environments": sum(bool(row["is_new"]) for row in rows) - sum("retired" in row for row in rows),
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
    visits = []
    for visit in record.visits:
        inside = [period for period in record.environments if period.overlap(visit) > 0]
        visits.append((visit.name, max(inside, key=lambda period: period.overlap(visit)).environment))
    return count_returns(visits)


def count_returns(visits: Iterable[tuple[str, int]]) -> tuple[int, int]:
    """(recognised, due) of visits in order, each a world and the environment that stood for it.

    A return is recognised if it has the environment of the world's first visit, and the visit before has another one.
    """
    home: dict[str, int] = {}
    recognised = due = 0
    before: tuple[str, int] | None = None
    for world, environment in visits:
        if before is not None and world in home and world != before[0]:
            due += 1
            recognised += environment == home[world] != before[1]
        home.setdefault(world, environment)
        before = world, environment
    return recognised, due


def adjusted_rand(a: Sequence[Hashable], b: Sequence[Hashable]) -> float:
    """Adjusted Rand index of two partitions of the same items: 1 if they are the same, 0 on average by chance.

    >>> adjusted_rand("aabb", [0, 0, 1, 1]), round(adjusted_rand("aabb", [0, 0, 1, 2]), 4), adjusted_rand("ab", "xx")
    (1.0, 0.5714, 0.0)
    """
    if len(a) != len(b):
        raise ValueError(f"{len(a)} items in one partition and {len(b)} in the other: they must be of the same items.")
    together, first, second = (
        sum(math.comb(n, 2) for n in Counter(groups).values()) for groups in (zip(a, b, strict=True), a, b)
    )
    pairs = math.comb(len(a), 2)
    expected = first * second / pairs if pairs else 0.0
    largest = (first + second) / 2
    return 1.0 if largest == expected else (together - expected) / (largest - expected)


@dataclass(frozen=True)
class Truth:
    """What a stream really shows: its stages, and the steps within which a change came gradually."""

    timeline: Timeline
    ramps: tuple[Span, ...] = ()
    """The world of the timeline changes within each of them."""

    @property
    def transitions(self) -> tuple[Span, ...]:
        """One span per change: from the last step before it to the first one at which it is complete, less one."""
        within = {step: ramp for step in self.timeline.switches for ramp in self.ramps if step in ramp}
        return tuple(within.get(step, Span("", step, step)) for step in self.timeline.switches)

    def settled(self, step: int) -> bool:
        """Whether a step, from 1, lies outside all ramps."""
        return not any(step in ramp for ramp in self.ramps)


@dataclass(frozen=True)
class Score:
    """How well a detector followed one stream."""

    batches: int
    rand: float
    """Adjusted Rand index between true worlds and assigned environments, over the batches outside ramps."""
    rand_with_ramps: float
    """The same over all batches; the world of a ramp changes in its middle."""
    rand_online: float
    """The same as `rand` with the environment that was announced at each batch, held batches included."""
    changes: int
    detected: int
    """Changes that were announced within the largest delay and before the next change."""
    delays: tuple[int, ...]
    """Batches from an abrupt change to its announcement, for those detected; 1 is the first batch of the new world."""
    abrupt: int
    """Changes that were abrupt, detected or not."""
    alarms: int
    """Announced switches after the first environment."""
    false_alarms: int
    """Announcements that belong to no change, or came too late; within a ramp, all but the first one."""
    recognised: int
    """Returns to a world that have the environment of its first visit."""
    returns: int
    worlds: int
    environments: int

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; the inverse of `from_dict`."""
        return {name: round(value, 6) if isinstance(value, float) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Score:
        """Rebuild a score from `to_dict` or from parsed JSON."""
        return cls(**{**values, "delays": tuple(values["delays"])})


@dataclass(frozen=True)
class Trace:
    """What a detector said about every batch of a stream."""

    announced: tuple[int, ...]
    """The current environment after each batch."""
    assigned: tuple[int, ...]
    """The environment that each batch was counted to in the end: held batches belong to the one decided on."""

    @classmethod
    def of(cls, steps: Iterable[Any]) -> Trace:
        """From what `partial_fit` returned for every batch: records with `environment`, `switched` and `held`.

        Those of a detector that retires environments also have `retired`.
        """
        announced: list[int] = []
        assigned: list[int] = []
        held = 0
        for step in steps:
            if step.switched and held:
                assigned[-held:] = [step.environment] * held
            if (retired := getattr(step, "retired", None)) is not None:
                assigned = [step.environment if s == retired else s for s in assigned]
            held = held + 1 if step.held else 0
            announced.append(step.environment)
            assigned.append(step.environment)
        return cls(tuple(announced), tuple(assigned))


def score_stream(
    truth: Truth, trace: Trace | Sequence[int], *, patience: int = PATIENCE, max_delay: int = MAX_DELAY
) -> Score:
    """Compare what a detector said with what the stream really showed.

    Args:
        truth: the stages of the stream.
        trace: of the detector; or the environment after each batch, for one that holds no batches back.
        patience: batches at the beginning of a visit that do not count when its environment is determined.
        max_delay: batches after a change within which it must be announced; a later announcement is a false alarm.
    """
    found = trace if isinstance(trace, Trace) else Trace(tuple(trace), tuple(trace))
    timeline, total = truth.timeline, truth.timeline.total
    if len(found.announced) != total:
        raise ValueError(f"{len(found.announced)} environments for {total} batches: one per batch is needed.")
    worlds = [timeline.world_at(step) for step in range(1, total + 1)]
    settled = [step - 1 for step in range(1, total + 1) if truth.settled(step)]
    alarms = [i + 2 for i, (before, now) in enumerate(pairwise(found.announced)) if before != now]
    detected, delays = _detections(truth.transitions, alarms, max_delay)
    recognised, returns = count_returns(
        (visit.name, _majority([found.announced[i] for i in settled if visit.start + patience <= i < visit.end]))
        for visit in timeline.spans
    )
    true, assigned, announced = ([of[i] for i in settled] for of in (worlds, found.assigned, found.announced))
    return Score(
        batches=total,
        rand=adjusted_rand(true, assigned),
        rand_with_ramps=adjusted_rand(worlds, found.assigned),
        rand_online=adjusted_rand(true, announced),
        changes=len(truth.transitions),
        detected=detected,
        delays=delays,
        abrupt=sum(change.start == change.end for change in truth.transitions),
        alarms=len(alarms),
        false_alarms=len(alarms) - detected,
        recognised=recognised,
        returns=returns,
        worlds=len(timeline.worlds),
        environments=len(set(found.assigned)),
    )


def _detections(transitions: Sequence[Span], alarms: Sequence[int], max_delay: int) -> tuple[int, tuple[int, ...]]:
    """How many changes were announced in time, and the delays of the abrupt ones among them."""
    change_of = {change.start: change for change in transitions}
    detected, delays, announced = 0, [], 0
    for step in alarms:
        found = compare_switch(change_of, announced, step)
        change = None if found["false_alarm"] else change_of[found["true_step"]]
        if change is not None and step - change.end <= max_delay:
            detected += 1
            delays += [found["delay"]] if change.start == change.end else []
        announced = step
    return detected, tuple(delays)


def _majority(environments: Sequence[int]) -> int:
    """The most frequent one; the earliest of several."""
    return Counter(environments).most_common(1)[0][0]


def pool_scores(scores: Sequence[Score], *, max_delay: int = MAX_DELAY) -> dict[str, float | None]:
    """Numbers of many streams together; None where nothing could be measured."""
    total: Counter[str] = Counter()
    for score in scores:
        total.update({name: value for name, value in asdict(score).items() if isinstance(value, int)})
    rands = [score.rand for score in scores]
    delays = [delay for score in scores for delay in score.delays]
    missed = [max_delay] * (total["abrupt"] - len(delays))
    return {
        "rand": float(np.mean(rands)),
        "rand_with_ramps": float(np.mean([score.rand_with_ramps for score in scores])),
        "rand_online": float(np.mean([score.rand_online for score in scores])),
        "rand_tenth": float(np.quantile(rands, 0.1)),
        "rand_above_090": float(np.mean([rand >= 0.9 for rand in rands])),
        "median_delay": float(np.median(delays)) if delays else None,
        "mean_delay": float(np.mean(delays)) if delays else None,
        "delay_with_missed": float(np.mean(delays + missed)) if total["abrupt"] else None,
        "recall": _ratio(total["detected"], total["changes"]),
        "precision": _ratio(total["detected"], total["alarms"]),
        "false_alarms_per_10000": _ratio(10_000 * total["false_alarms"], total["batches"]),
        "returns": _ratio(total["recognised"], total["returns"]),
        "environments_per_world": _ratio(total["environments"], total["worlds"]),
    }


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
