"""Every rival learns, and those that replay forget less than fine-tuning does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tiny import bars, tiny

from vase.learners.registry import make_learner

STEPS = 120
CONFIG = tiny(objective="elbo").with_values({"learning_rate": 5e-3})
PAST, PRESENT = bars(200, 10_000), bars(200, 10_001, upright=False)


def errors(name: str, options: dict[str, Any] | None = None) -> tuple[float, float, float]:
    """Squared error on upright bars after them, then on both kinds after lying ones."""
    learner: Any = make_learner(name, CONFIG, seed=1, device="cpu", options=options)

    def error(images: np.ndarray) -> float:
        return float(np.square(learner.reconstruct(images) - images / 255).mean())

    for number in range(STEPS):
        learner.partial_fit(bars(16, number))
    before = error(PAST)
    if getattr(learner, "wants_boundaries", False):
        learner.begin_world()
    for number in range(STEPS):
        learner.partial_fit(bars(16, STEPS + number, upright=False))
    return before, error(PAST), error(PRESENT)


@pytest.fixture(scope="module")
def fine_tuned() -> tuple[float, float, float]:
    return errors("fine-tuning")


def test_fine_tuning_learns_and_forgets(fine_tuned: tuple[float, float, float]) -> None:
    before, after, present = fine_tuned
    assert before < 0.75 * np.var(PAST / 255)
    assert present < 0.75 * np.var(PRESENT / 255)
    assert after > 1.5 * before


@pytest.mark.parametrize(
    ("name", "share"), [("reservoir", 0.5), ("generative-replay", 0.85), ("lifelong-generative", 0.85)]
)
def test_replay_forgets_less(fine_tuned: tuple[float, float, float], name: str, share: float) -> None:
    _, after, present = errors(name)
    assert after < share * fine_tuned[1]
    assert present < 0.9 * np.var(PRESENT / 255)
