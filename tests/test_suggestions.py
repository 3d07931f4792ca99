"""Suggestions by hand: the rate of Gaussian sources, and what is said of drawings and photographs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from photographs import photographs

from vase import VASEConfig
from vase.suggestions import code_size, suggest
from vase.worlds import from_array, make_world


def test_the_rate_of_two_directions_by_hand() -> None:
    # Variances 4 and 1. To keep 80 %, noise 0.5 in both: ½ log(4/0.5) + ½ log(1/0.5). To keep 40 %, noise 2 in one.
    points = np.array([[2, 1], [2, -1], [-2, 1], [-2, -1]], float).reshape(4, 1, 1, 2)
    assert code_size(points, 0.8) == (pytest.approx(0.5 * math.log(8) + 0.5 * math.log(2)), 2)
    assert code_size(points, 0.4) == (pytest.approx(0.5 * math.log(2)), 1)
    assert code_size(np.zeros((5, 1, 4, 4)), 0.9) == (0.0, 0)


def test_drawings() -> None:
    world, said = make_world("digits:28", canvas=32), []
    config = VASEConfig.for_data(world, stage_steps=500, report=said.append)
    assert config.image_shape == (1, 32, 32)
    assert config.network.likelihood == "bernoulli"
    assert 20 < config.capacity.c_max < 60
    assert 16 <= config.network.latents <= 32
    assert config.capacity.ramp_steps == 125
    assert [line.split(" = ")[0] for line in said] == [
        "image_shape",
        "network.likelihood",
        "capacity.c_max",
        "network.latents",
        "environments.inference",
    ]
    assert f"capacity.c_max = {config.capacity.c_max:.0f}: a linear code of 95 % of their variance takes" in said[2]


def test_photographs_are_gaussian_and_shrunk(capsys: pytest.CaptureFixture[str]) -> None:
    small = photographs(40, np.random.default_rng(0), side=32)
    large = np.repeat(np.repeat((255 * small).astype(np.uint8), 4, 2), 5, 3)  # 128×160
    config = VASEConfig.for_data(np.moveaxis(large, 1, 3))
    assert config.image_shape == (3, 51, 64)
    assert config.network.likelihood == "gaussian"
    said = capsys.readouterr().out
    assert "image_shape = 3×51×64: 128×160 would cost 6 times as much" in said
    assert "Only 40 images were seen" in said


def test_every_world_of_a_list_counts() -> None:
    """Black and white images alone are drawings; with as many of a grey world, half of the values are extreme."""
    drawings = from_array(np.where(np.arange(64).reshape(8, 8) % 2, 255, 0).astype(np.uint8)[None].repeat(300, 0))
    shades = from_array(np.full((300, 8, 8), 128, np.uint8))
    assert suggest(drawings).values["network.likelihood"] == "bernoulli"
    found = suggest([drawings, shades])
    assert found.values["network.likelihood"] == "gaussian"
    assert found.reasons[1].startswith("network.likelihood = gaussian: 50 % of the values")
    with pytest.raises(ValueError, match="one learner needs one shape"):
        suggest([drawings, from_array(np.zeros((9, 8, 9), np.uint8))])


def test_a_code_need_not_tell_worlds_apart() -> None:
    """Noise in the dark and in the light: pooled, nearly all variance lies between the two worlds, in one direction."""
    noise = np.random.default_rng(0).integers(0, 20, (2, 200, 8, 8), dtype=np.uint8)
    dark, light = from_array(noise[0]), from_array(noise[1] + 230)
    pooled, listed = suggest(np.concatenate([noise[0], noise[1] + 230])), suggest([dark, light])
    assert "has 1 direction (" in pooled.reasons[3]
    alone = [suggest(world).values for world in (dark, light)]
    for name in ("network.latents", "capacity.c_max"):
        assert listed.values[name] == max(values[name] for values in alone) > pooled.values[name]


def test_a_small_world_counts_its_images_once() -> None:
    world = from_array(np.random.default_rng(0).integers(0, 256, (40, 8, 8), dtype=np.uint8))
    assert suggest(world).reasons[-1].startswith("Only 40 images were seen")


def test_a_size_that_is_settled_is_left_alone() -> None:
    images = np.random.default_rng(0).integers(0, 256, (30, 80, 80), dtype=np.uint8)
    assert suggest(images).values["image_shape"] == (1, 64, 64)
    assert "image_shape" not in suggest(images, resize=False).values


def test_layouts_agree() -> None:
    images = np.random.default_rng(0).integers(0, 256, (30, 3, 8, 12), dtype=np.uint8)
    first = suggest(images)
    assert suggest(np.moveaxis(images, 1, 3)) == first
    assert suggest(images / 255).values == first.values
    assert suggest(from_array(images)).values["image_shape"] == (3, 8, 12)


@pytest.mark.parametrize(
    ("images", "words"),
    [
        (np.zeros((3, 9, 9, 9), np.uint8), r"images of shape \(3, 9, 9, 9\)"),
        (np.zeros((0, 8, 8), np.uint8), r"images of shape \(0, 1, 8, 8\)"),
        (np.zeros((4, 8, 8), np.int64), "dtype int64"),
        (np.full((4, 8, 8), 3.0), "values from 3 to 3: must lie in"),
    ],
)
def test_bad_images_are_refused(images: np.ndarray, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        VASEConfig.for_data(images, report=None)
