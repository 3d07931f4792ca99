"""A lifelong learner needs the same memory after every step: it keeps no graph, and nothing that grows."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from vase import VASE, ShiftMonitor, VASEConfig

CONFIG = VASEConfig.smoke((1, 16, 16)).with_values({"network.latents": 4, "network.hidden": 16, "dreaming.pool": 64})
SOAK = Path(__file__).parents[2] / "results" / "soak" / "smoke.json"


def tensors(root: Any) -> Iterator[Tensor]:
    """Every tensor that can be reached from an object, once."""
    seen: set[int] = set()
    todo = deque([root])
    while todo:
        item = todo.pop()
        if id(item) in seen or isinstance(item, str | int | float | type | np.ndarray):
            continue
        seen.add(id(item))
        if isinstance(item, Tensor):
            yield item
            continue
        todo += (
            item.values() if isinstance(item, dict) else item if isinstance(item, list | tuple | set | deque) else ()
        )
        todo += getattr(item, "__dict__", {}).values()


def stream(steps: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(0)
    for _ in range(steps):
        yield rng.uniform(0, 0.3, (4, 16, 16))


@pytest.mark.parametrize("learner", [VASE, ShiftMonitor])
def test_nothing_that_a_learner_keeps_holds_a_graph_or_grows(learner: type[VASE] | type[ShiftMonitor]) -> None:
    model, sizes = learner(CONFIG, device="cpu"), []
    for t, images in enumerate(stream(90), start=1):
        model.partial_fit(images)
        if t in (40, 65, 90):
            kept = list(tensors(model))
            assert [tuple(tensor.shape) for tensor in kept if tensor.grad_fn is not None] == []
            sizes.append(sum(tensor.nbytes for tensor in kept))
    assert max(sizes) <= 1.01 * sizes[0]


def test_a_graph_that_is_kept_would_be_found() -> None:
    model = VASE(CONFIG, device="cpu")
    for images in stream(2):
        model.partial_fit(images)
    weight = model.networks_.encoder.posterior.weight
    model.alpha_ = torch.lerp(weight.detach(), weight, 0.5)[0]
    assert any(tensor.grad_fn is not None for tensor in tensors(model))


def test_tens_of_thousands_of_steps_took_no_more_memory_than_the_first_two_thousand() -> None:
    """The committed curve of `python -m benchmarks.soak`."""
    points = json.loads(SOAK.read_text())["points"]
    assert points[0]["step"] == 2_000
    assert points[-1]["step"] >= 20_000
    assert {point["environments"] for point in points} == {1}
    assert max(point["resident_bytes"] for point in points) <= 1.02 * points[0]["resident_bytes"]
