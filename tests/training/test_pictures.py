"""Pictures for trackers: grids worked out by hand, and what is shown of a learner."""

from __future__ import annotations

from typing import Any

import numpy as np
from dark_and_light import images, learner
from training.random_projection import RandomProjection

from vase import VASEConfig
from vase.images import as_bytes
from vase.training.pictures import SHOWN, grid, pictures_of


def test_images_stand_in_rows_with_lines_between_them() -> None:
    """Two rows of two images of one pixel each: a picture of 3 × 3."""
    rows = np.array([[10, 20], [30, 40]], np.uint8).reshape(2, 2, 1, 1, 1)
    assert grid(rows)[:, :, 0].tolist() == [[10, 64, 20], [64, 64, 64], [30, 64, 40]]
    assert (grid(rows)[:, :, 0] == grid(rows)[:, :, 2]).all()


def test_colours_stay() -> None:
    assert grid(np.array([1, 2, 3], np.uint8).reshape(1, 1, 3, 1, 1)).tolist() == [[[1, 2, 3]]]


def test_what_is_shown_of_a_learner() -> None:
    model, shown = learner(), images(9, light=True)
    before = model.generator_.get_state().clone()
    found = pictures_of(model, shown)
    assert bool((model.generator_.get_state() == before).all()), "asking changes nothing"
    assert set(found) == {"reconstructions", "traversals", "dreams"}
    width = 17 * SHOWN - 1
    assert found["reconstructions"].shape == found["dreams"].shape == (33, width, 3)
    used = int(model.environments[1].used.sum()) or model.n_latents
    assert found["traversals"].shape == (17 * used - 1, width, 3)
    np.testing.assert_array_equal(found["reconstructions"][:16, :16, 0], as_bytes(shown)[0, 0])
    dark = as_bytes(model.dream(SHOWN, environment=0, seed=0))
    np.testing.assert_array_equal(found["dreams"][:16, 17:33, 0], dark[1, 0])


def test_a_learner_without_a_decoder_has_none() -> None:
    projection: Any = RandomProjection(VASEConfig.smoke())
    assert pictures_of(projection, np.zeros((4, 1, 32, 32), np.uint8)) == {}
