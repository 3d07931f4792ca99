"""Sizes: area averages, crops and bars by hand, and what is said about them."""

import logging

import numpy as np
import pytest

from vase.resize import crop_box, fit_images, framing_words, resize, say_framing, suggested_sides, weights


def test_shrinking_averages_areas():
    np.testing.assert_allclose(weights(4, 2), [[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    np.testing.assert_allclose(weights(3, 2), [[2 / 3, 1 / 3, 0], [0, 1 / 3, 2 / 3]], rtol=1e-6)
    image = np.array([[[0, 100], [200, 60]]], np.uint8)
    assert resize(image, 1).tolist() == [[[90]]]


def test_enlarging_interpolates():
    np.testing.assert_allclose(weights(2, 4), [[1, 0], [0.75, 0.25], [0.25, 0.75], [0, 1]])
    image = np.array([[[0, 100], [0, 100]]], np.uint8)
    assert resize(image, 4)[0, 0].tolist() == [0, 25, 75, 100]


@pytest.mark.parametrize("size", [1, 5, 20, 28, 33, 64])
def test_constant_images_stay_constant(size):
    np.testing.assert_array_equal(resize(np.full((3, 28, 28), 255, np.uint8), size), np.full((3, size, size), 255))


def test_height_and_width_may_differ():
    image = np.array([[[0, 100, 40, 80], [200, 60, 0, 0]]], np.uint8)
    assert resize(image, (1, 2)).tolist() == [[[90, 30]]]


def test_the_centre_is_kept_and_the_edges_are_cut():
    image = np.arange(12, dtype=np.uint8).reshape(1, 1, 2, 6)  # columns 2 and 3 are the centre
    assert fit_images(image, 2).tolist() == [[[[2, 3], [8, 9]]]]
    assert fit_images(image.swapaxes(2, 3), 2).tolist() == [[[[2, 8], [3, 9]]]]
    assert fit_images(image, (1, 1)).tolist() == [[[[6]]]]  # (2 + 3 + 8 + 9) / 4 = 5.5


def test_letterbox_keeps_everything_between_bars():
    image = np.full((1, 1, 2, 4), 80, np.uint8)
    assert fit_images(image, 4, "letterbox")[0, 0].tolist() == [[0] * 4, [80] * 4, [80] * 4, [0] * 4]
    assert fit_images(image, (4, 2), "letterbox")[0, 0].tolist() == [[0, 0], [80, 80], [0, 0], [0, 0]]


def test_floats_stay_floats_in_their_range_and_the_right_size_stays_itself():
    image = np.random.default_rng(0).random((2, 3, 7, 9))
    small = fit_images(image, (3, 4))
    assert small.dtype == np.float32
    assert np.float32(image.min()) <= small.min() <= small.max() <= np.float32(image.max())
    assert fit_images(image, (7, 9)) is image


def test_boxes_by_hand():
    assert crop_box((427, 640), (3, 4)) == (0, 35, 427, 569)  # 427 · 4/3 = 569.3
    assert crop_box((640, 480), (48, 64)) == (140, 0, 360, 480)
    assert crop_box((1, 1000), (1, 1)) == (0, 499, 1, 1)
    assert [suggested_sides(*sides) for sides in ((28, 28), (3000, 4000), (1080, 1920))] == [
        (28, 28),
        (48, 64),
        (36, 64),
    ]


def test_what_is_lost_is_said_once(caplog):
    with caplog.at_level(logging.INFO, "vase.images"):
        for _ in range(2):
            say_framing((480, 640), (33, 33), "crop")
            say_framing((480, 640), (48, 65), "letterbox")
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert "25 % of the picture, at the left and right, is cut off" in caplog.text
    assert framing_words((640, 480), (32, 32), "letterbox").endswith("black bars at the left and right")
    assert framing_words((96, 128), (48, 64), "crop").endswith("by area")
    with pytest.raises(ValueError, match="framing = 'stretch': must be 'crop' or 'letterbox'"):
        fit_images(np.zeros((1, 1, 2, 2)), 3, "stretch")
