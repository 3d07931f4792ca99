"""Thresholds of the baselines: the same rate of false alarms on the stationary controls of the tuning half."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from vase import checkpoint
from vase.experiments.shifts.baselines import BASELINES, Baseline, Dummy
from vase.experiments.shifts.evidence import Evidence, record_evidence
from vase.experiments.shifts.streams import ShiftStream

_STEPS = 40
"""Halvings of the interval in which a threshold lies."""

Recorded = Mapping[str, np.ndarray]
"""Of one control: the loss of every batch, and the statistic of each baseline that has one."""


def record_control(stream: ShiftStream, training: int, path: Path) -> Recorded:
    """What thresholds are chosen from, read from a file if it was recorded before."""
    if path.exists():
        return checkpoint.read_arrays(path)
    evidence = record_evidence(stream, 0, training)
    found: dict[str, np.ndarray] = {"loss": evidence.loss}
    for baseline in BASELINES.values():
        values = baseline.statistic(evidence)
        if values is not None:
            found[baseline.name] = values.astype(np.float32)
    path.parent.mkdir(parents=True, exist_ok=True)
    checkpoint.write_arrays_atomic(path, found)
    return found


def thresholds(controls: Sequence[Recorded], rates: Sequence[float]) -> dict[str, dict[float, float]]:
    """Baseline -> false alarms per 10,000 batches -> its threshold."""
    return {name: {rate: threshold(base, controls, rate) for rate in rates} for name, base in BASELINES.items()}


def threshold(baseline: Baseline, controls: Sequence[Recorded], rate: float) -> float:
    """The smallest threshold with at most `rate` false alarms per 10,000 batches of all controls together."""
    if isinstance(baseline, Dummy):
        return 10_000 / rate
    if baseline.name in controls[0]:
        values = np.sort(np.concatenate([control[baseline.name] for control in controls]))[::-1]
        return float(values[min(int(rate * len(values) / 10_000), len(values) - 1)])
    empty = np.zeros((0, 0, 0), np.float32)
    losses = [Evidence(control["loss"], empty, empty) for control in controls]
    allowed = rate * sum(len(loss.loss) for loss in losses) / 10_000
    return bisect(lambda value: sum(baseline.false_alarms(loss, value) for loss in losses) <= allowed, 0.1, 1e4)


def bisect(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The smallest value, to one in a hundred, from which on a condition holds; `high` if it never does.

    >>> round(bisect(lambda value: value >= 3, 0.1, 1000), 1)
    3.0
    """
    for _ in range(_STEPS):
        if high / low < 1.01:
            break
        middle = (low * high) ** 0.5
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
