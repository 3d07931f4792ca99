"""A watcher of a stream, without any network: it knows the worlds it has met and tells when they change."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from vase.config import VASEConfig
from vase.images import as_images
from vase.learners.change import Change, describe_change
from vase.learners.inference import best_environment, explain, unknown
from vase.learners.records import Inference, Step
from vase.method.environment_memory import EnvironmentMemory
from vase.method.fingerprint_test import FingerprintTest
from vase.method.shift_detector import Decision, Fit, ShiftDetector, posterior
from vase.method.statistics import BatchStatistics
from vase.nn.likelihood import Images

_RECENT = 4
_NO_LATENTS = torch.zeros(0)


class ShiftMonitor:
    """Tells which world a batch comes from, and when that changes, by the fingerprint alone.

    It infers environments as VASE does, but has neither encoder nor decoder: thousands of images per second.

    >>> rng = np.random.default_rng(0)
    >>> monitor = ShiftMonitor(VASEConfig(image_shape=(1, 16, 16)))
    >>> for light in [1.0] * 30 + [0.5] * 10 + [1.0] * 5:
    ...     step = monitor.partial_fit(rng.uniform(0, light, (64, 16, 16)))
    ...     if step.switched:
    ...         print(step.step, step.environment, step.is_new)
    1 0 True
    34 1 True
    44 0 False
    """

    def __init__(self, config: VASEConfig | None = None, *, seed: int = 0, device: str = "cpu") -> None:
        """Of the configuration, `image_shape` and what `environments` says of the calibrated tests count.

        Nothing depends on the seed, and all is done on the CPU.
        """
        self.config = config or VASEConfig()
        self.seed, self.device = seed, device
        environments = self.config.environments
        self.test = FingerprintTest(self.config.image_shape, environments.smallest_effect)
        self.detector = ShiftDetector([self.test], environments)
        self.memory = EnvironmentMemory(0)
        self.recent: deque[Images] = deque(maxlen=_RECENT)
        self.steps = 0

    def __repr__(self) -> str:
        size = "×".join(map(str, self.config.image_shape))
        return f"<ShiftMonitor of {size} images: batches={self.steps}, environments={self.n_environments}>"

    @property
    def environment(self) -> int:
        """The current environment."""
        return self.memory.current

    @property
    def n_environments(self) -> int:
        """Environments met so far."""
        return len(self.memory)

    def partial_fit(self, images: Any, y: object = None) -> Step:
        """Take note of one batch."""
        return self.receive(images)[1]

    def receive(self, images: Any) -> tuple[Decision, Step]:
        """Take note of one batch; also tells which batches, now or held before, lie on which side of a change."""
        x = as_images(images, self.config.image_shape, minimum=2)
        self.steps += 1
        if not len(self.memory):
            self._enter(None)
            self._update((x,))
            first = Step(self.steps, switched=True, is_new=True, reasons=("the first environment",))
            return Decision(here=(x,)), first
        record = self.memory.record
        fit = self._judge(x, [record.index])[record.index]
        if record.age < self.config.environments.burn_in:
            self._update((x,))
            return Decision(here=(x,)), self._report(fit)
        decision = self.detector.receive(x, fit, self._judge, record)
        self._update(decision.here)
        if decision.held:
            return decision, self._report(fit, held=True, reasons=fit.reasons)
        if not decision.there:
            return decision, self._report(fit, dropped=decision.dropped)
        return decision, self._switch(decision, fit)

    def _switch(self, decision: Decision, fit: Fit) -> Step:
        assert decision.fits is not None
        left, change = self.memory.record, self._describe(decision)
        reasons = self.detector.leave(left, decision)
        self._enter(decision.environment)
        self._update(decision.there)
        return self._report(
            fit,
            switched=True,
            is_new=change.is_new,
            verdict=len(decision.there),
            dropped=decision.dropped,
            retired=left.index if decision.duplicate else None,
            posterior=posterior(decision.fits, self.detector.level),
            change=change,
            reasons=reasons,
        )

    def infer_environment(self, images: Any) -> Inference:
        """Which environment a batch, and each of its images, belongs to. Learns nothing."""
        x = as_images(images, self.config.image_shape)
        if not len(self.memory):
            return unknown(len(x))
        fits = self._judge(x)
        likelihoods = self.test.log_likelihoods(x, len(self.memory))
        return explain(best_environment(fits, x, self.detector), fits, likelihoods.softmax(1), x, self.detector)

    def state_dict(self) -> dict[str, Any]:
        """Everything that an exact continuation needs."""
        return {
            "step": self.steps,
            "memory": self.memory.state_dict(),
            "detector": self.detector.state_dict(),
            "recent": {f"{i:03d}": x for i, x in enumerate(self.recent)},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()` of a monitor with the same configuration."""
        self.steps = state["step"]
        self.memory.load_state_dict(state["memory"])
        self.detector.load_state_dict(state["detector"])
        self.recent = deque((state["recent"][key].clone() for key in sorted(state["recent"])), maxlen=_RECENT)

    def _judge(self, x: Images, environments: Sequence[int] | None = None) -> dict[int, Fit]:
        batch = BatchStatistics(x, {}, _NO_LATENTS, len(x))
        asked = self.memory.order() if environments is None else environments
        return {s: self.detector.fit(self.memory[s], [batch]) for s in asked}

    def _enter(self, environment: int | None) -> None:
        if environment is None:
            environment = self.memory.add(_NO_LATENTS > 0).index
        self.memory.current = environment
        self.recent.clear()

    def _update(self, batches: Sequence[Images]) -> None:
        record = self.memory.record
        for x in batches:
            self.detector.update(record, BatchStatistics(x, {}, _NO_LATENTS, len(x)))
            record.age += 1
            self.recent.append(x)

    def _describe(self, decision: Decision) -> Change:
        assert decision.fits is not None
        none, current, environment = np.zeros(0), self.memory.current, decision.environment
        return describe_change(
            torch.cat(list(self.recent)).numpy(),
            torch.cat(decision.there).numpy(),
            atypical_before=none,
            atypical_after=none,
            used=none > 0,
            step=self.steps,
            previous=current,
            environment=len(self.memory) if environment is None else environment,
            is_new=environment is None,
            distances=decision.distances(current),
            p_value=decision.fits[current].p_value,
        )

    def _report(self, fit: Fit, **what: Any) -> Step:
        return Step(self.steps, self.memory.current, p_value=fit.p_value, effect=fit.effect, **what)
