"""Moments of quadratic forms by hand, and their tails against the chi-square table and against draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from vase.method.quadratic_form import Moments, moments_of_form


def chi_square(d: int) -> Moments:
    return moments_of_form(np.eye(d))


def diagonal(*weights: float) -> Moments:
    return moments_of_form(np.diag(weights))


class TestMoments:
    @pytest.mark.parametrize("d", [1, 10, 96])
    def test_of_a_chi_square(self, d: int) -> None:
        found = chi_square(d)
        assert found.mean == pytest.approx(d)
        assert found.variance == pytest.approx(2 * d)
        assert found.skewness == pytest.approx(math.sqrt(8 / d))

    def test_of_two_weights(self) -> None:
        # 2z₁² + z₂²: mean 3, variance 2·(4 + 1) = 10, third moment 8·(8 + 1) = 72.
        found = diagonal(2.0, 1.0)
        assert (found.mean, found.variance) == (pytest.approx(3.0), pytest.approx(10.0))
        assert found.skewness == pytest.approx(72 / 10**1.5)

    def test_of_a_product_that_is_not_symmetric(self) -> None:
        # P = (2 1; 1 2), S = diag(1, 3): PS = (2 3; 1 6), (PS)² = (7 24; 8 39), tr (PS)³ = 38 + 258 = 296.
        p, s = np.array([[2.0, 1.0], [1.0, 2.0]]), np.diag([1.0, 3.0])
        found = moments_of_form(p @ s)
        assert (found.mean, found.variance) == (pytest.approx(8.0), pytest.approx(2 * 46.0))
        assert found.skewness == pytest.approx(8 * 296 / 92**1.5)

    def test_scaled(self) -> None:
        # 3X: mean ×3, variance ×9, the shape stays. With spread 2 the variance and the skewness double as well.
        found = Moments(10.0, 20.0, 0.9)
        assert found.scaled(3.0) == Moments(30.0, 180.0, 0.9)
        assert found.scaled(3.0, 2.0) == Moments(30.0, 360.0, 1.8)

    def test_scaling_a_statistic_scales_its_quantiles(self) -> None:
        assert chi_square(10).scaled(7.0).tail(7 * 29.588) == pytest.approx(chi_square(10).tail(29.588))


class TestTails:
    @pytest.mark.parametrize(
        ("d", "value", "tail"),
        [
            (1, 2.705543, 0.1),
            (1, 10.827566, 1e-3),
            (10, 15.987179, 0.1),
            (10, 29.588298, 1e-3),
            (10, 46.863047, 1e-6),
            (100, 99.334129, 0.5),
            (100, 149.449253, 1e-3),
            (100, 182.126777, 1e-6),
        ],
    )
    def test_the_table_of_chi_square(self, d: int, value: float, tail: float) -> None:
        assert chi_square(d).tail(value) == pytest.approx(tail, rel=1e-5)

    @pytest.mark.parametrize("share", [0.1, 0.01, 0.001])
    def test_a_sum_of_two_weights_as_drawn(self, share: float) -> None:
        drawn = np.random.default_rng(0).standard_normal((1_000_000, 2)) ** 2 @ np.array([3.0, 1.0])
        value = float(np.quantile(drawn, 1 - share))
        assert diagonal(3.0, 1.0).tail(value) == pytest.approx(share, rel=0.15)

    def test_nothing_is_below_the_smallest_value(self) -> None:
        assert chi_square(10).tail(0.0) == 1.0
        assert chi_square(10).tail(-5.0) == 1.0

    def test_of_many_values_at_once(self) -> None:
        values = np.array([2.0, 15.987179, 29.588298])
        found = chi_square(10).tails(values)
        assert found.tolist() == [pytest.approx(chi_square(10).tail(float(v))) for v in values]
        assert float(found[0]) > 0.99

    def test_what_is_impossible_has_probability_zero_and_no_warning(self) -> None:
        assert chi_square(10).tail(1e6) == 0.0

    def test_more_spread_has_the_longer_tail(self) -> None:
        calm, wild = chi_square(10), chi_square(10).scaled(1.0, 2.0)
        assert wild.tail(29.588) > 10 * calm.tail(29.588)


def test_the_density_of_a_normal_vector() -> None:
    # vᵀv of three standard normals: mean 3, variance 6; log N = −½q up to a constant of d.
    found = Moments(3.0, 6.0, 1.0).log_density(np.array([0.5, 3.0, 20.0]), 3)
    assert found.tolist() == pytest.approx([-0.25, -1.5, -10.0])


def test_the_density_of_an_elliptical_vector() -> None:
    # In two dimensions q = |v|² with mean 2 and variance 8: gamma with shape ½ and scale 4, f(q) = e^(−q/4)/√(4πq). The
    # density of v is f(q)/π, that of a standard normal e^(−q/2)/(2π): the constant leaves −log(1/(2π)) out.
    q = np.array([0.1, 1.0, 10.0])
    density = np.exp(-q / 4) / np.sqrt(4 * np.pi * q) / np.pi
    found = Moments(2.0, 8.0, 1.0).log_density(q, 2)
    assert found.tolist() == pytest.approx((np.log(density) + np.log(2 * np.pi)).tolist())
    normal = Moments(2.0, 4.0, 1.0).log_density(q, 2)
    assert (found > normal).tolist() == [True, False, True]  # long tails: near the mean, and far away
