"""Homology scores of made-up latents."""

import json
import math

import numpy as np
import pytest

from vase.metrics.homology import (
    REGRESSORS,
    Codes,
    Homology,
    WorldCodes,
    columns_of,
    correlation,
    homologies,
    r_squared,
    with_headings,
)


def column(*values):
    return np.array(values, float)[:, None]


def codes(count, seed, sign=1.0, shift=0.0, informative=True, latent=0):
    """Four latents, one of which is the factor u in [0, 1] brought to [-√3, √3], with a little noise."""
    rng = np.random.default_rng(seed)
    u = rng.uniform(size=count)
    z = rng.standard_normal((count, 4))
    if informative:
        z[:, latent] = sign * (2 * u - 1) * math.sqrt(3) + shift + 0.1 * rng.standard_normal(count)
    return Codes(z, {"u": u})


def world(seed, **how):
    return WorldCodes(codes(800, seed, **how), codes(400, seed + 1, **how))


# ------------------------------------------------------------------------------------------------ the score


class TestNumbers:
    def test_r_squared_by_hand(self):
        truth = column(0, 1, 2, 3)
        assert r_squared(truth, truth) == 1
        assert r_squared(truth, column(1.5, 1.5, 1.5, 1.5)) == 0
        assert r_squared(truth, column(3, 2, 1, 0)) == -3  # 1 − 20 / 5
        both = np.hstack([truth, column(0, 0, 2, 2)])
        assert r_squared(both, np.hstack([truth, column(1, 1, 1, 1)])) == pytest.approx(1 - 4 / (5 + 4))

    def test_correlation_ignores_zero_and_scale_but_not_sign(self):
        truth = column(0, 1, 2, 3)
        assert correlation(truth, 5 + 0.1 * truth) == pytest.approx(1)
        assert correlation(truth, -truth) == pytest.approx(-1)
        assert correlation(truth, column(2, 2, 2, 2)) == 0

    def test_a_score_is_a_share_of_what_can_be_read_in_the_world_that_is_read(self):
        found = Homology(within=(0.8, 0.4), across=(0.2, 0.6), correlation=(0.5, 0.9))
        assert found.directions == pytest.approx((0.2 / 0.4, 0.6 / 0.8))
        assert found.score == pytest.approx(0.625)
        found = Homology(within=(0.5, 0.5), across=(-40.0, 0.6), correlation=(0, 0))
        assert (found.directions, found.score) == ((0, 1), 0.5)

    def test_no_score_of_what_cannot_be_read(self):
        found = Homology(within=(0.9, 0.09), across=(0.05, 0.0), correlation=(0.1, 0.1))
        assert (found.directions, found.score) == (None, None)
        assert found.to_dict()["score"] is None
        assert json.dumps(found.to_dict())

    def test_headings_by_hand(self):
        headings = np.array([0, math.pi / 8, math.pi / 4, 3 * math.pi / 8, math.pi / 2, math.pi + math.pi / 8])
        found = with_headings({"heading_sin": (1 + np.sin(headings)) / 2, "heading_cos": (1 + np.cos(headings)) / 2})
        np.testing.assert_allclose(found["heading_slant"], [0.5, 1, 0.5, 0, 0.5, 1], atol=1e-9)
        np.testing.assert_allclose(found["heading_corner"], [0, 0.5, 1, 0.5, 0, 0.5], atol=1e-9)
        assert list(with_headings({"x": headings})) == ["x"]

    def test_classes_are_asked_one_by_one(self):
        assert columns_of(np.array([2, 0]), 3).tolist() == [[0, 0, 1], [1, 0, 0]]
        assert columns_of(np.array([1, 0]), 2).tolist() == [[1], [0]]
        assert columns_of(np.array([0.25, 3.5]), 4).tolist() == [[0.25], [3.5]]


@pytest.mark.parametrize("regressor", REGRESSORS)
class TestHomologies:
    def test_the_same_code_in_both_worlds(self, regressor):
        found = homologies(world(0), world(10), regressor)["u"]
        assert min(found.within) > 0.95
        assert found.score == pytest.approx(1, abs=0.02)
        assert homologies(world(0), world(0), regressor)["u"].score == 1

    def test_another_sign(self, regressor):
        found = homologies(world(0), world(10, sign=-1), regressor)["u"]
        assert max(found.across) < -1
        assert found.score == 0
        assert max(found.correlation) < -0.9

    def test_another_latent(self, regressor):
        found = homologies(world(0), world(10, latent=2), regressor)["u"]
        assert min(found.within) > 0.95
        assert found.score < 0.1

    def test_nothing_to_read_in_one_world(self, regressor):
        found = homologies(world(0), world(10, informative=False), regressor)["u"]
        assert found.score is None

    def test_a_shift_is_told_by_the_correlation(self, regressor):
        found = homologies(world(0), world(10, shift=1.5), regressor)["u"]
        assert found.score < 0.5
        assert min(found.correlation) > 0.7

    def test_a_latent_that_the_other_world_has_not_is_not_held_against_it_twice(self, regressor):
        """Masked to zero it says "the mean", which is a score of nothing and no worse."""
        other = world(10, latent=2)
        masked = WorldCodes(*(Codes(c.z * np.array([0, 1, 1, 1]), c.factors) for c in (other.fit, other.test)))
        found = homologies(world(0), masked, regressor)["u"]
        assert -0.1 < found.across[0] < 0.1

    def test_factors_that_do_not_vary_or_are_not_shared_are_left_out(self, regressor):
        def more(part):
            return Codes(part.z, {**part.factors, "still": np.zeros(len(part.z)), "own": part.factors["u"]})

        first = world(0)
        first = WorldCodes(more(first.fit), more(first.test))
        assert list(homologies(first, world(10), regressor)) == ["u"]
        assert list(homologies(first, first, regressor)) == ["u", "own"]

    def test_a_ball_counts_only_where_it_is_seen(self, regressor):
        """Where no ball is seen, its factors have nothing to do with the latents."""

        def unseen(part, seed):
            rng = np.random.default_rng(seed)
            seen = (rng.random(len(part.z)) < 0.5).astype(np.int64)
            bearing = np.where(seen, part.factors["u"], rng.uniform(size=len(seen)))
            return Codes(part.z, {"ball_visible": seen, "ball_bearing": bearing, "x": bearing})

        pair = [WorldCodes(unseen(w.fit, 1), unseen(w.test, 2)) for w in (world(0), world(10))]
        found = homologies(*pair, regressor)
        assert min(found["ball_bearing"].within) > 0.9
        assert max(found["x"].within) < 0.6
        assert max(found["ball_visible"].within) < 0.1

    def test_colours(self, regressor):
        def coloured(part, places):
            colour = np.minimum((3 * part.factors["u"]).astype(np.int64), 2)
            z = 0.1 * part.z
            z[np.arange(len(z)), np.array(places)[colour]] += 2
            return Codes(z, {"ball_colour": colour})

        def pair(places):
            pairs = zip((world(0), world(10)), places, strict=True)
            return [WorldCodes(coloured(w.fit, p), coloured(w.test, p)) for w, p in pairs]

        assert homologies(*pair([(1, 2, 3), (1, 2, 3)]), regressor)["ball_colour"].score > 0.97
        assert homologies(*pair([(1, 2, 3), (2, 3, 1)]), regressor)["ball_colour"].score == 0
