"""A VASE learner on changes that thresholds on its losses and latents missed, with images that are made here."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from photographs import draw, grey, night, photographs, upside_down

from vase import VASE, VASEConfig
from vase.method.fingerprint_test import FingerprintTest
from vase.method.learnt_tests import LatentSpreadTest, LossSpreadTest
from vase.worlds import Schedule

SHAPE = (3, 16, 16)


def config(**values) -> VASEConfig:
    return VASEConfig.smoke(SHAPE).with_values({name.replace("__", "."): value for name, value in values.items()})


@pytest.fixture(scope="module")
def pool() -> np.ndarray:
    return photographs(1500, np.random.default_rng(0), side=16)


def batches(pool: np.ndarray, count: int, seed: int = 0, n: int = 32):
    rng = np.random.default_rng(seed)
    return (draw(pool, rng, n) for _ in range(count))


def stages(model: VASE, worlds) -> list[int]:
    """The environment at the end of each stage."""
    found = []
    for world in worlds:
        for x in world:
            step = model.partial_fit(x)
        found.append(step.environment)
    return found


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_either_likelihood_notices_the_same(pool, likelihood):
    model = VASE(config(network__likelihood=likelihood), seed=0)
    assert stages(model, [batches(pool, 70)]) == [0]

    def alarms(change) -> int:
        asked = [model.infer_environment(change(x)).environment for x in batches(pool, 20, seed=1, n=64)]
        return sum(environment is None for environment in asked)

    assert alarms(lambda x: x) <= 1
    assert min(alarms(night), alarms(grey), alarms(upside_down)) >= 18


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_day_night_day_upside_down_night(pool, likelihood):
    model = VASE(config(network__likelihood=likelihood), seed=0)
    kinds = (lambda x: x, night, lambda x: x, upside_down, night)
    found = stages(model, [map(change, batches(pool, 40, seed=i)) for i, change in enumerate(kinds)])
    assert found == [0, 1, 0, 2, 1]
    assert len(model.environments) == 3


def test_a_static_world_its_moving_version_another_and_the_first_again():
    model = VASE(VASEConfig.smoke(), seed=0)
    names = ("digits:28", "moving-digits", "glyphs:28", "digits:28")
    worlds = [[b.images for b in Schedule.parse(name, steps=40, batch_size=32, seed=i)] for i, name in enumerate(names)]
    assert stages(model, worlds) == [0, 1, 2, 0]


def test_a_gradual_night_does_not_overwrite_the_day(pool):
    """Day crept into night in silence: one environment, and afterwards day was unknown and drawn as night."""
    model = VASE(config(), seed=0)
    day = next(batches(pool, 1, seed=9, n=128))

    def error() -> float:
        return float(np.square(model.reconstruct(day, environment=0) - day).mean())

    assert stages(model, [batches(pool, 150)]) == [0]
    before = error()
    light = np.linspace(1, 0.35, 400)
    ramp = (x * factor for x, factor in zip(batches(pool, 400, seed=1), light, strict=True))
    found = stages(model, [ramp, map(night, batches(pool, 60, seed=2)), batches(pool, 40, seed=3)])
    assert found[1] > 0
    assert found[2] == 0
    assert len(model.environments) <= 3
    assert error() <= 1.1 * before


def test_a_switch_says_what_changed(pool):
    model = VASE(config(), seed=0)
    stages(model, [batches(pool, 40)])
    steps = [model.partial_fit(night(x)) for x in batches(pool, 3, seed=1)]
    assert [s.held for s in steps] == [True, True, False]
    change = steps[-1].change
    assert change is not None
    assert (change.previous, change.environment, change.is_new) == (0, 1, True)
    assert change.brightness == pytest.approx(-0.65, abs=0.05)
    assert change.sentence.startswith("darker by 6")
    assert steps[-1].posterior.argmax() == 1  # environment 0, new
    assert steps[-1].p_value < 1e-4 < 1 < steps[-1].effect
    assert steps[0].change is None


@pytest.mark.parametrize(
    ("test", "change"),
    [
        (FingerprintTest(SHAPE), night),
        (LossSpreadTest(), lambda x: np.random.default_rng(0).random(x.shape, np.float32)),
        (LatentSpreadTest(), lambda x: 0.1 * x + 0.85),
    ],
)
def test_each_test_alone_announces_a_shift(pool, test, change):
    still = config().with_values({"independence.enabled": "no"})  # a rotation of the latents makes their test forget
    model = VASE(still, seed=0, shift_tests=[test])
    assert stages(model, [batches(pool, 150), map(change, batches(pool, 12, seed=1))]) == [0, 1]


def test_weights_that_are_thrown_off_are_no_shift(pool):
    """A jump of the optimiser that reaches the slow weights, too: all images look strange, none of them has changed."""
    model = VASE(config(), seed=0)
    assert stages(model, [batches(pool, 90)]) == [0]
    before = model.partial_fit(next(batches(pool, 1, seed=1)))
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for live, slow in zip(model.networks_.decoder.parameters(), model.ema_.nets.decoder.parameters(), strict=True):
            noise = 2.0 * live.abs().mean() * torch.randn(live.shape, generator=generator)
            live += noise
            slow += noise
    steps = [model.partial_fit(x) for x in batches(pool, 12, seed=2)]
    assert steps[0].deviance > 1.5 * before.deviance
    assert not any(step.held or step.switched for step in steps[:4])
    assert stages(model, [map(night, batches(pool, 12, seed=3))]) == [1]
