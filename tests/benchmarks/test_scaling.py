"""Memory of one case, and the axes along which a step grows."""

from __future__ import annotations

import json

import torch
from torch import nn

from benchmarks import scaling
from benchmarks.scaling import own_bytes
from vase import VASEConfig
from vase.nn.networks import Networks

SMOKE = VASEConfig.smoke()


def test_own_bytes_counts_every_storage_once():
    class Owner:
        def __init__(self) -> None:
            self.table = {"a": torch.zeros(10), "b": [torch.zeros(5, dtype=torch.float64)]}
            self.again = (self.table["a"], self.table["a"][:5])
            self.layer = nn.Linear(2, 3)
            self.layer(torch.ones(1, 2)).sum().backward()
            self.me = self

    assert own_bytes(Owner()) == 40 + 40 + 2 * 4 * (6 + 3)  # a linear layer and its gradients


def test_a_case_of_scaling_says_its_memory(capsys):
    scaling.tell_memory({"preset": "smoke", "axis": "environments", "value": 3})
    said = json.loads(capsys.readouterr().out)
    weights = sum(p.nbytes for p in Networks(SMOKE, torch.Generator()).parameters())
    # Weights, gradients, two moments, slow weights, snapshot, and a pool of dreams of 4 kB and more each.
    assert said["peak"] > said["own"] > 6 * weights + 4096 * SMOKE.dreaming.pool


def test_every_axis_of_scaling_starts_at_the_preset():
    for axis, values in scaling.AXES.items():
        start = scaling.base_value("laptop", axis)
        assert scaling.variant("laptop", axis, start) == scaling.variant("laptop")
        for value in values:
            assert (scaling.variant("laptop", axis, value) == scaling.variant("laptop")) == (value == start)
