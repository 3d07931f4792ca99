"""Random actions: their range, their distribution, and the generator that decides them."""

from __future__ import annotations

import numpy as np
import pytest

from vase.imagination import RandomActions, Translation, augmented
from vase.worlds.world import Batch


def dots(n: int) -> np.ndarray:
    """A white pixel in the middle of 17x17."""
    images = np.zeros((n, 1, 17, 17), np.uint8)
    images[:, 0, 8, 8] = 255
    return images


def agent(reach: float = 1.0) -> RandomActions:
    return RandomActions((1, 17, 17), Translation(reach=reach))


def test_parameters_cover_the_range_evenly() -> None:
    parameters = agent().imagine(dots(4000), rng=np.random.default_rng(0)).parameters
    assert (parameters.shape, parameters.dtype) == ((4000, 2), np.float32)
    assert parameters.min() >= -1
    assert parameters.max() <= 1
    for column in parameters.T:
        counts, _ = np.histogram(column, bins=4, range=(-1, 1))  # 1000 each, standard deviation 27
        assert abs(counts - 1000).max() < 5 * 27.4
        assert np.var(column) == pytest.approx(1 / 3, rel=0.05)
    assert abs(np.corrcoef(parameters.T)[0, 1]) < 5 / 4000**0.5


def test_images_are_moved_by_their_parameters() -> None:
    moved = agent(reach=0.8).imagine(dots(50), rng=np.random.default_rng(1))
    place = np.arange(17) - 8
    for image, (right, down) in zip(moved.images, moved.parameters, strict=True):
        assert image.sum() == pytest.approx(1, abs=1e-4)
        # 0.8 of half a canvas of 17 pixels
        assert (image[0].sum(0) * place).sum() == pytest.approx(0.8 * 8.5 * right, abs=1e-3)
        assert (image[0].sum(1) * place).sum() == pytest.approx(0.8 * 8.5 * down, abs=1e-3)


def test_the_generator_decides_everything() -> None:
    one = agent()
    first, second = (one.imagine(dots(5), rng=np.random.default_rng(7)) for _ in range(2))
    other = one.imagine(dots(5), rng=np.random.default_rng(8))
    assert np.array_equal(first.images, second.images)
    assert np.array_equal(first.parameters, second.parameters)
    assert not np.array_equal(first.parameters, other.parameters)
    assert np.array_equal(first.parameters, np.random.default_rng(7).uniform(-1, 1, (5, 2)).astype(np.float32))


def test_batches_are_augmented_as_by_an_explorer() -> None:
    batch = Batch(dots(8), {"label": 10 + np.arange(8), "x": np.linspace(0, 1, 8)})
    mixed = augmented(batch, agent(), 0.25, rng=np.random.default_rng(0))
    assert (mixed.images.dtype, mixed.images.shape) == (np.uint8, (10, 1, 17, 17))
    assert np.array_equal(mixed.images[:8], batch.images)
    assert np.isnan(mixed.factors["x"]).tolist() == [False] * 8 + [True] * 2
    assert set(mixed.factors["label"][8:]) < set(range(10, 18))
    assert not any(np.array_equal(image, batch.images[0]) for image in mixed.images[8:])


def test_an_action_is_required() -> None:
    with pytest.raises(TypeError, match=r"pass an instance, Translation\(\)"):
        RandomActions((1, 17, 17), Translation)  # type: ignore[arg-type]
