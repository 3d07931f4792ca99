"""Arguments that people pass by mistake: refused with a sentence, never taken for something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vase import VASE, VASEConfig
from vase.imagination import Explorer, Translation
from vase.worlds import Schedule

CONFIG = VASEConfig.smoke((1, 16, 16)).with_values({"network.latents": 4, "network.hidden": 16})
IMAGES = np.random.default_rng(0).random((4, 16, 16))


@pytest.fixture(scope="module")
def model() -> VASE:
    return VASE(CONFIG, device="cpu").fit(iter([IMAGES, IMAGES]))


@pytest.mark.parametrize("latents", [[True, False, True, False], np.array([True, False, True, False])])
def test_a_mask_is_not_a_list_of_latents(model: VASE, latents: Any) -> None:
    with pytest.raises(TypeError, match=r"latents: a mask of booleans; pass indices instead, e.g. numpy.flatnonzero"):
        model.traverse(IMAGES[:1], latents=latents)


@pytest.mark.parametrize("wrong", [1.5, "1", np.float32(1), True, np.True_])
def test_only_whole_numbers_are_indices(model: VASE, wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"latent .*: must be a whole number from 0 to 3"):
        model.traverse(IMAGES[:1], latents=[0, wrong])
    for ask in (model.reconstruct, model.decode):
        argument = IMAGES[:1] if ask == model.reconstruct else np.zeros((1, 4))
        with pytest.raises(TypeError, match=r"environment .*: must be a whole number from 0 to 0"):
            ask(argument, environment=wrong)
    with pytest.raises(TypeError, match="environment"):
        model.dream(1, environment=wrong)


def test_numpy_integers_are_indices(model: VASE) -> None:
    found = model.traverse(IMAGES[:1], latents=np.array([1, 3]), points=np.int64(3), environment=np.uint8(0))
    assert found.shape == (1, 2, 3, 1, 16, 16)


def test_indices_out_of_range(model: VASE) -> None:
    with pytest.raises(ValueError, match="latent 4: the learner has latents 0 to 3"):
        model.traverse(IMAGES[:1], latents=[4])
    with pytest.raises(ValueError, match="environment -1: the learner has environments 0 to 0"):
        model.dream(1, environment=-1)


@pytest.mark.parametrize("span", [float("nan"), float("inf"), "2", None, True])
def test_a_span_is_a_finite_number(model: VASE, span: Any) -> None:
    with pytest.raises(ValueError, match=r"span=.*: must be a finite number, e.g. 2.0"):
        model.traverse(IMAGES[:1], span=span)


@pytest.mark.parametrize(("name", "value"), [("points", 0), ("points", 2.5)])
def test_counts(model: VASE, name: str, value: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=name):
        model.traverse(IMAGES[:1], **{name: value})
    for n in (0, 1.5, True):
        with pytest.raises((ValueError, TypeError), match="n = "):
            model.dream(n)


@pytest.mark.parametrize("seed", [2**63, 10**30, None, 1.5, "0", True])
def test_seeds_that_are_none(model: VASE, seed: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="seed = "):
        VASE(CONFIG, seed=seed, device="cpu").partial_fit(IMAGES)
    with pytest.raises((ValueError, TypeError), match="seed = "):
        Explorer(model, Translation.across(sprite=8, canvas=16), seed=seed)
    if seed is not None:
        with pytest.raises((ValueError, TypeError), match="seed = "):
            model.dream(1, seed=seed)
    if not isinstance(seed, int) or seed is True:
        with pytest.raises((ValueError, TypeError), match="seed = "):
            Schedule.parse("digits*2", seed=seed)


def test_a_numpy_seed_is_saved_as_a_number(tmp_path: Path) -> None:
    ours, theirs = (VASE(CONFIG, seed=seed, device="cpu").fit(iter([IMAGES])) for seed in (np.int64(7), 7))
    ours.save(tmp_path / "model")
    assert VASE.load(tmp_path / "model").seed == 7
    np.testing.assert_array_equal(ours.transform(IMAGES), theirs.transform(IMAGES))
