"""A shift test of your own: the mean brightness of a batch, compared with that of the environment.

python examples/brightness_test.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vase import VASE, VASEConfig
from vase.method.environment_memory import EnvironmentRecord
from vase.method.learnt_tests import LossSpreadTest
from vase.method.shift_tests import FITS, Evidence, ShiftTest
from vase.method.statistics import BatchStatistics
from vase.worlds import make_world


class BrightnessTest(ShiftTest):
    """Rejects a batch whose mean brightness is further than `tolerance` from the environment's average."""

    def __init__(self, tolerance: float = 0.05) -> None:
        self.tolerance = tolerance
        self.expected: dict[int, float] = {}
        """Environment -> running average of the mean brightness."""

    def evidence(self, record: EnvironmentRecord, batch: BatchStatistics) -> Evidence:
        """A plain threshold: the p-value is 0 or 1."""
        found, expected = float(batch.images.mean()), self.expected.get(record.index)
        if expected is None or abs(found - expected) <= self.tolerance:
            return FITS
        return Evidence(0.0, f"brightness {found:.2f}, environment {record.index} has {expected:.2f}")

    def update(self, record: EnvironmentRecord, batch: BatchStatistics) -> None:
        """Take note of a batch that was learnt in the environment."""
        keep, found = record.keep(0.95), float(batch.images.mean())
        self.expected[record.index] = keep * self.expected.get(record.index, found) + (1 - keep) * found

    def state_dict(self) -> dict[str, Any]:
        """What an exact continuation needs."""
        return {str(index): value for index, value in self.expected.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.expected = {int(index): value for index, value in state.items()}


def main() -> list[tuple[int, int]]:
    """Digits by day, at night and by day again; returns (step, environment) of every switch."""
    config, rng = VASEConfig.smoke(), np.random.default_rng(0)
    tests = [LossSpreadTest(), BrightnessTest()]  # as many as you like: each can reject
    model = VASE(config, seed=0, shift_tests=tests)
    world = make_world("inverse-digits:28")
    switches = []
    for light in [1.0] * 90 + [0.5] * 90 + [1.0] * 30:
        step = model.partial_fit(world.sample(32, rng).images / 255 * light)
        if step.switched:
            switches.append((step.step, step.environment))
            print(f"step {step.step}: environment {step.environment}", *step.reasons, sep="\n  ")
    return switches


if __name__ == "__main__":
    main()
