"""Changes of images, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from vase.worlds import changes, from_array
from vase.worlds.changes import CHANGES, ChangedWorld, find_change


def image(rows: list[list[float]]) -> np.ndarray:
    """One grey image."""
    return np.array(rows, np.float32)[None, None]


CORNERS = image([[0.0, 0.2], [0.4, 1.0]])


@pytest.mark.parametrize(
    ("name", "strength", "expected"),
    [
        ("dim", 0.3, [[0, 0.14], [0.28, 0.7]]),
        ("dim", 0.65, [[0, 0.07], [0.14, 0.35]]),  # night
        ("contrast", 0.5, [[0.25, 0.35], [0.45, 0.75]]),
        ("fog", 0.5, [[0.4, 0.5], [0.6, 0.9]]),
        ("inverse", 1, [[1, 0.8], [0.6, 0]]),
        ("inverse", 0.25, [[0.25, 0.35], [0.45, 0.75]]),
        ("mirrored", 1, [[0.2, 0], [1, 0.4]]),
        ("upside-down", 1, [[0.4, 1], [0, 0.2]]),
        ("rotate", 1, [[0.2, 1], [0, 0.4]]),
        ("shift", 1, [[0, 0], [0.4, 0.4]]),
    ],
)
def test_two_by_two_pixels(name: str, strength: float, expected: list[list[float]]) -> None:
    np.testing.assert_allclose(CHANGES[name](CORNERS, strength)[0, 0], expected, atol=1e-6)


def test_blur_spreads_a_point_as_a_gaussian() -> None:
    point = np.zeros((1, 1, 9, 9), np.float32)
    point[0, 0, 4, 4] = 1
    found = CHANGES["blur"](point, 1.0)[0, 0]
    taps = np.exp(-0.5 * np.arange(-3, 4) ** 2)
    taps /= taps.sum()
    np.testing.assert_allclose(found[1:8, 1:8], np.outer(taps, taps), atol=1e-6)
    assert found.sum() == pytest.approx(1)


def test_blur_leaves_a_constant_image() -> None:
    np.testing.assert_allclose(CHANGES["blur"](np.full((1, 3, 8, 8), 0.3, np.float32), 1.5), 0.3, atol=1e-6)


def test_noise_has_its_standard_deviation_and_its_seed() -> None:
    half = np.full((8, 1, 32, 32), 0.5, np.float32)
    noise = CHANGES["noise"]
    found = noise(half, 0.1, np.random.default_rng(0))
    assert found.std() == pytest.approx(0.1, rel=0.03)  # 8,192 values: one standard error is 0.8 %
    assert found.mean() == pytest.approx(0.5, abs=0.005)
    np.testing.assert_array_equal(found, noise(half, 0.1, np.random.default_rng(0)))
    assert noise(half, 2.0, np.random.default_rng(0)).max() == 1
    with pytest.raises(ValueError, match="noise: is random; pass rng"):
        noise(half, 0.1)


def test_dirt_covers_the_same_spots_of_every_image() -> None:
    images = np.stack([np.zeros((1, 32, 32)), np.ones((1, 32, 32))]).astype(np.float32)
    black, white = CHANGES["dirt"](images, 1.0)[:, 0]
    assert set(np.unique(black)) == {0, np.float32(0.25)}
    np.testing.assert_array_equal(black > 0, white < 1)
    assert black[6, 9] == 0.25  # the middle of the first spot, (0.2, 0.3) of 32 pixels
    assert black[0, 0] == 0
    area = sum(np.pi * radius**2 for _, _, radius in changes.SPOTS)
    assert (black > 0).mean() == pytest.approx(area, rel=0.1)
    assert CHANGES["dirt"](images, 0.4)[1, 0, 6, 9] == pytest.approx(0.6 * 1 + 0.4 * 0.25)


def test_pixelate_takes_the_mean_of_each_block() -> None:
    ramp = np.tile(np.arange(8, dtype=np.float32) / 8, (1, 1, 4, 1))
    np.testing.assert_allclose(CHANGES["pixelate"](ramp, 1)[0, 0, 0], [1.5 / 8] * 4 + [5.5 / 8] * 4)
    assert CHANGES["pixelate"](ramp, 0.5)[0, 0, 0, 0] == pytest.approx(0.75 / 8)
    with pytest.raises(ValueError, match="6×8: pixelate needs sides divisible by 4"):
        CHANGES["pixelate"](np.zeros((1, 1, 6, 8), np.float32), 1)


def test_colour() -> None:
    red = np.zeros((1, 3, 1, 1), np.float32)
    red[0, 0] = 1
    np.testing.assert_allclose(CHANGES["grey"](red, 1).ravel(), [0.299] * 3)
    np.testing.assert_allclose(CHANGES["grey"](red, 0.5).ravel(), [0.6495, 0.1495, 0.1495])
    white = np.ones((1, 3, 1, 1), np.float32)
    np.testing.assert_allclose(CHANGES["white-balance"](white, 0.5).ravel(), [1, 0.75, 0.5])


def test_changes_of_colour_refuse_grey_images() -> None:
    assert [name for name, change in CHANGES.items() if change.colour] == ["grey", "white-balance"]
    with pytest.raises(ValueError, match="grey: needs images with 3 channels, not 1"):
        CHANGES["grey"](CORNERS, 1)


def test_zoom_enlarges_about_the_middle() -> None:
    ramp = np.tile(np.arange(5, dtype=np.float32) / 5, (1, 1, 5, 1))
    np.testing.assert_allclose(CHANGES["zoom"](ramp, 1)[0, 0, 0], np.array([1, 1.5, 2, 2.5, 3]) / 5, rtol=1e-6)


def test_squeeze_narrows_about_the_middle_and_keeps_the_height() -> None:
    ramp = np.tile(np.arange(5, dtype=np.float32) / 5, (1, 1, 5, 1))
    np.testing.assert_allclose(CHANGES["squeeze"](ramp, 1)[0, 0, 0], np.array([0, 0, 2, 4, 4]) / 5, rtol=1e-6)
    column = ramp.transpose(0, 1, 3, 2)
    np.testing.assert_allclose(CHANGES["squeeze"](column, 1), column, rtol=1e-6)


@pytest.mark.parametrize("name", CHANGES)
def test_every_change_keeps_shape_and_range_and_its_input(name: str) -> None:
    change = CHANGES[name]
    images = np.random.default_rng(0).random((3, 3, 16, 16), np.float32)
    before = images.copy()
    for strength in change.strengths:
        changed = change(images, strength, np.random.default_rng(1))
        assert changed.shape == images.shape
        assert changed.dtype == np.float32
        assert 0 <= changed.min() <= changed.max() <= 1 + 1e-6
        assert np.abs(changed - images).max() > 0.05
    np.testing.assert_array_equal(images, before)
    np.testing.assert_allclose(change(images, 0, np.random.default_rng(1)), images, atol=1e-6)
    with pytest.raises(ValueError, match="strength = -1: must not be negative"):
        change(images, -1, np.random.default_rng(1))


def test_an_unknown_change_is_named() -> None:
    with pytest.raises(ValueError, match="change 'blurr' is unknown; did you mean 'blur'"):
        find_change("blurr")


def test_a_changed_world_draws_the_same_images_and_changes_them() -> None:
    world = from_array(np.arange(256, dtype=np.uint8).reshape(4, 1, 8, 8), name="ramp")
    night = ChangedWorld(world, "dim", 0.5)
    assert night.name == "ramp+dim:0.5"
    assert night.image_shape == (1, 8, 8)
    plain, dark = (w.sample(5, np.random.default_rng(3)).images for w in (world, night))
    np.testing.assert_array_equal(dark, np.rint(plain / 2))
