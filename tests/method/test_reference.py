"""References on features drawn by the tests: their arithmetic by hand, calibration, settling, and exact resume."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch

from vase.method.quadratic_form import Moments
from vase.method.reference import BLOCK, RESOLUTION, Distance, Mean, Reference, Scatter, out_of_sample

D, SIZE = 12, 64


def column(*values: float) -> np.ndarray:
    return np.array(values)[:, None]


def batch(rng: np.random.Generator, shift: float = 0.0, size: int = SIZE) -> np.ndarray:
    """Correlated normal features of different scale."""
    common = rng.standard_normal((size, 1))
    features = (rng.standard_normal((size, D)) + common + shift) * np.geomspace(0.5, 5.0, D)
    return features.astype(np.float32)


def learnt(n: int, rng: np.random.Generator, size: int = SIZE) -> Reference:
    reference = Reference(np.full(D, 0.1))
    for _ in range(n):
        reference.update(batch(rng, size=size))
    return reference


def scattered(ratio: float, excess: float = 1.0) -> Scatter:
    """With the given ratio and excess: PRIOR = 10 batches of the one, and (10 + spread)/10 of the other."""
    scatter = Scatter(ratio)
    scatter.spread = 10 * excess - 10
    return scatter


def distance(reference: Reference, features: np.ndarray) -> Distance:
    return reference.distance(features.mean(0, dtype=np.float64), len(features))


class TestByHand:
    def test_means_are_weighted_by_images(self) -> None:
        # (2·4 + 5·2)/6 = 3
        both = Mean(column(2.0)[0], 4.0, 1) + Mean(column(5.0)[0], 2.0, 3)
        assert (both.mean.tolist(), both.images, both.batches) == ([3.0], 6.0, 4)
        assert (Mean.none(1) + both).mean.tolist() == [3.0]

    def test_mean_and_covariance_of_two_batches(self) -> None:
        reference = Reference(np.zeros(1))
        reference.update(column(1.0, 3.0))
        # Mean 2, deviations ∓1: covariance 2/2.
        assert (reference.mean.tolist(), reference.images, reference.covariance.tolist()) == ([2.0], 2.0, [[1.0]])
        reference.update(column(2.0, 6.0))
        # Mean (2 + 4)/2 = 3. Deviations −1 and 3 from it; 39/40 of the past counts: (0.975·2 + 10)/(0.975·2 + 2).
        assert (reference.mean.tolist(), reference.images, reference.age) == ([3.0], 4.0, 2)
        assert reference.covariance.item() == pytest.approx(11.95 / 3.95)

    def test_distance_after_two_batches(self) -> None:
        reference = Reference(np.zeros(1))
        reference.update(column(1.0, 3.0))
        reference.update(column(2.0, 6.0))
        # The second batch was 4 − 2 = 2 away from mean 2, variance 1, and 1/(1/2 + 1/2) = 1: the statistic is 4 where
        # 1.001 is expected. Ratio (10 + 4)/11; excess (10 + (4 − 1)²/2)/11, but for the thousandth.
        one = 1 + RESOLUTION
        ratio, excess = (10 + 4 / one) / 11, (10 + (4 / one - 1) ** 2 / 2) / 11
        assert (ratio, excess) == (pytest.approx(14 / 11, rel=1e-3), pytest.approx(14.5 / 11, rel=1e-3))
        assert reference.scatter["plain"].ratio == pytest.approx(ratio)
        assert reference.scatter["plain"].excess == pytest.approx(excess)
        # The inverse was made of two images, shrunk by 1/4: others lie 1/(1 − ¾·1.001/2) = 1.601 times as far.
        further = out_of_sample(one, 2.0, 0.25)
        assert further == pytest.approx(1.601, abs=1e-3)
        whitened = (10 + 4 / one / further) / 11
        assert reference.scatter["whitened"].ratio == pytest.approx(whitened)
        # Two images of mean 5 against mean 3 of four: 4/(11.95/3.95) = 1.32218, times 1/(1/2 + 1/4) = 4/3.
        found = reference.distance(column(5.0)[0], 2)
        value = 4 * 3.95 / 11.95
        expected = Moments(ratio * one, 2 * (ratio * one) ** 2 * excess, math.sqrt(8) * excess)
        assert found.p_value == pytest.approx(min(1.0, 2 * expected.tail(value * 4 / 3)))
        assert found.p_value == pytest.approx(0.41704, abs=1e-5)  # Pearson III, by SciPy
        further = out_of_sample(one, 3.95, 0.125)  # now of 3.95 images, shrunk by an eighth
        assert found.effect == pytest.approx(math.sqrt(value - whitened * one * further * 3 / 4))
        assert found.independent == pytest.approx(2 / whitened)

    def test_a_distance_asked_again_is_of_the_present_reference(self) -> None:
        reference, mean = Reference(np.zeros(1)), column(5.0)[0]
        reference.update(column(1.0, 3.0))
        before = reference.distance(mean, 2)
        assert reference.distance(mean, 2) == before
        reference.update(column(2.0, 6.0))
        assert reference.distance(mean, 2) == reference.distance(mean.copy(), 2) != before

    def test_no_effect_below_sampling_noise(self) -> None:
        reference = Reference(np.zeros(1))
        reference.update(column(1.0, 3.0))
        assert reference.distance(column(2.1)[0], 2).effect == 0.0

    def test_floors_add_to_the_spread(self) -> None:
        # Variance 1 + 3 = 4: 4 away are 2 standard deviations; ρ = ¼, and P = 1/(¾·¼ + ¼) = 16/7 (shrinkage 1/4).
        reference = Reference(np.full(1, math.sqrt(3.0)))
        reference.update(column(1.0, 3.0))
        form = reference.forms["whitened"]
        assert form(np.full(1, 2.0)) == pytest.approx(4 * 16 / 7)
        inside = 16 / 7 * (1 / 4 + RESOLUTION)
        assert form.expected.mean == pytest.approx(inside / (1 - 3 / 4 * inside / 2))
        assert reference.forms["plain"].expected.mean == pytest.approx(1 / 4 + RESOLUTION)

    @pytest.mark.parametrize(("images", "ratio"), [(3, 2.0), (4, 8.0), (400, 8.0)])
    def test_two_batches_or_more_scatter_as_groups_do(self, images: int, ratio: float) -> None:
        reference = Reference(np.zeros(1))
        reference.update(column(1.0, 3.0))
        for name in ("whitened", "plain"):
            reference.scatter[name], reference.scatter[name + " group"] = scattered(2.0), scattered(8.0)
        found = reference.distance(column(5.0)[0], images)
        one, h = 1 + RESOLUTION, 1 / (1 / images + 1 / 2)
        assert found.independent == pytest.approx(images / ratio)
        assert found.p_value == pytest.approx(
            min(1.0, 2 * Moments(ratio * one, 2 * (ratio * one) ** 2, math.sqrt(8)).tail(9 * h))
        )

    @pytest.mark.parametrize(("images", "excess"), [(4, 1.0), (2, 1 + 4 / 4), (1, 1 + 4 * 3 / 4)])
    def test_fewer_images_scatter_more_where_single_ones_do(self, images: int, excess: float) -> None:
        # Batches of 4 and an excess of 5 of single images: 1 + (1/n − 1/4)·(5 − 1).
        reference = Reference(np.zeros(1))
        reference.update(column(1.0, 3.0, 1.0, 3.0))
        reference.scatter["whitened image"] = scattered(1.0, 5.0)
        one, h = 1 + RESOLUTION, 1 / (1 / images + 1 / 4)
        expected = Moments(one, 2 * one**2 * excess, math.sqrt(8) * excess)
        assert reference.distance(column(5.0)[0], images).p_value == pytest.approx(min(1.0, 2 * expected.tail(9 * h)))

    def test_likelihood_of_single_images(self) -> None:
        # Mean 2, variance 1, images that scatter like normal ones: log N = −½(x − 2)² up to a constant; log-volume 0.
        many = Reference(np.zeros(1))
        many.update(column(*[1.0, 3.0] * 50_000))
        found = many.log_likelihood(column(2.5, 3.0, 5.0))
        assert found.tolist() == pytest.approx([-0.125, -0.5, -4.5], abs=1e-2)
        # Four times the variance of (x − 2)²: shape 1/8, scale 8, so that log p = −3/8·log q − q/8 + constant.
        heavy = copy.deepcopy(many)
        heavy.scatter["whitened image"] = scattered(1.0, 4.0)
        gains = [-3 / 8 * math.log(q) - q / 8 for q in (0.25, 1.0, 9.0)]
        found = heavy.log_likelihood(column(2.5, 3.0, 5.0))
        assert np.diff(found).tolist() == pytest.approx(np.diff(gains).tolist(), abs=1e-2)
        assert np.isfinite(heavy.log_likelihood(column(2.0))).all()  # the mean itself
        # P(χ²₁ > 3.841459) = 0.05, where images are many
        p_values = many.image_p_values(column(2.0, 2 + math.sqrt(3.841459 * (1 + RESOLUTION))))
        assert p_values.tolist() == pytest.approx([1.0, 0.05], abs=1e-5)

    def test_a_new_image_lies_as_far_out_as_one_that_is_left_out(self) -> None:
        """Sherman and Morrison: the form of an image without itself in the covariance, to the last digit."""
        rng, n, shrinkage = np.random.default_rng(0), 8, 0.2
        x = rng.standard_normal((n, 3))

        def form(of: np.ndarray) -> float:
            p = np.linalg.inv((1 - shrinkage) * of.T @ of / n + shrinkage * np.eye(3))
            return float(x[0] @ p @ x[0])

        assert form(x) * out_of_sample(form(x), float(n), shrinkage) == pytest.approx(form(x[1:]), rel=1e-12)
        assert out_of_sample(100.0, 1.0, 0.5) == 2.0  # too few images


class TestScatter:
    EXPECTED = Moments(2.0, 4.0, 2.0)

    def test_by_hand(self) -> None:
        scatter = Scatter()
        assert (scatter.ratio, scatter.excess) == (1.0, 1.0)
        # 8 where 2 are expected: ratio 4; (4 − 1)² over 4/2² = 9.
        scatter.add(8.0, self.EXPECTED)
        assert scatter.ratio == pytest.approx((10 + 4) / 11)
        assert scatter.excess == pytest.approx((10 + 9) / 11)
        # Of the first, 0.999 are left: count 1.999, total 3.996 + 1; deviation (1·11/14 − 1)² = 9/196.
        scatter.add(2.0, self.EXPECTED)
        assert scatter.ratio == pytest.approx(14.996 / 11.999)
        assert scatter.excess == pytest.approx((10 + 0.999 * 9 + 9 / 196) / 11.999)

    def test_an_outlier_counts_as_five_standard_deviations(self) -> None:
        scatter = Scatter()
        scatter.add(1000.0, self.EXPECTED)
        assert scatter.excess == pytest.approx((10 + 25) / 11)

    def test_neither_calmer_than_theory_nor_below_half(self) -> None:
        scatter = Scatter()
        for _ in range(500):
            scatter.add(0.1, self.EXPECTED)
        assert (scatter.ratio, scatter.excess) == (0.5, 1.0)

    def test_first_guess(self) -> None:
        scatter = Scatter(8.0)
        assert scatter.ratio == 8.0
        scatter.add(2.0, self.EXPECTED)
        assert scatter.ratio == pytest.approx(81 / 11)


class TestCalibration:
    def test_p_values_of_its_own_batches_are_about_uniform(self) -> None:
        # Two forms and their Bonferroni factor: somewhat rarer than uniform, but not by much.
        rng = np.random.default_rng(0)
        reference, p = learnt(100, rng), []
        for _ in range(400):
            x = batch(rng)
            p.append(distance(reference, x).p_value)
            reference.update(x)
        assert 0.03 < np.mean(np.array(p) < 0.1) < 0.13
        assert np.mean(np.array(p) < 0.01) < 0.02
        assert min(p) > 1e-4

    def test_four_batches_together_are_calibrated_too(self) -> None:
        rng = np.random.default_rng(1)
        reference = learnt(200, rng)
        p = np.array([distance(reference, batch(rng, size=4 * SIZE)).p_value for _ in range(300)])
        assert np.mean(p < 0.1) < 0.15
        assert p.min() > 1e-4

    @pytest.mark.parametrize("size", [2, 8, 16])
    def test_fewer_images_are_weaker_evidence_and_no_alarm(self, size: int) -> None:
        rng = np.random.default_rng(2)
        reference = learnt(100, rng)
        p = np.array([distance(reference, batch(rng, size=size)).p_value for _ in range(300)])
        assert np.mean(p < 0.1) < 0.15
        assert p.min() > 1e-4
        assert distance(reference, batch(rng, 0.5, size)).p_value > distance(reference, batch(rng, 0.5)).p_value

    def test_verdicts_on_young_references(self) -> None:
        """Ten batches of 4 images, of 12 features; without `out_of_sample`, 0.20 and 0.04."""
        rng = np.random.default_rng(0)
        p = np.array([distance(learnt(10, rng, size=4), batch(rng, size=16)).p_value for _ in range(400)])
        assert np.mean(p < 0.1) < 0.13
        assert np.mean(p < 0.01) < 0.02

    def test_a_changed_batch(self) -> None:
        # 1.5 in all twelve features, along the common direction, whose variance is 1 + 12: the effect is
        # √(12·1.5²/13) = 1.44, less a little for the floor and the shrinkage.
        rng = np.random.default_rng(3)
        reference = learnt(100, rng)
        found = [distance(reference, batch(rng, 1.5)) for _ in range(20)]
        assert max(f.p_value for f in found) < 1e-4
        assert np.mean([f.effect for f in found]) == pytest.approx(1.44, rel=0.1)

    def test_the_covariance_counts(self) -> None:
        # One feature alone moves, against all others: one standard deviation, where the common direction has 3.6.
        rng = np.random.default_rng(4)
        reference, alone = learnt(100, rng), np.zeros(D)
        alone[0] = 0.5
        assert distance(reference, batch(rng) + alone).p_value < 1e-4
        assert distance(reference, batch(rng) + 0.5 * np.geomspace(0.5, 5.0, D)).p_value > 1e-4


class TestCorrelatedFrames:
    def test_every_image_eight_times(self) -> None:
        rng = np.random.default_rng(0)
        reference, alarms = Reference(np.full(D, 0.1)), 0
        for i in range(400):
            x = batch(rng, size=SIZE // 8).repeat(8, 0)
            if i >= 60:
                alarms += distance(reference, x).p_value < 1e-4
            reference.update(x)
        assert alarms == 0
        assert reference.scatter["whitened"].ratio == pytest.approx(8, rel=0.15)
        assert distance(reference, batch(rng)).independent == pytest.approx(SIZE / 8, rel=0.15)
        assert distance(reference, batch(rng, 6.0).repeat(8, 0)[:SIZE]).p_value < 1e-4

    def test_independent_images_are_counted_as_such(self) -> None:
        rng = np.random.default_rng(0)
        found = distance(learnt(200, rng), batch(rng))
        assert found.independent == pytest.approx(SIZE, rel=0.1)

    def test_a_still_camera_whose_picture_wanders(self) -> None:
        """Frame after frame 0.9 of the last: batches of 64 depend on each other, too, and four on the next four."""
        rng = np.random.default_rng(0)
        reference, state, alarms = Reference(np.full(D, 0.1)), np.zeros(D), 0
        for i in range(400):
            frames = []
            for noise in rng.standard_normal((SIZE, D)):
                state = 0.9 * state + math.sqrt(1 - 0.81) * noise
                frames.append(state)
            x = np.array(frames, np.float32)
            if i >= 60:
                alarms += distance(reference, x).p_value < 1e-4
            reference.update(x)
        # The variance of a mean of n is (1 + 0.9)/(1 − 0.9) = 19 times that of independent images, less at its ends.
        assert alarms == 0
        assert 10 < reference.scatter["whitened"].ratio < 22
        assert distance(reference, batch(rng)).independent == pytest.approx(SIZE / 16, rel=0.35)

    def test_a_new_environment_of_the_stream_guesses_the_same(self) -> None:
        rng = np.random.default_rng(0)
        old = Reference(np.full(D, 0.1))
        for _ in range(200):
            old.update(batch(rng, size=SIZE // 8).repeat(8, 0))
        new = Reference(np.full(D, 0.1), like=old)
        assert new.scatter["whitened"].ratio == old.scatter["whitened"].ratio > 6
        assert new.scatter["whitened image"].ratio == 1.0


class TestSettling:
    def test_settles_with_the_second_block_and_stays(self) -> None:
        rng = np.random.default_rng(0)
        reference, seen = Reference(np.full(D, 0.1)), []
        for i in range(3 * BLOCK):
            x = batch(rng)
            seen.append(x.mean(0, dtype=np.float64))
            reference.update(x)
            assert reference.settled is (i >= 2 * BLOCK - 1)
            if 2 * BLOCK - 1 <= i < 3 * BLOCK - 1:
                assert np.allclose(reference.mean, np.stack(seen[: 2 * BLOCK]).mean(0))
                assert reference.images == 2 * BLOCK * SIZE
        # The third block agrees and is taken in.
        assert np.allclose(reference.mean, np.stack(seen).mean(0))
        assert reference.images == 3 * BLOCK * SIZE

    def test_a_block_that_drifts_away_is_not_taken_in(self) -> None:
        rng = np.random.default_rng(0)
        reference = learnt(2 * BLOCK, rng)
        before = copy.deepcopy(reference.state_dict())
        for i in range(BLOCK):
            reference.update(batch(rng, 1.0 * i / BLOCK))
        assert np.array_equal(reference.mean, before["mean"].numpy())
        assert reference.images == before["images"]
        assert reference.scatter["whitened"].state_dict() == before["scatter"]["whitened"]
        assert reference.settled
        assert distance(reference, batch(rng, 1.5)).p_value < 1e-4

    def test_follows_while_it_moves(self) -> None:
        # An average over eight follows a ramp of r a batch 7·r behind: L = ⅞·(L + r).
        reference = Reference(np.zeros(1))
        for t in range(200):
            reference.update(column(0.5 * t - 1, 0.5 * t + 1))
        assert not reference.settled
        assert reference.mean.item() == pytest.approx(0.5 * 199 - 3.5)
        assert reference.images == pytest.approx(15 * 2)

    def test_settles_where_the_movement_ends(self) -> None:
        rng, reference = np.random.default_rng(0), Reference(np.full(D, 0.1))
        for t in range(5 * BLOCK):
            reference.update(batch(rng, 0.1 * t))
        assert not reference.settled
        for _ in range(3 * BLOCK):
            reference.update(batch(rng, 0.1 * 5 * BLOCK))
        assert reference.settled
        assert distance(reference, batch(rng, 0.1 * 5 * BLOCK)).p_value > 1e-4
        assert distance(reference, batch(rng, 0.0)).p_value < 1e-4

    def test_the_scatter_of_a_finished_visit_is_kept_as_it_was(self) -> None:
        """Statistics of an unfinished block wait for its verdict."""
        rng = np.random.default_rng(0)
        reference = learnt(2 * BLOCK, rng)
        before = reference.scatter["whitened"].count
        for _ in range(BLOCK - 1):
            reference.update(batch(rng))
        assert reference.scatter["whitened"].count == before
        reference.update(batch(rng))
        assert reference.scatter["whitened"].count > before


class TestState:
    @pytest.mark.parametrize(("age", "size"), [(0, 64), (1, 64), (3, 64), (30, 64), (30, 2), (70, 64), (130, 64)])
    def test_an_exact_continuation(self, age: int, size: int) -> None:
        reference = learnt(age, np.random.default_rng(0), size)
        again = Reference.from_state_dict(np.full(D, 0.1), copy.deepcopy(reference.state_dict()))
        rng = np.random.default_rng(1)
        if age:
            assert distance(reference, batch(rng)) == distance(again, batch(np.random.default_rng(1)))
        for _ in range(70):
            x = batch(rng, size=size)
            reference.update(x)
            again.update(x)
            assert distance(reference, x) == distance(again, x)
        assert np.array_equal(reference.log_likelihood(x), again.log_likelihood(x))
        assert repr(reference.state_dict()) == repr(again.state_dict())
        assert np.array_equal(reference.products, again.products)

    @pytest.mark.parametrize("age", [20, 70])
    def test_a_state_is_a_copy(self, age: int) -> None:
        rng = np.random.default_rng(0)
        reference = learnt(age, rng)
        state = reference.state_dict()
        before = copy.deepcopy(state)
        again = Reference.from_state_dict(np.full(D, 0.1), state)
        for _ in range(5):
            reference.update(batch(rng))
            again.update(batch(rng))
        assert repr(state) == repr(before)
        assert torch.equal(state["products"], before["products"])


def test_images_that_the_mean_is_worth_by_hand():
    """Weights 1, then 1/2 each; of unequal batches the mean is worth what its variance says."""
    reference = Reference(np.ones(2))
    rng = np.random.default_rng(0)
    reference.update(rng.standard_normal((4, 2)))
    assert reference.images == 4
    reference.update(rng.standard_normal((12, 2)))
    assert reference.images == pytest.approx(1 / (0.25 / 4 + 0.25 / 12))
    assert reference.seen == 16
    for _ in range(30):
        reference.update(rng.standard_normal((12, 2)))
    assert reference.images == pytest.approx(15 * 12, rel=0.01)
