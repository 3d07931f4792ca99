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


def test_real_cifar10_if_it_is_here():
    try:
        train, test = load("cifar10", folder=CACHE), load("cifar10", "test", folder=CACHE)
    except DataUnavailable:
        pytest.skip("cifar10 has not been fetched")
    assert (train.images.shape, test.images.shape) == ((50_000, 32, 32, 3), (10_000, 32, 32, 3))
    assert (train.labels[:4].tolist(), test.labels[:4].tolist()) == ([6, 9, 9, 4], [3, 8, 8, 0])
    assert np.bincount(train.labels).tolist() == [5_000] * 10
    np.testing.assert_allclose(test.images.mean(axis=(0, 1, 2)) / 255, [0.494, 0.485, 0.450], atol=5e-4)
    batch = make_world("cifar10:classes=3", folder=CACHE, split="test").sample(8, np.random.default_rng(0))
    assert batch.images.shape == (8, 3, 32, 32)


def test_real_emoji_if_they_are_here():
    for split, count in (("train", 3_042), ("test", 744)):
        try:
            google, twitter = (load(f"emoji-{style}", split, folder=CACHE) for style in ("google", "twitter"))
        except DataUnavailable:
            pytest.skip("the emoji have not been fetched")
        assert google.images.shape == twitter.images.shape == (count, 64, 64, 3)
        np.testing.assert_array_equal(google.labels, twitter.labels)
        assert set(google.labels) == set(range(10))
        ink = [255 - data.images.mean(axis=(1, 2, 3)) for data in (google, twitter)]
        assert np.corrcoef(*ink)[0, 1] > 0.5, "twins are alike"
