import pytest

from vase.spelling import closest, did_you_mean


@pytest.mark.parametrize(
    ("name", "known", "nearest"),
    [
        ("mnits", ("mnist", "fashion"), "mnist"),
        ("gama", ("capacity.gamma", "mask.threshold"), "capacity.gamma"),  # by the last part
        ("capcity.gamma", ("capacity.gamma", "mask.gamma"), "capacity.gamma"),
        ("zzzz", ("mnist", "fashion"), None),
        ("", ("mnist",), None),
        ("mnist", (), None),
    ],
)
def test_the_nearest_name(name, known, nearest):
    assert closest(name, iter(known)) == nearest
    assert did_you_mean(name, iter(known)) == (f"; did you mean {nearest!r}?" if nearest else ".")
