"""Which environment a batch belongs to (Eq. 6, Alg. 1), and what is done with batches until that is settled."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vase.config import EnvironmentConfig
from vase.method.environment_memory import EnvironmentRecord
from vase.method.reference import BLOCK
from vase.method.shift_tests import ShiftTest
from vase.method.statistics import BatchStatistics
from vase.nn.likelihood import Images

SUSPICION = 0.01
"""A batch less probable than this in the current environment is held, with those that follow, until a verdict."""
VERDICT_IMAGES = 256
"""Images that a verdict takes, unless `patience` says how many batches."""
_MOST_BATCHES = 32
YOUNG = 2 * BLOCK
"""Batches before which no environment can have settled. One that comes into another by then is retired.

It was a false alarm, or the world has faded back; it has followed the world, and describes the other environment now.
"""


def verdict_batches(config: EnvironmentConfig, batch_size: int) -> int:
    """Batches that a verdict takes.

    >>> [verdict_batches(EnvironmentConfig(), size) for size in (2, 16, 64, 512)]
    [32, 16, 4, 2]
    """
    return config.patience or min(_MOST_BATCHES, max(2, math.ceil(VERDICT_IMAGES / batch_size)))


@dataclass(frozen=True)
class Fit:
    """How well a batch fits one environment, all tests together."""

    p_value: float
    """The probability of a batch at least as strange, if it comes from the environment."""
    effect: float
    """How far the batch is, in standard deviations of single images; NaN if no test knows."""
    reasons: tuple[str, ...]
    """What is strange about the batch, in words, the strangest first."""

    @property
    def strength(self) -> float:
        """Evidence per image, to compare where p-values are too small to be told apart."""
        return 0.0 if math.isnan(self.effect) else self.effect**2


Batch = Float[Tensor, "_ C H W"]
"""One of several batches, which may differ in size."""
Judge = Callable[[Images, Sequence[int] | None], Mapping[int, Fit]]
"""How well some images fit each of some environments, or all in the order in which they are asked."""


@dataclass(frozen=True, eq=False)
class HeldBatch:
    """A batch that waits for a verdict."""

    images: Batch
    p_value: float
    """Of the batch by itself in the current environment, which learns nothing while batches are held."""


@dataclass(frozen=True, eq=False)
class Decision:
    """What is to be done after a batch: nothing while it is held, else which batches are learnt where."""

    here: tuple[Batch, ...] = ()
    """Batches of the current environment."""
    there: tuple[Batch, ...] = ()
    """Batches of another environment, to be learnt after the switch."""
    environment: int | None = None
    """That environment; None for a new one."""
    fits: Mapping[int, Fit] | None = None
    """How the batches of the verdict fit each environment."""
    dropped: int = 0
    """Batches given up: the stream went away and came back before a verdict."""
    duplicate: bool = False
    """The current environment has come into the other one before it could settle."""

    def distances(self, current: int) -> dict[int, float]:
        """How far the batches of the verdict are from each environment that is not retired, in standard deviations."""
        return {s: f.effect for s, f in (self.fits or {}).items() if not (self.duplicate and s == current)}

    @property
    def held(self) -> bool:
        """Whether the decision is put off."""
        return not (self.here or self.there or self.dropped)


class ShiftDetector:
    """Asks every shift test how well a batch fits an environment, and holds batches until a verdict.

    A batch that is improbable in the current environment arouses suspicion. It is held with those that follow, so that
    none is lost and none is learnt in the wrong environment; the verdict is passed on all of them together.
    """

    def __init__(self, tests: Iterable[ShiftTest], config: EnvironmentConfig) -> None:
        self.tests = list(tests)
        for test in self.tests:
            if not test.weight > 0:
                raise ValueError(
                    f"weight={test.weight!r} of {type(test).__name__}: must be positive; to switch the test off, leave "
                    "it out."
                )
        self.config = config
        self.held: list[HeldBatch] = []

    @property
    def level(self) -> float:
        """The p-value below which a batch does not belong to an environment."""
        return 1 / self.config.false_alarm_every

    def patience(self, batch_size: int) -> int:
        """Batches that a verdict takes."""
        return verdict_batches(self.config, batch_size)

    @property
    def clear(self) -> float:
        """The p-value at or above which nothing is held against a batch, whichever question is asked."""
        return max(SUSPICION, self.level / SUSPICION)

    def fit(self, record: EnvironmentRecord, views: Iterable[BatchStatistics], *, current: bool = True) -> Fit:
        """How well a batch fits an environment, of which it is a view by one set of weights or several.

        The smallest p-value counts, each divided by the share of false alarms that its test may raise (weighted
        Bonferroni). A batch is as foreign as it is in the mildest view: an optimiser's spike, which only the live
        weights see, is no shift. Unless the environment is `current`, only tests that know all environments are asked;
        without any, nothing fits. In the current one no further view is asked for once a batch is clear of suspicion:
        each costs a pass through the networks. Nothing fits an environment that was retired.
        """
        if record.duplicate_of is not None:
            return Fit(0.0, math.nan, ())
        tests = self.tests if current else [test for test in self.tests if test.knows_all]
        total = sum(test.weight for test in tests)
        fits = []
        for view in views:
            evidence = [(test.evidence(record, view), test.weight / total) for test in tests]
            found = sorted(((min(1.0, e.p_value / share), e) for e, share in evidence), key=lambda pair: pair[0])
            effects = [e.effect for _, e in found if not math.isnan(e.effect)]
            reasons = tuple(e.reason for _, e in found if e.reason and e.p_value < SUSPICION)
            p_value = found[0][0] if found else 0.0
            fits.append(Fit(p_value, max(effects, default=math.nan), reasons))
            if current and p_value >= self.clear:
                break
        return max(reversed(fits), key=lambda fit: fit.p_value)  # of equals the last, which knows most

    def needs_networks(self, *, current: bool) -> bool:
        """Whether a test that is asked looks at losses or latents."""
        return any(test.needs_networks for test in self.tests if current or test.knows_all)

    def best(self, fits: Mapping[int, Fit]) -> int | None:
        """The environment that a batch fits best; None if it fits none. Of equals, the first in order."""
        s = max(fits, key=lambda s: fits[s].p_value)
        return s if fits[s].p_value >= self.level else None

    def receive(self, x: Images, fit: Fit, judge: Judge, record: EnvironmentRecord) -> Decision:
        """Decide about a batch, given how it fits the current environment."""
        current = record.index
        if not self.held and fit.p_value >= SUSPICION:
            arrived = next((s for test in self.tests if (s := test.arrived(record)) is not None), None)
            if arrived is None:
                return Decision(here=(x,))
            return Decision((), (x,), arrived, judge(x, None), duplicate=record.age <= YOUNG)
        self.held.append(HeldBatch(x, float(fit.p_value)))
        patience = self.patience(len(x))
        if len(self.held) < patience:
            return Decision()
        outliers = self._outliers()
        if not self._foreign(judge, current, outliers):
            return self._keep(self.release(), outliers)
        # The stream may have changed anywhere among the held batches: where is the evidence strongest?
        images = [batch.images for batch in self.held]
        tails = [judge(torch.cat(images[i:]), [current])[current] for i in range(len(images))]
        since = min(range(len(tails)), key=lambda i: (tails[i].p_value, -tails[i].strength * (len(tails) - i)))
        if len(self.held) - since < patience and len(self.held) < 2 * patience - 1:
            return Decision()
        held = self.release()
        kept, fits = self._keep(held[:since], outliers), judge(torch.cat(held[since:]), None)
        others = {s: fit for s, fit in fits.items() if s != current}
        environment = self.best(others) if others else None
        return replace(kept, there=held[since:], environment=environment, fits=fits)

    @staticmethod
    def _keep(batches: Sequence[Batch], outliers: set[int]) -> Decision:
        """Batches of the current environment, without outliers."""
        here = tuple(x for i, x in enumerate(batches) if i not in outliers)
        return Decision(here=here, dropped=len(batches) - len(here))

    def _foreign(self, judge: Judge, current: int, outliers: set[int]) -> bool:
        """Whether the batches after the first, which aroused suspicion, confirm it.

        They do not depend on the first: a false alarm needs two improbable events, SUSPICION and level/SUSPICION, which
        together happen once in `false_alarm_every` batches. Batches of a short visit, from which the stream has come
        back, do not count.
        """
        images = [batch.images for batch in self.held]
        confirming = images[1:] or images
        if judge(torch.cat(confirming), [current])[current].p_value >= self.level / SUSPICION:
            return False
        rest = [x for i, x in enumerate(images) if i not in outliers]
        came_back = bool(rest) and len(images) - 1 not in outliers
        return not (outliers and came_back and judge(torch.cat(rest), [current])[current].p_value >= SUSPICION)

    def _outliers(self) -> set[int]:
        """Held batches that are foreign each by itself, beyond any suspicion that chance arouses."""
        level = min(self.level, SUSPICION**2)
        return {i for i, batch in enumerate(self.held) if batch.p_value < level}

    def update(self, record: EnvironmentRecord, batch: BatchStatistics) -> None:
        """Tell all tests of a batch that was learnt in the environment."""
        for test in self.tests:
            test.update(record, batch)

    def forget_latents(self, record: EnvironmentRecord) -> None:
        """Tell all tests that the latents of the environment were rotated or rescaled."""
        for test in self.tests:
            test.forget_latents(record)

    def leave(self, record: EnvironmentRecord, decision: Decision) -> tuple[str, ...]:
        """Why the environment is left, in words. A duplicate of the one entered is retired, and tests forget it."""
        assert decision.fits is not None
        reasons = decision.fits[record.index].reasons
        if decision.environment is None:
            return reasons
        reasons = (*reasons, f"the batch fits environment {decision.environment}")
        if not decision.duplicate:
            return reasons
        record.retire(decision.environment)
        for test in self.tests:
            test.forget(record)
        return (*reasons, f"environment {record.index} had not settled, and is retired")

    def release(self) -> tuple[Batch, ...]:
        """The images of the held batches, oldest first, which are then held no longer."""
        held, self.held = self.held, []
        return tuple(batch.images for batch in held)

    def state_dict(self) -> dict[str, Any]:
        """Held batches, and the state of every test."""
        return {
            "held": {f"{i:03d}": dict(vars(batch)) for i, batch in enumerate(self.held)},
            "tests": {str(i): {"class": type(t).__name__, "state": t.state_dict()} for i, t in enumerate(self.tests)},
        }

    def load_state_dict(self, state: Mapping[str, Any], device: torch.device | str = "cpu") -> None:
        """Continue from a `state_dict()` of a detector with the same tests."""
        saved = [state["tests"][key] for key in sorted(state["tests"], key=int)]
        mine, theirs = [type(test).__name__ for test in self.tests], [test["class"] for test in saved]
        if mine != theirs:
            raise ValueError(f"shift_tests are {mine}, the saved learner has {theirs}: pass the same tests, in order.")
        for test, values in zip(self.tests, saved, strict=True):
            test.load_state_dict(values["state"])
        held = [state["held"][key] for key in sorted(state["held"])]
        self.held = [HeldBatch(batch["images"].to(device), batch["p_value"]) for batch in held]


def bayes_factor(p_value: float) -> float:
    """The odds for the environment against any other that a p-value leaves at most: −e·p·log p, and 1 beyond 1/e.

    Sellke, Bayarri and Berger, "Calibration of p values for testing precise null hypotheses" (2001).
    """
    return -math.e * p_value * math.log(p_value) if 0 < p_value < 1 / math.e else float(p_value > 0)


def posterior(fits: Mapping[int, Fit], level: float) -> Float[np.ndarray, "M"]:
    """The probability of each environment and, last, of a new one, which wins if all p-values are below the level."""
    weights = np.array([*(bayes_factor(fits[s].p_value) for s in sorted(fits)), bayes_factor(level)])
    return (weights / weights.sum()).astype(np.float32)
