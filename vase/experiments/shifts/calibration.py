"""Thresholds of the baselines: the same rate of false alarms on the stationary controls of the tuning half."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from vase.experiments.shifts.baselines import BASELINES, Baseline, Dummy
from vase.experiments.shifts.evidence import Evidence, record_evidence
from vase.experiments.shifts.streams import ShiftStream
from vase.files import read_arrays, write_arrays

Recorded = Mapping[str, np.ndarray]
"""Of one control: the loss of every batch, and the statistic of each baseline that has one."""


def record_control(stream: ShiftStream, training: int, path: Path, names: Sequence[str]) -> Recorded:
    """What the thresholds of some baselines are chosen from, read from a file if it was recorded before."""
    kept = read_arrays(path) if path.exists() else {}
    wanted = [name for name in names if BASELINES[name].has_statistic and name not in kept]
    if "loss" in kept and not wanted:
        return kept
    evidence = record_evidence(stream, 0, training)
    found = {"loss": evidence.loss, **{name: BASELINES[name].statistic(evidence) for name in wanted}}
    found = {**kept, **{name: np.asarray(values, np.float32) for name, values in found.items()}}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_arrays(path, found)
    return found


def threshold(baseline: Baseline, controls: Sequence[Recorded], rate: float) -> float:
    """The smallest threshold with at most `rate` false alarms per 10,000 batches of all controls together."""
    if isinstance(baseline, Dummy):
        return 10_000 / rate
    allowed = rate * sum(len(control["loss"]) for control in controls) / 10_000
    if baseline.has_statistic:
        traces = [control[baseline.name] for control in controls]
        return bisect(lambda value: sum(baseline.count_alarms(trace, value) for trace in traces) <= allowed)
    empty = np.zeros((0, 0, 0), np.float32)
    losses = [Evidence(control["loss"], empty, empty) for control in controls]
    return bisect(lambda value: sum(baseline.false_alarms(loss, value) for loss in losses) <= allowed)


def bisect(holds: Callable[[float], bool], low: float = 0.1, high: float = 1e4) -> float:
    """The smallest value, to one in a thousand, from which on a condition holds; `high` if it never does.

    >>> round(bisect(lambda value: value >= 3), 1)
    3.0
    """
    while high / low > 1.001:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
