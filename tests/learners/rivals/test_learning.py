"""Every rival learns, and those that replay forget less than fine-tuning does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tiny import bars, tiny

from vase.learners.registry import make_learner

STEPS = 90
PAST, PRESENT = bars(200, 10_000), bars(200, 10_001, upright=False)


def errors(name: str, options: dict[str, Any]) -> tuple[float, float, float]:
    """Squared error on upright bars after them, then on both kinds after lying ones."""
    learner: Any = make_learner(name, tiny(objective="elbo"), seed=1, device="cpu", options=options)

    def error(images: np.ndarray) -> float:
        return float(np.square(learner.reconstruct(images) - images / 255).mean())

    for number in range(STEPS):
        learner.partial_fit(bars(32, number))
    before = error(PAST)
    if getattr(learner, "wants_boundaries", False):
        learner.begin_world()
    for number in range(STEPS):
        learner.partial_fit(bars(32, STEPS + number, upright=False))
    return before, error(PAST), error(PRESENT)


@pytest.fixture(scope="module")
def fine_tuned() -> tuple[float, float, float]:
    return errors("fine-tuning", {})


def test_fine_tuning_forgets(fine_tuned: tuple[float, float, float]) -> None:
    before, after, present = fine_tuned
    assert before < 0.5 * PAST.var() / 255**2
    assert present < 0.5 * PRESENT.var() / 255**2
    assert after > 3 * before


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("reservoir", {"images": 200}),
        ("generative-replay", {}),
        ("generative-replay", {"boundaries": "detected"}),
        ("lifelong-generative", {}),
    ],
)
def test_replay_forgets_less(fine_tuned: tuple[float, float, float], name: str, options: dict[str, Any]) -> None:
    _, after, present = errors(name, options)
    assert after < 0.6 * fine_tuned[1]
    assert present < 0.5 * PRESENT.var() / 255**2


@pytest.mark.parametrize(("name", "strength"), [("ewc", 1e3), ("si", 1.0), ("mas", 0.1)])
def test_penalties_trade_the_past_for_the_present(
    fine_tuned: tuple[float, float, float], name: str, strength: float
) -> None:
    _, after, present = errors(name, {"boundaries": "told", "strength": strength})
    assert after < fine_tuned[1]
    assert present > fine_tuned[2]
