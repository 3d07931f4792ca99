"""Drift detectors on the evidence of a frozen VAE, each with one threshold: more evidence than that is a drift.

None of them recognises a world that returns: its environment is the number of alarms so far. A frozen reference is an
exception: as long as a batch fits it, the environment is the first one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int64

from vase.experiments.experiment import resolve
from vase.experiments.shifts.evidence import Evidence
from vase.experiments.shifts.two_samples import TwoSampleTest, ks_bonferroni, mmd

WINDOW = 10
"""Batches of a reference."""
RENEWAL = 500
"""Batches after which a stationary control takes a new reference, so that thresholds do not depend on one."""
_CHUNK = 50
_KSWIN_WINDOW = 40

Environments = Int64[np.ndarray, " T"]


class Baseline(ABC):
    """A detector that follows a stream from its evidence."""

    name: str

    @abstractmethod
    def follow(self, evidence: Evidence, threshold: float) -> Environments:
        """The environment after every batch."""

    @property
    def has_statistic(self) -> bool:
        """Whether there is a `statistic` to compare with the threshold; if not, each threshold needs its own run."""
        return False

    def statistic(self, evidence: Evidence) -> Float[np.ndarray, " T"]:
        """Of every batch of a stationary stream."""
        raise NotImplementedError(f"{self.name} has no statistic that does not depend on its threshold")

    def count_alarms(self, statistic: Float[np.ndarray, " T"], threshold: float) -> int:
        """Alarms that a recorded statistic leads to."""
        return int((statistic > threshold).sum())

    def false_alarms(self, evidence: Evidence, threshold: float) -> int:
        """Alarms on a stationary stream."""
        return int((np.diff(self.follow(evidence, threshold)) != 0).sum())


@dataclass(frozen=True)
class Dummy(Baseline):
    """An alarm every N batches; the threshold is N."""

    name: str = "dummy"

    def follow(self, evidence: Evidence, threshold: float) -> Environments:
        """Count the batches."""
        return np.arange(len(evidence.loss)) // max(1, round(threshold))


@dataclass(frozen=True)
class TwoSample(Baseline):
    """A two-sample test of each batch against a reference window.

    A frozen reference is the beginning of the stream, for ever. A learning one starts anew with the batch that raised
    an alarm.
    """

    name: str
    features: Literal["latents", "untrained"]
    test: TwoSampleTest
    frozen: bool = False

    def follow(self, evidence: Evidence, threshold: float) -> Environments:
        """Test every batch once the reference is complete."""
        total = len(evidence.loss)
        if self.frozen:
            outside = np.concatenate([np.zeros(WINDOW, bool), self._against(evidence, 0, total) > threshold])[:total]
            starts = np.concatenate([[False], outside[1:] & ~outside[:-1]])
            return np.where(outside, np.cumsum(starts), 0)
        found, start = np.zeros(total, np.int64), 0
        for number in count(1):
            alarm = self._first_alarm(evidence, start, threshold)
            if alarm is None:
                break
            found[alarm:], start = number, alarm
        return found

    def _first_alarm(self, evidence: Evidence, start: int, threshold: float) -> int | None:
        """The first batch after a reference that begins at `start` whose statistic is too large."""
        total, end = len(evidence.loss), start + WINDOW
        while end < total:
            end = min(end + _CHUNK, total)
            above = np.flatnonzero(self._against(evidence, start, end) > threshold)
            if len(above):
                return start + WINDOW + int(above[0])
        return None

    def _against(self, evidence: Evidence, start: int, end: int) -> Float[np.ndarray, " T"]:
        """The statistic of batches from behind a reference that begins at `start`, up to `end`; computed once."""
        features: np.ndarray = getattr(evidence, self.features)
        key = (self.name.removesuffix("-frozen"), start)
        if key not in evidence.cache:
            evidence.cache[key] = self.test(_images(features[start : start + WINDOW])), np.zeros(0)
        statistic, known = evidence.cache[key]
        while (done := start + WINDOW + len(known)) < end:
            known = np.concatenate([known, statistic(features[done : min(done + _CHUNK, end)])])
            evidence.cache[key] = statistic, known
        found: Float[np.ndarray, " T"] = known[: max(0, end - start - WINDOW)]
        return found

    @property
    def has_statistic(self) -> bool:
        """Yes."""
        return True

    def count_alarms(self, statistic: Float[np.ndarray, " T"], threshold: float) -> int:
        """With a frozen reference, coming back to it counts, too."""
        outside = np.concatenate([[False], statistic > threshold])
        return int((np.diff(outside) != 0).sum() if self.frozen else outside.sum())

    def statistic(self, evidence: Evidence) -> Float[np.ndarray, " T"]:
        """With one reference, or a new one every RENEWAL batches if it learns."""
        total = len(evidence.loss)
        if self.frozen:
            return self._against(evidence, 0, total)
        starts = range(0, total, RENEWAL)
        return np.concatenate([self._against(evidence, start, min(start + RENEWAL, total)) for start in starts])


def _images(batches: np.ndarray) -> np.ndarray:
    return batches.reshape(-1, batches.shape[-1])


@dataclass(frozen=True)
class River(Baseline):
    """A detector of the package river on the loss."""

    name: str
    detector: str

    def make(self, threshold: float) -> Any:
        """The detector; a larger threshold asks for more evidence."""
        detector = resolve(f"river.drift:{self.detector}")
        p = max(10.0**-threshold, 1e-300)
        if self.detector == "ADWIN":
            return detector(delta=p, clock=1, grace_period=5, min_window_length=5)
        if self.detector == "PageHinkley":
            return detector(min_instances=10, delta=0.5, threshold=threshold, mode="both")
        return detector(alpha=p, window_size=_KSWIN_WINDOW, stat_size=10, seed=0)

    def follow(self, evidence: Evidence, threshold: float) -> Environments:
        """Count its alarms; it starts anew by itself."""
        return np.cumsum(list(self._alarms(self.make(threshold), evidence)))

    def _alarms(self, detector: Any, evidence: Evidence) -> Iterator[bool]:
        for value in evidence.loss.tolist():
            detector.update(value)
            yield bool(detector.drift_detected)

    @property
    def has_statistic(self) -> bool:
        """Only KSWIN's p-value does not depend on the threshold."""
        return self.detector == "KSWIN"

    def statistic(self, evidence: Evidence) -> Float[np.ndarray, " T"]:
        """−log10 p of KSWIN as long as it does not start anew; there is no test before its window is full."""
        detector = self.make(300)
        found = [-np.log10(max(detector.p_value, 1e-300)) for _ in self._alarms(detector, evidence)]
        return np.array(found[_KSWIN_WINDOW:])


BASELINES: dict[str, Baseline] = {
    baseline.name: baseline
    for baseline in (
        Dummy(),
        River("adwin-loss", "ADWIN"),
        River("page-hinkley-loss", "PageHinkley"),
        River("kswin-loss", "KSWIN"),
        *(
            TwoSample(f"{name}-{features}{'-frozen' if frozen else ''}", features, test, frozen)
            for name, test in (("ks", ks_bonferroni), ("mmd", mmd))
            for features in ("latents", "untrained")
            for frozen in (False, True)
        ),
    )
}
"""Every baseline by its name."""
