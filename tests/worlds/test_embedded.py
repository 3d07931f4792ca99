import hashlib

import numpy as np
import pytest

from vase.worlds import load
from vase.worlds.embedded import embedded, glyphs


@pytest.mark.parametrize("name", ["digits", "glyphs"])
def test_embedded_sets_have_ten_classes_in_both_splits_and_never_share_an_image(name):
    train, test = load(name), load(name, "test")
    for part in (train, test):
        assert part.images.shape[1:] == (28, 28)
        assert (part.images.dtype, part.labels.dtype) == (np.uint8, np.int64)
        assert np.bincount(part.labels).min() > 20
        assert len(np.bincount(part.labels)) == 10
        assert part.images.reshape(len(part), -1).max(axis=1).min() > 100  # nothing empty
    seen = {hashlib.sha256(image).digest() for image in np.ascontiguousarray(train.images)}
    repeated = sum(hashlib.sha256(image).digest() in seen for image in np.ascontiguousarray(test.images))
    assert repeated <= 0.02 * len(test)


def testglyphs_are_drawn_the_same_every_time_and_never_touch_the_border():
    first = load("glyphs", "test")
    glyphs.cache_clear()
    np.testing.assert_array_equal(first.images, load("glyphs", "test").images)
    border = np.ones((28, 28), bool)
    border[1:-1, 1:-1] = False
    assert (first.images[:, border].max(axis=1) > 128).mean() < 0.05


def test_a_simple_classifier_can_read_them():
    from sklearn.neighbors import KNeighborsClassifier

    for name in ("digits", "glyphs"):
        train, test = load(name), load(name, "test")
        model = KNeighborsClassifier(1).fit(train.images.reshape(len(train), -1)[:1500], train.labels[:1500])
        assert model.score(test.images.reshape(len(test), -1)[:300], test.labels[:300]) > 0.85


def test_embedded_refuses_other_names():
    with pytest.raises(ValueError, match="did you mean 'digits'"):
        embedded("digit")
