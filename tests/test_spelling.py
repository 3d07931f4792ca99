"""Suggestions for misspelt names."""

from vase.spelling import suggest


def test_the_most_similar_name() -> None:
    assert suggest("--stps", ["--stream", "--steps"]) == "--steps"
    assert suggest("xyz", ["--stream", "--steps"]) is None
    assert suggest("fig", ["figure2"]) == "figure2", "2·3/(3 + 7) = 0.6 is just enough"
    assert suggest("fig", ["figure2"], cutoff=0.61) is None
