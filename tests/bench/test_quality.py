"""Time to quality: what counts as time, when a goal is reached, and that every contestant learns."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from vase import VASEConfig
from vase.bench import quality
from vase.bench.quality import Reached, batches, contestants, summary, times_to
from vase.bench.timing import Spread
from vase.worlds import make_world

SMOKE = VASEConfig.smoke()


class Slow:
    """A learner that takes six seconds per batch, and gets better by a hundredth with each."""

    def __init__(self) -> None:
        self.now = 0.0
        self.learnt = 0

    def partial_fit(self, images: np.ndarray) -> None:
        self.now += 6.0
        self.learnt += 1

    def score(self, learner: object, step: int) -> float:
        assert learner is self
        assert step == self.learnt
        self.now += 1000.0  # does not count
        return self.learnt / 100


def run(*goals: float, most: int = 100) -> tuple[list[Reached | None], Slow]:
    slow = Slow()
    found = times_to(goals, slow, itertools.repeat(np.zeros(1)), slow.score, every=5, most=most, clock=lambda: slow.now)
    return found, slow


def test_minutes_by_hand():
    """12 batches are asked for, and scored after 15: 90 seconds. The last goal ends the run."""
    found, slow = run(0.12, 0.15, 0.20)
    assert found == [(15, pytest.approx(1.5)), (15, pytest.approx(1.5)), (20, pytest.approx(2.0))]
    assert slow.learnt == 20


def test_a_goal_that_is_never_reached():
    found, slow = run(0.05, 0.9, most=30)
    assert found == [(5, pytest.approx(0.5)), None]
    assert slow.learnt == 30


def test_a_summary_says_how_many_arrived():
    one, two = Reached(250, 1.0), Reached(750, 3.0)
    found = summary([[one, two, None], [two, two, two]])
    assert found["60 %"] == Spread.of([1.0, 3.0])
    assert found["steps to 60 %"] == Spread.of([250.0, 750.0])
    assert found["70 %"] == "1 of 2 within 6,000 steps"
    assert found["steps to 70 %"] == "–"


def test_without_pythae_it_is_named(monkeypatch):
    monkeypatch.setattr(quality.importlib.util, "find_spec", lambda name: None)
    assert list(contestants()) == ["VASE", "plain VAE"]
    assert "pip install pythae" in quality.notes()[-1]


@pytest.mark.parametrize("name", ["VASE", "plain VAE", "pythae's β-TCVAE", "pythae's FactorVAE"])
def test_contestants_learn(name):
    """Codes of two digits differ more, in units of the posterior's spread, after sixty batches than before."""
    if name not in contestants():
        pytest.skip("pythae is not installed")
    world = make_world("digits:28")
    learner, stream = contestants()[name](SMOKE, 0), batches(world, 32, 0)
    first = next(stream)
    learner.partial_fit(first)
    before = _signal(learner.posterior(first))
    for images in itertools.islice(stream, 60):
        learner.partial_fit(images)
    assert _signal(learner.posterior(first)) > 2 * before


def _signal(posterior: tuple[np.ndarray, np.ndarray]) -> float:
    mean, std = posterior
    return float((mean.var(0) / (std**2).mean(0)).sum())
