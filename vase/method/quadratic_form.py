"""The distribution of a quadratic form of a normal vector, and the probability of a larger value."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import gammaincc, gammaln


@dataclass(frozen=True)
class Moments:
    """Mean, variance and skewness of a statistic."""

    mean: float
    variance: float
    skewness: float

    def scaled(self, factor: float, spread: float = 1.0) -> Moments:
        """The moments of `factor` times the statistic, with its variance multiplied by `spread` as well.

        What varies more than normal images do has the longer tail: the skewness grows with the spread.
        """
        return Moments(self.mean * factor, self.variance * factor**2 * spread, self.skewness * spread)

    def log_density(self, values: Float[np.ndarray, "*B"], d: int) -> Float[np.ndarray, "*B"]:
        """log p(v) of vectors of d numbers whose forms have these values, up to −½log|P⁻¹| and a constant of d.

        By the elliptical distribution whose form has a gamma distribution f with this mean and variance: its density
        depends on q = vᵀPv alone, so that it is f(q)/q^(d/2 − 1). For a normal vector that is −q/2; one with long tails
        is more probable near the mean and far away.
        """
        shape, scale = self.mean**2 / self.variance, self.variance / self.mean
        constant = d / 2 * math.log(2) + gammaln(d / 2) - shape * math.log(scale) - gammaln(shape)
        return np.asarray((shape - d / 2) * np.log(values) - values / scale + constant)

    def tail(self, value: float) -> float:
        """The probability of a value at least as large."""
        return float(self._tail(value))

    def tails(self, values: Float[np.ndarray, "*B"]) -> Float[np.ndarray, "*B"]:
        """The probability of values at least as large."""
        return np.asarray(self._tail(values))

    def _tail(self, value: float | Float[np.ndarray, "*B"]) -> np.float64 | Float[np.ndarray, "*B"]:
        """By the gamma distribution with these three moments.

        A weighted sum of squares of normal variables is close to one (Pearson's type III; Liu, Tang and Zhang 2009).
        """
        shape = 4 / self.skewness**2
        z = (value - self.mean) / math.sqrt(self.variance)
        return gammaincc(shape, np.maximum(0, shape + z * math.sqrt(shape)))


def moments_of_form(product: Float[np.ndarray, "D D"]) -> Moments:
    """The moments of vᵀPv for v ~ N(0, S), from the product PS: its eigenvalues weigh independent squares.

    Mean tr(PS), variance 2 tr((PS)²), third central moment 8 tr((PS)³).
    """
    square = product @ product
    second = float(square.trace())
    third = float((square * product.T).sum())
    return Moments(float(product.trace()), 2 * second, 8 * third / (2 * second) ** 1.5)
