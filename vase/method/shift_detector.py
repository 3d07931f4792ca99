"""Which environment a batch belongs to (Eq. 6, Alg. 1), and what is done with batches until that is settled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from vase.method.environment_memory import EnvironmentMemory, EnvironmentRecord
from vase.method.shift_tests import ShiftTest
from vase.method.statistics import BatchStatistics
from vase.nn.likelihood import Images

View = Callable[[EnvironmentRecord], BatchStatistics]
"""A batch seen through an environment, by one set of weights."""
Verdict = tuple[int | None, tuple[str, ...]]
"""The environment of a batch, None for a new one; and the reasons, in words."""


class ShiftDetector:
    """Asks every shift test whether a batch fits an environment, and holds batches that fit none.

    A verdict needs `patience` failing batches in a row. They are held until then and learnt afterwards, so that none is
    lost and none is learnt in the wrong environment.
    """

    def __init__(self, tests: Iterable[ShiftTest], patience: int) -> None:
        self.tests = list(tests)
        self.patience = patience
        self.held: list[Images] = []

    def rejection_reasons(self, record: EnvironmentRecord, batch: BatchStatistics) -> tuple[str, ...]:
        """Why the batch cannot come from this environment, in words; empty if it fits."""
        found = (test.rejection_reason(record, batch) for test in self.tests)
        return tuple(reason for reason in found if reason is not None)

    def infer(self, memory: EnvironmentMemory, order: Sequence[int], views: Sequence[View]) -> Verdict:
        """The environment of a batch.

        The classifier's candidate, the first in `order`, is tested first, then the current environment, then the
        others: new is what fits none. A batch fits an environment if it does in one of the views: it is foreign only if
        both the live and the EMA weights reject it.
        """
        candidate = order[0]
        reasons: tuple[str, ...] = ()
        for s in dict.fromkeys((candidate, memory.current, *order[1:])):
            found: tuple[str, ...] = ()
            for view in views:
                found = self.rejection_reasons(memory[s], view(memory[s]))
                if not found:
                    return s, (*reasons, f"the batch fits environment {s}")
            if s in (candidate, memory.current):
                reasons += found
        return None, reasons

    def update(self, record: EnvironmentRecord, batch: BatchStatistics) -> None:
        """Tell all tests of a batch that was learnt in the environment."""
        for test in self.tests:
            test.update(record, batch)

    def hold(self, images: Images) -> bool:
        """Hold a batch; whether enough are held for a verdict."""
        self.held.append(images)
        return len(self.held) >= self.patience

    def release(self) -> list[Images]:
        """The held batches, oldest first, which are then held no longer."""
        held, self.held = self.held, []
        return held

    def state_dict(self) -> dict[str, Any]:
        """Held batches, and the state of every test."""
        return {
            "held": {f"{i:03d}": x for i, x in enumerate(self.held)},
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
        held: Mapping[str, Tensor] = state["held"]
        self.held = [held[key].to(device) for key in sorted(held)]
