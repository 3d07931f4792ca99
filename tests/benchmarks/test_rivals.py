"""The cost of a step of every method, on two small worlds."""

from dataclasses import replace

import pytest

from benchmarks import rivals
from benchmarks.rivals import Cost, measure
from vase.bench.timing import Spread


def test_a_change_of_world_counts_once_per_world() -> None:
    steps = tuple(Spread(median, median, median) for median in (10.0, 20.0))
    assert Cost(steps, (0.0, 3_000.0)).average(1_000) == pytest.approx((10 + 20 + 3) / 2)


def test_every_method_has_a_row(monkeypatch) -> None:
    names = (rivals.PLAIN_VAE, "dgr-every", "ewc-told", "disentangled-SDA")
    conditions = tuple(rivals.RIVALS.condition(name) for name in names)
    small = replace(rivals.RIVALS, stream="moving-digits,inverse-digits", conditions=conditions)
    monkeypatch.setattr(rivals, "RIVALS", small)
    for name, value in (("STEPS", 24), ("SETTLING", 16), ("BLOCK", 4)):
        monkeypatch.setattr(rivals, name, value)
    part = measure("smoke", 1)
    assert [row["condition"] for row in part.rows] == list(names)
    plain, *others = part.rows
    assert plain["relative to fine-tuned VAE"] == 1
    assert all(row["step (ms)"] > 0 for row in others)
    assert next(row for row in others if row["condition"] == "ewc-told")["a change of world (ms)"] > 0
