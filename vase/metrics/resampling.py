"""Standard errors from resampling: how much a number would differ on another sample of as many images."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

ROUNDS = 50


def mean_error(values: Float[np.ndarray, " B"]) -> float:
    """Standard error of a mean under resampling with replacement, exactly: √(Σ(v − v̄)²/B) / √B.

    This is the limit of `bootstrap_error` of the mean for many rounds. Average several values of one image first.
    """
    values = np.asarray(values, np.float64)
    return float(values.std() / np.sqrt(len(values)))


def bootstrap_error(
    statistic: Callable[[Int[np.ndarray, " B"]], float | None],
    count: int,
    *,
    rng: np.random.Generator,
    rounds: int = ROUNDS,
) -> float | None:
    """Standard deviation of a statistic over resamples of the images, None where it is undefined.

    `statistic` gets how often each of the `count` images was drawn: multiplicities that sum to `count`.
    """
    drawn = (np.bincount(rng.integers(count, size=count), minlength=count) for _ in range(rounds))
    found = [statistic(times) for times in drawn]
    values = [value for value in found if value is not None]
    return float(np.std(values, ddof=1)) if len(values) > 1 else None
