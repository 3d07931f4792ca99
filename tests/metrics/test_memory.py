"""Bytes beyond the weights, counted by hand."""

from __future__ import annotations

from typing import Any

import torch
from tiny import bars, tiny

from vase import VASE
from vase.learners.checks import state_bytes
from vase.learners.rivals.generative_replay import GenerativeReplay
from vase.learners.rivals.reservoir import ReservoirReplay
from vase.learners.rivals.vae import VAE
from vase.metrics.memory import memory_beyond_weights


def trained(learner: Any, steps: int = 3) -> Any:
    for number in range(steps):
        learner.partial_fit(bars(16, number))
    return learner


def test_a_reservoir_takes_its_images() -> None:
    plain = memory_beyond_weights(trained(VAE(tiny(), device="cpu")))
    stored = memory_beyond_weights(trained(ReservoirReplay(tiny(), device="cpu", images=20)))
    assert stored - plain == 20 * 256 + 8  # 16·16 bytes an image, and how many were seen


def test_a_teacher_takes_as_much_as_the_networks() -> None:
    learner = GenerativeReplay(tiny(), device="cpu", boundaries=2)
    before = memory_beyond_weights(trained(learner, 2))
    after = memory_beyond_weights(trained(learner, 1))
    weights = state_bytes(learner.state_dict()["networks"])
    assert after - before == weights - 8  # in place of "none"


def test_a_pool_of_dreams_counts_before_and_after_it_is_made() -> None:
    config = tiny().with_values({"dreaming.pool": 100, "environments.enabled": "no", "dreaming.tau": 2})
    learner = VASE(config, seed=0, device="cpu")
    learner.partial_fit(bars(16, 0))
    assert learner.cache_bytes == 0  # nothing to dream of yet
    trained(learner)
    size = min(100, 2 * config.batch_size)
    # z, gate, mean and log-variance of 4 latents, 256 pixels and the floor as float32, the environment as int64
    assert learner.cache_bytes == size * (4 * (4 * 4 + 256 + 1) + 8)
    learner.partial_fit(bars(16, 9))
    assert learner.dreams_.pool is not None
    assert learner.cache_bytes == learner.dreams_.pool.nbytes
    state = learner.state_dict()
    kept = state_bytes({name: value for name, value in state.items() if name not in ("networks", "optimiser")})
    assert memory_beyond_weights(learner) == kept + learner.cache_bytes


def test_a_learner_without_networks_counts_as_a_whole() -> None:
    class Counter:
        n_latents, steps = 1, 0

        def state_dict(self) -> dict[str, Any]:
            return {"steps": 3, "sums": {"mean": torch.zeros(5, dtype=torch.float64)}}

    assert memory_beyond_weights(Counter()) == 8 + 40  # type: ignore[arg-type]
