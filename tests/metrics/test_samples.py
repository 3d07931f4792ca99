"""Sample quality, on cases that can be worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from vase.metrics.samples import frechet, picture_features, sample_quality


def with_covariance(covariance: list[list[float]], mean: list[float]) -> np.ndarray:
    """Four points of the plane with exactly this covariance (divided by 4 - 1) and this mean."""
    half = math.sqrt(1.5) * np.linalg.cholesky(np.array(covariance)).T
    return np.concatenate([half, -half]) + np.array(mean)


def test_frechet_distance_of_known_gaussians() -> None:
    # One dimension: variances 2 and 8, means 0 and 3: 9 + (√8 - √2)² = 11.
    assert frechet(np.array([[-1.0], [1.0]]), np.array([[1.0], [5.0]])) == pytest.approx(11)
    # Two that do not commute: CC' = [[8, 4], [1, 2]] has trace 10 and determinant 12, so tr √ = √(10 + 2√12).
    a, b = with_covariance([[4, 0], [0, 1]], [1, 2]), with_covariance([[2, 1], [1, 2]], [1, -1])
    expected = 9 + 5 + 4 - 2 * math.sqrt(10 + 2 * math.sqrt(12))
    assert frechet(a, b) == pytest.approx(expected) == frechet(b, a)
    assert frechet(a, a) == pytest.approx(0, abs=1e-12)
    # A point against a Gaussian: the singular covariance leaves the trace of the other.
    assert frechet(np.tile([1.0, 2.0], (3, 1)), a) == pytest.approx(5)


def bars(n: int, seed: int, width: int = 2) -> np.ndarray:
    """(n, 1, 8, 8) images of an upright bar at any place and of any grey."""
    rng = np.random.default_rng(seed)
    images = np.zeros((n, 1, 8, 8), np.uint8)
    for image, place, grey in zip(images, rng.integers(9 - width, size=n), rng.integers(100, 256, size=n), strict=True):
        image[0, :, place : place + width] = grey
    return images


def test_samples_of_the_same_world_reach_the_floor_and_others_do_not() -> None:
    real = bars(800, 0)
    same, wide = sample_quality(real, bars(500, 1)), sample_quality(real, bars(500, 1, width=3))
    assert same["images"] == 400
    assert same["floor"] == wide["floor"]
    assert same["distance"] < 4 * same["floor"]
    assert wide["distance"] > 20 * wide["floor"]
    blank = sample_quality(real, np.zeros((500, 1, 8, 8), np.float32))
    assert blank["distance"] > 20 * blank["floor"]


def test_floor_and_distance_use_as_many_images() -> None:
    few = sample_quality(bars(800, 0), bars(20, 1))
    assert few["images"] == 20
    assert few["floor"] > 2 * sample_quality(bars(800, 0), bars(400, 1))["floor"]


def test_features_are_principal_components_of_bytes_or_floats() -> None:
    real = bars(100, 0)
    features = picture_features(real)
    assert features(real) == pytest.approx(picture_features(real / 255)(real / 255))
    assert features(real).shape == (100, 50)
    assert picture_features(real[:10])(real).shape == (100, 9)
    # All rows of a bar are alike, so the images span 8 dimensions, and 50 components lose nothing.
    distance = np.linalg.norm((real[0] / 255 - real[1] / 255).ravel())
    assert np.linalg.norm(features(real)[0] - features(real)[1]) == pytest.approx(distance)


def test_bad_images_and_features_are_refused_with_the_remedy() -> None:
    with pytest.raises(ValueError, match=r"0 to 251.*divide by 255"):
        picture_features(bars(10, 0).astype(float))
    with pytest.raises(ValueError, match="pass at least two"):
        picture_features(bars(1, 0))
    with pytest.raises(ValueError, match=r"16 values.*64: bring them to one shape"):
        picture_features(bars(10, 0))(np.zeros((2, 4, 4)))
    with pytest.raises(ValueError, match="at least two finite vectors"):
        frechet(np.zeros((1, 2)), np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"2 and of 3 features.*same picture_features"):
        frechet(np.zeros((4, 2)), np.zeros((4, 3)))
