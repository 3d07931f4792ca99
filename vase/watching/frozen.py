"""Detection with a learner that has learnt: it is asked, and never changed."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch

from vase.config import EnvironmentConfig
from vase.images import as_images
from vase.learners.change import Change, describe_change
from vase.learners.records import Inference, Step
from vase.method.environment_memory import EnvironmentRecord
from vase.method.mixture import NONE
from vase.method.shift_detector import SUSPICION, Decision, Fit, ShiftDetector, posterior
from vase.nn.likelihood import Images

_RECENT = 4  # batches that a change is described with


class Asked(Protocol):
    """A learner that can tell where a batch comes from."""

    def infer_environment(self, images: Any) -> Inference:
        """The environment that a batch belongs to."""


class FrozenDetector:
    """Follows a stream through the environments that a learner knows; `NONE` stands for all that it does not know.

    Suspicious batches are held and judged together as while learning, by the detector of `vase.method`. A change from
    one unknown world to another is not noticed: telling them apart would take learning.
    """

    def __init__(self, learner: Asked, shape: tuple[int, int, int], config: EnvironmentConfig) -> None:
        self.learner, self.shape = learner, shape
        self.detector = ShiftDetector([], config)
        self.environment: int | None = None
        self.recent: deque[Images] = deque(maxlen=_RECENT)
        self.steps = 0

    def partial_fit(self, images: Any) -> Step:
        """Tell where a batch comes from. Learns nothing."""
        x = as_images(images, self.shape, minimum=2)
        self.steps += 1
        fits = self._judge(x)
        if self.environment is None:
            best = self.detector.best({s: fit for s, fit in fits.items() if s != NONE})
            self.environment = NONE if best is None else best
            self.recent.append(x)
            return self._report(self._judge(x)[self.environment], switched=True, reasons=("the first batch",))
        here = self.environment
        decision = self.detector.receive(x, fits[here], self._judge, _record(here))
        self.recent.extend(decision.here)
        if decision.held:
            return self._report(fits[here], held=True, reasons=fits[here].reasons)
        if not decision.there:
            return self._report(fits[here], dropped=decision.dropped)
        assert decision.fits is not None
        found = NONE if decision.environment is None else decision.environment
        change = self._describe(decision, found)
        self.environment = found
        self.recent.clear()
        self.recent.extend(decision.there[-_RECENT:])
        known = {s: fit for s, fit in decision.fits.items() if s != NONE}
        return self._report(
            fits[here],
            switched=True,
            is_new=found == NONE,
            verdict=len(decision.there),
            dropped=decision.dropped,
            posterior=posterior(known, self.detector.level),
            change=change,
            reasons=decision.fits[here].reasons,
        )

    def state_dict(self) -> dict[str, Any]:
        """Where the stream is, and the batches that are held; the learner is saved beside it."""
        return {
            "step": self.steps,
            "environment": self.environment,
            "detector": self.detector.state_dict(),
            "recent": {f"{i:03d}": x for i, x in enumerate(self.recent)},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.steps, self.environment = state["step"], state["environment"]
        self.detector.load_state_dict(state["detector"])
        self.recent = deque((state["recent"][key].clone() for key in sorted(state["recent"])), maxlen=_RECENT)

    def _judge(self, x: Images, environments: Sequence[int] | None = None) -> dict[int, Fit]:
        """How a batch fits each environment. It fits the unknown if no known one would take it."""
        found = self.learner.infer_environment(x)
        known = {
            s: Fit(float(p), float(found.effects[s]), found.reasons if p < SUSPICION else ())
            for s, p in enumerate(found.p_values)
        }
        if not known:
            raise ValueError("the learner knows no environment yet; let it learn before it is frozen.")
        nearest = max(known, key=lambda s: known[s].p_value)
        strange = known[nearest].p_value < SUSPICION
        reasons = () if strange else (f"the batch fits environment {nearest}",)
        fits = known | ({NONE: Fit(float(strange), float("nan"), reasons)} if self.environment == NONE else {})
        return fits if environments is None else {s: fits[s] for s in environments}

    def _describe(self, decision: Decision, found: int) -> Change:
        assert decision.fits is not None
        assert self.environment is not None
        none, known = np.zeros(0), {s: fit for s, fit in decision.fits.items() if s != NONE}
        return describe_change(
            torch.cat(list(self.recent)).numpy(),
            torch.cat(decision.there).numpy(),
            atypical_before=none,
            atypical_after=none,
            used=none > 0,
            step=self.steps,
            previous=self.environment,
            environment=found,
            is_new=found == NONE,
            distances={s: fit.effect for s, fit in known.items()},
            p_value=decision.fits[self.environment].p_value,
        )

    def _report(self, fit: Fit, **what: Any) -> Step:
        assert self.environment is not None
        return Step(self.steps, self.environment, p_value=fit.p_value, effect=fit.effect, **what)


def _record(index: int) -> EnvironmentRecord:
    """The detector asks for the number of the current environment only: all evidence comes from the learner."""
    none = torch.zeros(0, dtype=torch.bool)
    return EnvironmentRecord(index, none, none, none)
