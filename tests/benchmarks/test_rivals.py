"""The cost of a step of every method, on two small worlds."""

from dataclasses import replace

import pytest

from benchmarks import rivals
from benchmarks.rivals import Cost, measure
from vase.bench.timing import Spread
from vase.training import RunSettings


def test_a_change_of_world_counts_once_per_world() -> None:
    steps = tuple(Spread(median, median, median) for median in (10.0, 20.0))
    assert Cost(steps, (0.0, 3_000.0)).average(1_000) == pytest.approx((10 + 20 + 3) / 2)


NAMES = (rivals.PLAIN_VAE, "dgr-every", "ewc-told", "disentangled-SDA")


@pytest.fixture
def small(monkeypatch) -> None:
    conditions = tuple(rivals.RIVALS.condition(name) for name in NAMES)
    stream = replace(rivals.RIVALS, stream="moving-digits,inverse-digits", conditions=conditions)
    monkeypatch.setattr(rivals, "RIVALS", stream)
    for name, value in (("STEPS", 24), ("SETTLING", 16), ("BLOCK", 4)):
        monkeypatch.setattr(rivals, name, value)


def test_every_method_is_measured(small) -> None:
    part = measure("smoke", 1)
    assert [row["condition"] for row in part.rows] == list(NAMES)
    assert all(row["first world (ms)"].median > 0 < row["third world (ms)"].median for row in part.rows)


def test_rows_by_hand(small, monkeypatch) -> None:
    seen: list[RunSettings] = []

    def cost(settings: RunSettings) -> Cost:
        """Each method is a millisecond slower than the last, and takes 50 ms for the only change of world."""
        seen.append(settings)
        step = Spread(*[9.0 + len(seen)] * 3)
        return Cost((step, step), (0.0, 50.0))

    monkeypatch.setattr(rivals, "cost_of", cost)
    part = measure("smoke", 1)
    length = rivals.RIVALS.settings(rivals.RIVALS.condition(NAMES[0]), 0, "smoke").lengths[0]
    beside = 50 / length / 2
    assert [row["step (ms)"] for row in part.rows] == pytest.approx([n + beside for n in (10, 11, 12, 13)])
    assert part.rows[2]["relative to fine-tuned VAE"] == pytest.approx((12 + beside) / (10 + beside))
    assert part.rows[0]["a change of world (ms)"] == 50
    assert seen[1].learner_options["boundaries"] == rivals.CHOSEN["every"] * 24 // length
    assert {settings.steps for settings in seen} == {24}
