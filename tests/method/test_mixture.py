"""Images one by one, and batches of two worlds, with likelihoods chosen by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from vase.method.mixture import NONE, assign, parts, shares


def of(*environments: int, count: int = 3) -> torch.Tensor:
    """Log-likelihoods of images that are most likely in the given environments."""
    values = torch.full((len(environments), count), -9.0)
    values[range(len(environments)), list(environments)] = 0.0
    return values


def ordinary(n: int) -> np.ndarray:
    return np.zeros(n, bool)


class TestAssign:
    def test_posterior_by_hand(self) -> None:
        # softmax(0, −log 3) = (¾, ¼). p = 0.3 against a level of 0.1: known with 0.3/0.4 = ¾.
        likelihoods = torch.tensor([[0.0, -math.log(3)]], dtype=torch.float64)
        environments, posterior = assign(likelihoods, torch.tensor([[0.3, 0.8]], dtype=torch.float64), 0.1)
        assert environments.tolist() == [0]
        assert posterior[0].tolist() == pytest.approx([9 / 16, 3 / 16, 1 / 4])

    def test_at_the_level_a_new_one_is_as_probable_as_all_others(self) -> None:
        _, posterior = assign(of(1, count=2), torch.full((1, 2), 0.1), 0.1)
        assert posterior[0, 2] == pytest.approx(0.5)

    def test_the_most_likely_environment_wins_even_where_another_has_the_larger_p(self) -> None:
        p = torch.tensor([[0.9, 0.2], [0.2, 0.9]])
        assert assign(of(1, 0, count=2), p, 0.01)[0].tolist() == [1, 0]

    def test_an_image_too_strange_for_the_most_likely_belongs_to_none(self) -> None:
        p = torch.tensor([[0.5, 0.5], [0.0, 0.0], [0.009, 0.009], [0.01, 0.01]])
        environments, posterior = assign(of(0, 1, 1, 1, count=2), p, 0.01)
        assert environments.tolist() == [0, NONE, NONE, 1]
        assert posterior[1].tolist() == [0.0, 0.0, 1.0]
        assert posterior.sum(1).tolist() == pytest.approx([1.0] * 4)


def test_shares_are_told_largest_first() -> None:
    found = shares(np.array([2, 0, 2, NONE, 2, 0, 2, 2]))
    assert list(found.items()) == [(2, 5 / 8), (0, 2 / 8), (NONE, 1 / 8)]


class TestParts:
    def test_two_worlds(self) -> None:
        likelihoods, asked = of(0, 0, 1, 1, 0, 1, 0, 0, 1, 0), {}

        def fits(rows: np.ndarray, s: int) -> bool:
            asked[s] = rows.tolist()
            return True

        found = parts(likelihoods, ordinary(10), fits)
        assert found is not None
        assert found[0].tolist() == [0, 0, 1, 1, 0, 1, 0, 0, 1, 0]
        assert found[1] == {0: 0.6, 1: 0.4}
        assert asked == {0: [0, 1, 4, 6, 7, 9], 1: [2, 3, 5, 8]}

    def test_one_world_is_no_mixture(self) -> None:
        assert parts(of(*[1] * 10), ordinary(10), lambda rows, s: True) is None

    def test_a_part_that_does_not_fit_goes_to_the_next_likely(self) -> None:
        # Environment 2 does not fit its own images; 1 is the next likely for them, and takes them.
        likelihoods = of(0, 0, 0, 0, 1, 1, 1, 2, 2, 2)
        likelihoods[7:, 1] = -1.0
        found = parts(likelihoods, ordinary(10), lambda rows, s: s != 2)
        assert found is not None
        assert found[0].tolist() == [0] * 4 + [1] * 6
        assert found[1] == {1: 0.6, 0: 0.4}

    def test_of_two_parts_that_do_not_fit_the_smaller_is_given_up(self) -> None:
        # Environment 1 fits once it has the images of 2, not the other way round.
        likelihoods = of(0, 0, 0, 0, 0, 1, 1, 1, 2, 2)
        likelihoods[5:, 1:] = likelihoods[5:, 1:].clamp_min(-1.0)
        found = parts(likelihoods, ordinary(10), lambda rows, s: s == 0 or (s == 1 and len(rows) == 5))
        assert found is not None
        assert found[1] == {0: 0.5, 1: 0.5}

    def test_no_mixture_if_only_one_part_fits(self) -> None:
        assert parts(of(0, 0, 0, 1, 1, 1), ordinary(6), lambda rows, s: s == 0) is None

    def test_no_mixture_if_nothing_fits(self) -> None:
        assert parts(of(0, 0, 0, 1, 1, 1), ordinary(6), lambda rows, s: False) is None

    def test_half_of_it_is_of_no_known_world(self) -> None:
        found = parts(of(0, 0, 0, 1), np.array([False, False, True, True]), lambda rows, s: True)
        assert found is not None
        assert found[0].tolist() == [0, 0, NONE, NONE]
        assert found[1] == {0: 0.5, NONE: 0.5}

    def test_strange_images_alone_are_a_new_world_and_no_mixture(self) -> None:
        assert parts(of(0, 1, 0, 1), ~ordinary(4), lambda rows, s: True) is None

    @pytest.mark.parametrize(("few", "shown"), [(1, False), (2, True)])
    def test_a_part_below_a_tenth_is_no_world(self, few: int, shown: bool) -> None:
        found = parts(of(*[0] * (20 - few), *[1] * few), ordinary(20), lambda rows, s: True)
        assert (found is not None) is shown
