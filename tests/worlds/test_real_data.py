"""Checks of the real files, where this machine already has them; nothing is fetched here."""

import numpy as np
import pytest

from vase.worlds import DataUnavailable, load, make_world
from vase.worlds.download import cache_folder

CACHE = cache_folder()  # the user's own cache, read when the tests are collected and only ever read


@pytest.mark.parametrize(("name", "first"), [("mnist", [5, 0, 4, 1, 9]), ("fashion", [9, 0, 0, 3, 0])])
def test_real_data_if_it_is_here(name, first):
    try:
        train, test = load(name, folder=CACHE), load(name, "test", folder=CACHE)
    except DataUnavailable:
        pytest.skip(f"{name} has not been fetched")
    assert (len(train), len(test)) == (60_000, 10_000)
    assert train.labels[:5].tolist() == first
    assert np.bincount(test.labels).min() > 800
    batch = make_world(f"moving-{name}", folder=CACHE, canvas=64, sprite=28).sample(32, np.random.default_rng(0))
    assert batch.images.shape == (32, 1, 64, 64)


def test_real_faces_if_they_are_here():
    try:
        train, test = load("faces", folder=CACHE), load("faces", "test", folder=CACHE)
    except DataUnavailable:
        pytest.skip("faces have not been fetched")
    assert (train.images.shape, test.images.shape) == ((360, 112, 92), (40, 112, 92))
    batch = make_world("faces", folder=CACHE).sample(64, np.random.default_rng(0))
    assert batch.images.std() > 40
