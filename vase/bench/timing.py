"""Timing by turns: what is compared is timed step by step in one loop, so that a noisy machine disturbs all alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

Contestant = Callable[[], object]
"""One step of something."""


@dataclass(frozen=True)
class Spread:
    """Median and quartiles of one number per round."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of the values of all rounds."""
        low, median, high = np.quantile(np.asarray(values, dtype=float), [0.25, 0.5, 0.75]).tolist()
        return cls(median, low, high)


@dataclass(frozen=True)
class Ratio:
    """A ratio with its quartiles over the rounds, and the bar it has to hold."""

    name: str
    median: float
    low: float
    high: float
    sense: Literal["at most", "at least"] = "at most"
    bar: float | None = None

    @classmethod
    def of(
        cls,
        name: str,
        over: Sequence[float],
        under: Sequence[float],
        *,
        at_most: float | None = None,
        at_least: float | None = None,
    ) -> Ratio:
        """The median over the rounds of over/under, each taken within its round."""
        if len(over) != len(under):
            raise ValueError(f"{name}: {len(over)} and {len(under)} rounds; a ratio needs the same rounds of both.")
        if at_most is not None and at_least is not None:
            raise ValueError(f"{name}: at_most={at_most} and at_least={at_least}; give one bar.")
        spread = Spread.of([a / b for a, b in zip(over, under, strict=True)])
        sense: Literal["at most", "at least"] = "at least" if at_least is not None else "at most"
        bar = at_least if at_least is not None else at_most
        return cls(name, spread.median, spread.low, spread.high, sense, bar)

    @property
    def held(self) -> bool | None:
        """Whether the median keeps to the bar; None without one."""
        if self.bar is None:
            return None
        return self.median <= self.bar if self.sense == "at most" else self.median >= self.bar

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {**asdict(self), "held": self.held}


@dataclass(frozen=True)
class Timings:
    """Seconds per step, one number per contestant and round."""

    seconds: dict[str, list[float]]

    def ms(self, name: str) -> Spread:
        """Milliseconds per step."""
        return Spread.of([1e3 * s for s in self.seconds[name]])

    def rates(self, name: str, work: float) -> list[float]:
        """Work per second in every round, for a step that does `work`."""
        return [work / s for s in self.seconds[name]]

    def ratio(self, over: str, under: str, name: str = "", **bar: float | None) -> Ratio:
        """Time of one over time of another."""
        return Ratio.of(name or f"{over} / {under}", self.seconds[over], self.seconds[under], **bar)


def interleave(
    contestants: Mapping[str, Contestant],
    *,
    rounds: int,
    block: int = 1,
    warmup: int = 1,
    inner: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> Timings:
    """Time contestants by turns, one call each, forwards and backwards.

    Args:
        contestants: name -> one call.
        rounds: numbers taken per contestant.
        block: calls in a round. Work that is done every n-th step is counted fairly if n divides the block.
        warmup: calls that are not timed.
        inner: steps that one call takes.
        clock: seconds.
    """
    for label, value in (("rounds", rounds), ("block", block), ("inner", inner)):
        if value < 1:
            raise ValueError(f"{label}={value}: must be at least 1.")
    names = list(contestants)
    for _ in range(warmup):
        for name in names:
            contestants[name]()
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(rounds):
        total = dict.fromkeys(names, 0.0)
        for turn in range(block):
            for name in names if turn % 2 == 0 else names[::-1]:
                step = contestants[name]
                start = clock()
                step()
                total[name] += clock() - start
        for name in names:
            seconds[name].append(total[name] / (block * inner))
    return Timings(seconds)
