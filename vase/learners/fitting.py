"""The callbacks of `fit`: the hooks of `vase.training.Callback` that make sense without a run directory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from vase.learners.protocol import Learner, count_environments
from vase.learners.records import Step
from vase.worlds import Batch


class FitCallback(Protocol):
    """What `fit` calls. A `vase.training.Callback` has these hooks, and a tracker uses no others."""

    def on_start(self, run: Any) -> None:
        """Before the first batch."""

    def on_batch(self, run: Any, batch: Batch) -> Batch:
        """Before a batch is learnt; returns what is learnt instead."""

    def on_step(self, run: Any, step: Step) -> Any:
        """After a batch was learnt."""

    def on_end(self, run: Any) -> Any:
        """After the last batch."""


@dataclass
class FitRun:
    """What callbacks of `fit` get as their run: the learner and how far it has come."""

    learner: Learner
    callbacks: Sequence[FitCallback] = ()
    name: str = "fit"
    identity: str | None = None
    """Nothing is resumed."""
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def step(self) -> int:
        """Batches that the learner has seen."""
        return self.learner.steps

    @property
    def environments(self) -> int:
        """Environments that the learner knows; 0 for a learner without environments."""
        return count_environments(self.learner)

    def start(self) -> None:
        """Call all callbacks before the first batch."""
        for callback in self.callbacks:
            callback.on_start(self)

    def learn(self, images: Any) -> None:
        """Learn a batch, with callbacks before and after it."""
        for callback in self.callbacks:
            images = callback.on_batch(self, Batch(images, {})).images
        step = self.learner.partial_fit(images)
        for callback in self.callbacks:
            callback.on_step(self, step)

    def end(self) -> None:
        """Call all callbacks after the last batch."""
        for callback in self.callbacks:
            callback.on_end(self)
