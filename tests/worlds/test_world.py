import numpy as np
import pytest

from vase.worlds.checks import require_int
from vase.worlds.world import position_varies

STILL, VARIED = np.full(3, 0.5), np.array([0.5, 0.5, 0.6])


@pytest.mark.parametrize(
    ("factors", "varies"),
    [
        ({"x": STILL, "y": STILL}, False),
        ({"x": VARIED, "y": STILL}, True),
        ({"x": STILL, "y": VARIED}, True),
        ({"x": VARIED}, False),
        ({"x": VARIED, "z": VARIED}, False),  # a 3D world: the place of the eye
        ({}, False),
    ],
)
def test_position_varies_if_x_or_y_does(factors, varies):
    assert position_varies(factors) is varies


def test_require_int():
    assert require_int("n", np.int64(3), 3) == 3
    for value, error in ((2, ValueError), (True, ValueError), (3.0, TypeError), ("3", TypeError)):
        with pytest.raises(error, match=f"n = {value!r}: .* whole number"):
            require_int("n", value, 3)
