import pytest

from vase.spelling import did_you_mean, suggest


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
    assert suggest(name, iter(known)) == nearest
    assert did_you_mean(name, iter(known)) == (f"; did you mean {nearest!r}?" if nearest else ".")


def test_the_cutoff_decides_how_close_is_close():
    assert suggest("fashnist", ["fashion"], cutoff=0.5) == "fashion"
    assert suggest("fashnist", ["fashion"], cutoff=0.9) is None
