"""On leaving an environment, its own latents get the mean and spread of the prior, and nothing else changes."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
import torch

from vase import VASE, VASEConfig
from vase.method.atypicality import RunningMarginal, kl_of_moments, marginal
from vase.method.learnt_tests import LatentSpreadTest
from vase.nn.networks import Networks
from vase.worlds import Schedule

WORLDS = "digits:28*80,glyphs:16*60"
LATENTS = torch.tensor([1, 4])
MEAN, STD = torch.tensor([0.5, -2.0]), torch.tensor([2.0, 0.25])


def test_the_marginal_by_hand() -> None:
    """Means 1 and 3, variances 0.5 and 1.5: mean 2, variance 1 + 1; KL(N(2, 2) ‖ N(0, 1)) = (2 + 4 − 1 − ln 2)/2."""
    statistics = torch.tensor([[2.0], [(1.0 + 9.0) / 2], [1.0]])
    mean, variance = marginal(statistics)
    assert (float(mean), float(variance)) == (2.0, 2.0)
    assert float(kl_of_moments(statistics)) == pytest.approx((2 + 4 - 1 - math.log(2)) / 2)


def test_codes_are_shifted_and_scaled_and_outputs_stay() -> None:
    nets = Networks(VASEConfig.smoke(), torch.Generator().manual_seed(0))
    nets.grow(9, torch.Generator().manual_seed(1))
    x, s, other = torch.rand(4, 1, 32, 32), torch.full((4,), 8), torch.zeros(4, dtype=torch.long)
    _, before, log_var = nets.encode(x)
    hidden = before.clone()
    hidden[:, LATENTS] = 0
    image, elsewhere = nets.decode(before, s), nets.decode(hidden, other)
    nets.standardise(LATENTS, MEAN, STD, 8)
    _, after, new_log_var = nets.encode(x)
    torch.testing.assert_close(after[:, LATENTS], (before[:, LATENTS] - MEAN) / STD)
    torch.testing.assert_close(new_log_var[:, LATENTS].exp(), log_var[:, LATENTS].exp() / STD.square())
    others = [n for n in range(before.shape[1]) if n not in LATENTS.tolist()]
    assert torch.equal(after[:, others], before[:, others])
    torch.testing.assert_close(nets.decode(after, s), image)
    assert torch.equal(nets.decode(hidden, other), elsewhere)  # an environment that does not see the latents


def test_the_running_marginal_by_hand() -> None:
    running = RunningMarginal(1)
    running.update(torch.tensor([[2.0], [4.0], [1.0]]))
    running.update(torch.tensor([[4.0], [16.0], [3.0]]))  # the first ones count alike
    assert running.statistics.flatten().tolist() == [3.0, 10.0, 2.0]
    again = RunningMarginal(1)
    again.load_state_dict(running.state_dict())
    again.count = 1000
    again.update(torch.tensor([[103.0], [10.0], [2.0]]))  # one in a hundred
    assert float(again.statistics[0, 0]) == pytest.approx(4.0)
    running.restart()
    running.update(torch.tensor([[7.0], [8.0], [9.0]]))
    assert running.statistics.flatten().tolist() == [7.0, 8.0, 9.0]


def trained(values: dict[str, Any] | None = None, worlds: str = WORLDS) -> VASE:
    config = VASEConfig.smoke().with_values({"dreaming.gate_tolerance": 0.02, **(values or {})})
    model = VASE(config, seed=0)
    for batch in Schedule.parse(worlds, batch_size=32, seed=0):
        model.partial_fit(batch.images)
    assert len(model.environments) == 2
    return model


@pytest.fixture(scope="module")
def learner() -> VASE:
    model = trained()
    assert model.memory_[0].used.any()
    assert 0 < int(model.memory_.own().sum()) < model.n_latents
    return model


def spread(model: VASE, latents: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and variance of codes of the current environment, as its last batches told."""
    return marginal(model.marginal_.statistics[:, latents])


