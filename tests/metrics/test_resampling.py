"""Standard errors from resampling, by hand and against fresh samples."""

from __future__ import annotations

import math

import numpy as np
import pytest

from vase.metrics.resampling import bootstrap_error, mean_error


def test_error_of_a_mean_by_hand() -> None:
    # Mean 3/4, variance 3/16, four images.
    assert mean_error(np.array([0, 1, 1, 1])) == pytest.approx(math.sqrt(3 / 16) / 2)
    assert mean_error(np.full(10, 0.25)) == 0


def test_the_bootstrap_of_a_mean_is_its_closed_form() -> None:
    values = np.random.default_rng(0).random(300)
    rng = np.random.default_rng(1)
    found = bootstrap_error(lambda times: float(times @ values / 300), 300, rng=rng, rounds=2_000)
    assert found == pytest.approx(mean_error(values), rel=0.06)


def test_every_resample_has_as_many_images() -> None:
    sizes = []
    error = bootstrap_error(lambda times: sizes.append((len(times), int(times.sum()))), 7, rng=np.random.default_rng(0))
    assert sizes == [(7, 7)] * 50
    assert error is None
