"""A frame of any size becomes an image of the learner, by area, and undistorted."""

from __future__ import annotations

import numpy as np
import pytest

from vase.watching.frames import fit_frame


def grey(rows: list[list[int]]) -> np.ndarray:
    return np.array(rows, np.uint8)


def test_a_frame_is_shrunk_by_area() -> None:
    """Each pixel is the mean of 2×2: (10 + 20 + 30 + 40)/4 = 25."""
    frame = grey([[10, 20, 0, 4], [30, 40, 8, 0], [1, 1, 200, 200], [1, 1, 200, 200]])
    assert fit_frame(frame, (1, 2, 2), "letterbox").tolist() == [[[25, 3], [1, 200]]]


def test_a_wide_frame_gets_bars_or_loses_its_sides() -> None:
    frame = grey([[10, 20, 30, 40], [10, 20, 30, 40]])  # 2 high, 4 wide
    assert fit_frame(frame, (1, 4, 4), "letterbox").tolist() == [
        [[0, 0, 0, 0], [10, 20, 30, 40], [10, 20, 30, 40], [0, 0, 0, 0]]
    ]
    assert fit_frame(frame, (1, 2, 2), "crop").tolist() == [[[20, 30], [20, 30]]]


def test_a_tall_frame_gets_bars_or_loses_top_and_bottom() -> None:
    frame = grey([[1, 1], [2, 2], [3, 3], [4, 4]])
    assert fit_frame(frame, (1, 4, 4), "letterbox")[0, :, 1].tolist() == [1, 2, 3, 4]
    assert fit_frame(frame, (1, 4, 4), "letterbox")[0, :, 0].tolist() == [0, 0, 0, 0]
    assert fit_frame(frame, (1, 2, 2), "crop").tolist() == [[[2, 2], [3, 3]]]


def test_colour_becomes_grey_by_luma_and_grey_becomes_colour() -> None:
    """0.299·100 + 0.587·200 + 0.114·50 = 153."""
    colour = np.full((4, 4, 3), (100, 200, 50), np.uint8)
    assert np.unique(fit_frame(colour, (1, 2, 2), "crop")).tolist() == [153]
    assert fit_frame(colour, (3, 2, 2), "crop")[:, 0, 0].tolist() == [100, 200, 50]
    assert fit_frame(np.full((4, 4), 7, np.uint8), (3, 2, 2), "crop")[:, 0, 0].tolist() == [7, 7, 7]


@pytest.mark.parametrize("size", [(1, 1), (3, 500), (37, 5), (16, 16), (1080, 1920)])
@pytest.mark.parametrize("framing", ["letterbox", "crop"])
def test_any_size_fits_and_a_constant_stays_constant(size: tuple[int, int], framing: str) -> None:
    image = fit_frame(np.full((*size, 3), 90, np.uint8), (3, 16, 16), framing)
    assert image.shape == (3, 16, 16)
    assert image.dtype == np.uint8
    assert set(np.unique(image).tolist()) <= ({90} if framing == "crop" else {0, 90})
    assert (image == 90).any()