def encoded(nets: Networks, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    with torch.no_grad():
        _, mean, log_var = nets.encode(x)
    return mean, log_var.exp()


def test_own_latents_of_a_learner(learner: VASE) -> None:
    model = copy.deepcopy(learner)
    x, own = model.last_images(), model.memory_.own()
    past, now = model.dream(20, environment=0, seed=0), model.reconstruct(x.numpy(), environment=1)
    mean, variance = spread(model, own)
    assert np.ptp(past, axis=0).max() > 0.01
    assert mean.abs().max() > 0.05
    assert (variance - 1).abs().max() > 0.05
    before = [encoded(nets, x) for nets in (model.networks_, model.ema_.nets)]
    model.standardise_latents()
    for (old_mean, old_var), nets in zip(before, (model.networks_, model.ema_.nets), strict=True):
        new_mean, new_var = encoded(nets, x)
        torch.testing.assert_close(new_mean[:, own], (old_mean[:, own] - mean) / variance.sqrt(), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(new_var[:, own], old_var[:, own] / variance, rtol=1e-4, atol=1e-4)
        assert torch.equal(new_mean[:, ~own], old_mean[:, ~own])
    np.testing.assert_allclose(model.reconstruct(x.numpy(), environment=1), now, atol=1e-5)
    assert np.array_equal(model.dream(20, environment=0, seed=0), past)
    weight = model.networks_.decoder.from_latents.weight
    assert not model.optimiser_.state[weight]["exp_avg"][:, own].any()
    assert model.optimiser_.state[weight]["exp_avg"][:, ~own].any()
    assert model.marginal_.count == 0
    assert next(t for t in model.detector_.tests if isinstance(t, LatentSpreadTest)).spread.count == 0


@pytest.mark.parametrize("off", [{"dreaming.standardise": False}, {"dreaming.gates": False}])
def test_it_can_be_switched_off_and_needs_gates(off: dict[str, bool]) -> None:
    model = VASE(VASEConfig.smoke().with_values(off), seed=0)
    x = next(iter(Schedule.parse("digits:28*1", batch_size=32, seed=0))).images
    model.partial_fit(x)
    before = {name: value.clone() for name, value in model.networks_.state_dict().items()}
    model.standardise_latents()
    assert all(torch.equal(before[name], value) for name, value in model.networks_.state_dict().items())


def test_an_environment_is_left_with_standardised_latents(learner: VASE) -> None:
    model, x, own = copy.deepcopy(learner), learner.last_images(), learner.memory_.own()
    mean, variance = spread(learner, own)
    model.finish_environment()
    old, new = encoded(learner.ema_.nets, x)[0], encoded(model.networks_, x)[0]
    live = encoded(learner.networks_, x)[0]
    expected = [(codes[:, own] - mean) / variance.sqrt() for codes in (old, live)]  # whichever weights won
    assert any(torch.allclose(new[:, own], wanted, atol=1e-4) for wanted in expected)


def test_with_periodic_snapshots_latents_stay_as_the_snapshot_knows_them() -> None:
    model = trained({"dreaming.snapshot": "every"})
    before = model.networks_.encoder.posterior.weight.clone()
    model.finish_environment()
    assert torch.equal(model.networks_.encoder.posterior.weight, before)


def test_frames_of_one_scene_do_not_empty_an_environment() -> None:
    """The last batches of a still camera show one moment of a world; what its latents are for, earlier ones tell."""
    learnt = trained(worlds="digits:28*100,glyphs:16*300")
    alive = copy.deepcopy(learnt)
    alive.finish_environment()
    for number in (0, 10, 31):
        model = copy.deepcopy(learnt)
        frame = model.recent_[-1][number : number + 1]
        model.recent_.extend([frame.expand(32, -1, -1, -1)] * 4)
        model.finish_environment()
        assert model.memory_[1].used.sum() >= alive.memory_[1].used.sum() / 2 > 0, number
