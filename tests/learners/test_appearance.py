"""Statistics of images and the comparison of two batches, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from vase.learners.appearance import FINE_IMAGES, appearance, cell_edges, difference


def test_brightness_and_contrast_by_hand() -> None:
    """Half the pixels 0.2, half 0.6: mean 0.4, standard deviation 0.2."""
    image = np.full((1, 1, 8, 8), 0.2, np.float32)
    image[..., 4:] = 0.6
    found = appearance(image)
    assert found.brightness == pytest.approx([0.4])
    assert found.contrast == pytest.approx([0.2])
    assert found.relative_contrast == pytest.approx([0.5])
    assert found.noise == pytest.approx([0.0], abs=1e-6)  # the filter does not see straight edges
    assert found.colour is None


def test_sharpness_by_hand() -> None:
    """A vertical step of height h: its blur is h/4 off on either side, so that 2 of 6 inner columns have (h/4)²."""
    image = np.zeros((1, 1, 8, 8), np.float32)
    image[..., 4:] = 0.8
    assert appearance(image).sharpness == pytest.approx([(2 / 6) * 0.2**2 / 0.4**2])


def test_colour_by_hand() -> None:
    """Channels 0.6, 0.3, 0.3: grey 0.4, red half above it, the others a quarter below; balanced, there is no colour."""
    image = np.empty((1, 3, 8, 8), np.float32)
    image[:] = np.array([0.6, 0.3, 0.3])[:, None, None]
    colour = appearance(image).colour
    assert colour is not None
    np.testing.assert_allclose(colour.tint, [[0.5, -0.25, -0.25]], atol=1e-6)
    assert colour.saturation == pytest.approx([0], abs=1e-6)


def test_saturation_by_hand() -> None:
    """Left red, right green and blue, each 0.6 where it is: balanced to 0.4 each, the spread is that of the picture."""
    image = np.zeros((1, 3, 8, 8), np.float32)
    image[:, 0, :, :4] = image[:, 1:, :, 4:] = 0.6
    colour = appearance(image).colour
    assert colour is not None
    np.testing.assert_allclose(colour.tint, 0, atol=1e-6)  # every channel has mean 0.3
    assert colour.saturation == pytest.approx([0.6 / 0.3])


def test_noise_is_its_standard_deviation() -> None:
    rng = np.random.default_rng(0)
    images = 0.5 + rng.normal(0, 0.05, (20, 3, 32, 32)).astype(np.float32)
    assert appearance(images).noise.mean() == pytest.approx(0.05, rel=0.02)
    assert appearance(images).sharpness.mean() < 0.05  # what is left of the noise's own energy


def test_regions_by_hand() -> None:
    """Only the bottom right ninth is bright."""
    image = np.zeros((1, 1, 12, 12), np.float32)
    image[..., 8:, 8:] = 0.9
    regions = appearance(image).regions
    assert regions is not None
    np.testing.assert_allclose(regions.brightness[0], [[0, 0, 0], [0, 0, 0], [0, 0, 0.9]], atol=1e-6)
    mean, std = 0.1, 0.9 * np.sqrt(1 / 9 * 8 / 9)
    np.testing.assert_allclose(regions.relative_brightness[0, 2, 2], (0.9 - mean) / std, rtol=1e-5)
    assert cell_edges(32).tolist() == [0, 11, 21, 32]


@pytest.mark.parametrize("shape", [(2, 1, 1, 1), (2, 3, 2, 5), (1, 2, 7, 9), (2, 4, 16, 16)])
def test_any_shape_can_be_measured(shape: tuple[int, ...]) -> None:
    found = appearance(np.full(shape, 0.5, np.float32))
    assert found.sharpness.tolist() == found.noise.tolist() == [0.0] * shape[0]
    assert (found.regions is None) == (min(shape[2:]) < 8)
    assert (found.colour is None) == (shape[1] != 3)


def test_fine_structure_is_measured_on_some_images_of_a_large_batch() -> None:
    found = appearance(np.zeros((100, 1, 8, 8), np.float32))
    assert (len(found.brightness), len(found.noise)) == (100, FINE_IMAGES)


def test_difference_by_hand() -> None:
    """Means 2 and 5, variances 1 and 1, three each: t = 3/√(2/3) = 3.674 with 4 degrees of freedom, p = 0.0213.

    The normal score of that p is 2.30; Wallace: 33/35 · √(4 log(1 + 13.5/4)) = 2.2913.
    """
    found = difference(np.array([1.0, 2, 3]), np.array([4.0, 5, 6]))
    assert (found.before, found.after, found.change, found.relative) == (2, 5, 3, 1.5)
    assert float(found.score) == pytest.approx(33 / 35 * np.sqrt(4 * np.log(1 + 13.5 / 4)))
    assert float(found.score) == pytest.approx(2.30, abs=0.02)


def test_difference_without_variance() -> None:
    flat = np.full(5, 0.5)
    assert float(difference(flat, flat).score) == 0
    assert float(difference(flat, flat + 0.1).score) == np.inf


def test_difference_of_single_images() -> None:
    batch = np.array([0.0, 1, 2, 3])
    assert float(difference(batch[:1], batch[3:]).score) == 0
    one, other = difference(batch, np.array([10.0])), difference(np.array([10.0]), batch)
    assert float(one.score) == float(other.score) > 1


@pytest.mark.parametrize(("one", "other"), [(2, 2), (3, 3), (4, 64), (64, 64)])
def test_scores_are_standard_normal_when_nothing_changed(one: int, other: int) -> None:
    rng = np.random.default_rng(0)
    score = difference(rng.normal(size=(one, 20_000)), rng.normal(size=(other, 20_000))).score
    assert (score > 1.96).mean() < 0.055
    assert (score > 3.5).mean() < 0.002
