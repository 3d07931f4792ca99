"""A new environment that comes into a known one before it has settled is retired: one world is not two for ever."""

from __future__ import annotations

import copy
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from photographs import draw, night, photographs, upside_down

from vase import VASE, ShiftMonitor, Step, VASEConfig
from vase.learners.card import model_card
from vase.learners.export import export_programs
from vase.learners.protocol import count_environments
from vase.method.shift_detector import Decision, ShiftDetector
from vase.metrics.detection import Trace
from vase.report.decoder import export_decoder
from vase.training.columns import switch_columns

CONFIG = VASEConfig.smoke((3, 16, 16))
Learns = VASE | ShiftMonitor


@pytest.fixture(scope="module")
def pool() -> np.ndarray:
    return photographs(1500, np.random.default_rng(0), side=16)


def batches(pool: np.ndarray, count: int, seed: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(seed)
    return (draw(pool, rng, 32) for _ in range(count))


def learn(model: Learns, images: Iterable[np.ndarray]) -> list[Step]:
    return [model.partial_fit(x) for x in images]


def misled(model: Learns, detector: ShiftDetector, images: np.ndarray) -> Step:
    """The batch is declared a new environment, which nothing but chance can do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(detector, "receive", lambda x, _, judge, __: Decision(there=(x,), fits=judge(x, None)))
        return model.partial_fit(images)


@pytest.fixture(scope="module")
def learnt(pool: np.ndarray) -> tuple[VASE, list[Step]]:
    """Day, night, day, a false alarm, day."""
    model = VASE(CONFIG, seed=0)
    for worlds in (batches(pool, 150, 0), map(night, batches(pool, 150, 1)), batches(pool, 20, 2)):
        learn(model, worlds)
    assert len(model.environments) == 2
    wrong = misled(model, model.detector_, next(batches(pool, 1, 3)))
    assert (wrong.environment, wrong.is_new) == (2, True)
    return model, learn(model, batches(pool, 40, 4))


def returned(steps: list[Step]) -> Step:
    (back,) = (step for step in steps if step.switched)
    assert back.environment == 0
    assert back.retired == 2
    assert back.reasons[-1] == "environment 2 had not settled, and is retired"
    assert back.change is not None
    assert back.change.nearest is not None
    assert back.change.nearest.environment == 1
    return back


def test_it_is_retired(learnt: tuple[VASE, list[Step]]) -> None:
    model, steps = learnt
    assert returned(steps).step - steps[0].step < 32
    assert [view.duplicate_of for view in model.environments] == [None, None, 0]
    assert not model.environments[2].used.any()
    assert 2 not in model.detector_.state_dict()["tests"]["0"]["state"]


def test_no_dream_and_no_image_is_of_it(learnt: tuple[VASE, list[Step]], pool: np.ndarray) -> None:
    model, _ = learnt
    dreams = model.sample_dreams(200)
    assert dreams is not None
    assert set(dreams.s.tolist()) == {1}
    x = np.concatenate([*batches(pool, 2, 5)])
    changes: tuple[Callable[[np.ndarray], Any], ...] = (np.asarray, night)
    for world, change in enumerate(changes):
        for images in (x, x[:1]):
            found = model.infer_environment(change(images))
            assert found.environment == world
            assert 2 not in found.environments
            assert (found.posterior[2], found.p_values[2], found.probabilities[2]) == (0, 0, 0)
            assert not found.each[:, 2].any()
    mixed = model.infer_environment(np.concatenate([x[:32], night(x[32:])]))
    assert set(mixed.shares) == {0, 1}


def test_whoever_asks_for_it_gets_the_one_that_it_is(learnt: tuple[VASE, list[Step]]) -> None:
    model, _ = learnt
    assert np.array_equal(model.dream(4, environment=2, seed=0), model.dream(4, environment=0, seed=0))
    assert not np.array_equal(model.dream(4, environment=2, seed=0), model.dream(4, environment=1, seed=0))
    assert model.decode(np.zeros((1, model.n_latents), np.float32), environment=2).shape == (1, 3, 16, 16)


def test_an_exported_decoder_has_the_one_that_it_is(learnt: tuple[VASE, list[Step]]) -> None:
    model, _ = learnt
    z = np.random.default_rng(0).standard_normal((5, model.n_latents)).astype(np.float32)
    decoder = export_programs(model)["decoder"].module()
    for s in range(3):
        with torch.no_grad():
            found = decoder(torch.from_numpy(z), torch.full((5,), s))
        np.testing.assert_allclose(found, model.decode(z, environment=s), atol=1e-5)
    page = export_decoder(model)
    assert page is not None
    assert page["seen"][2] == page["seen"][0] != page["seen"][1]
    rows = np.frombuffer(b64decode(page["environments"]["int16"]), "<i2").reshape(page["environments"]["shape"])
    assert np.array_equal(rows[2], rows[0])
    assert not np.array_equal(rows[1], rows[0])
    assert count_environments(model) == 2


def test_a_saved_learner_has_retired_it_too(learnt: tuple[VASE, list[Step]], pool: np.ndarray, tmp_path: Path) -> None:
    model = copy.deepcopy(learnt[0])
    model.save(tmp_path / "model")
    again = VASE.load(tmp_path / "model")
    assert [view.duplicate_of for view in again.environments] == [None, None, 0]
    x = next(batches(pool, 1, 6))
    assert again.partial_fit(x).loss == model.partial_fit(x).loss


def test_who_reads_of_it_is_told(learnt: tuple[VASE, list[Step]]) -> None:
    model, steps = learnt
    assert "2 environments after" in model_card(model, "mine")
    assert "| 2 (retired: it was 0) |" in model_card(model, "mine")
    assert switch_columns(returned(steps))["retired"] == 2
    assert "retired" not in switch_columns(steps[0])
    assert Trace.of(steps).assigned == (0,) * len(steps)


def test_the_next_world_is_a_new_one(learnt: tuple[VASE, list[Step]], pool: np.ndarray) -> None:
    model = copy.deepcopy(learnt[0])
    assert learn(model, map(upside_down, batches(pool, 30, 7)))[-1].environment == 3
    dreams = model.sample_dreams(200)
    assert dreams is not None
    assert set(dreams.s.tolist()) == {0, 1}


def test_a_world_of_its_own_is_not_retired(learnt: tuple[VASE, list[Step]], pool: np.ndarray) -> None:
    model = copy.deepcopy(learnt[0])
    learn(model, map(upside_down, batches(pool, 30, 7)))
    assert learn(model, batches(pool, 30, 8))[-1].environment == 0
    assert model.environments[3].duplicate_of is None


def test_a_monitor_retires_it_too(pool: np.ndarray) -> None:
    monitor = ShiftMonitor(CONFIG)
    for worlds in (batches(pool, 150, 0), map(night, batches(pool, 150, 1)), batches(pool, 20, 2)):
        learn(monitor, worlds)
    misled(monitor, monitor.detector, next(batches(pool, 1, 3)))
    returned(learn(monitor, batches(pool, 40, 4)))
    assert monitor.memory[2].duplicate_of == 0
    again = ShiftMonitor(CONFIG)
    again.load_state_dict(monitor.state_dict())
    assert again.infer_environment(next(batches(pool, 1, 5))).environment == 0
    assert learn(again, map(upside_down, batches(pool, 30, 7)))[-1].environment == 3


@pytest.mark.parametrize("light", [0.85, 0.8])
def test_a_world_that_fades_back_is_retired_too(pool: np.ndarray, light: float) -> None:
    """Its reference has followed it, and describes the known world now: later it would be taken for that."""
    monitor = ShiftMonitor(CONFIG)
    learn(monitor, batches(pool, 150, 0))
    assert learn(monitor, (light * x for x in batches(pool, 20, 1)))[-1].environment == 1
    shades = np.linspace(light, 1, 40)
    steps = learn(monitor, (shade * x for shade, x in zip(shades, batches(pool, 40, 2), strict=True)))
    steps += learn(monitor, batches(pool, 40, 3))
    assert monitor.environment == 0
    retired = [step.retired for step in steps if step.retired is not None]
    assert retired
    assert all(monitor.memory[s].duplicate_of == 0 for s in retired)
