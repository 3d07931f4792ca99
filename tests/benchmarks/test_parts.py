"""Time per part of a step."""

from __future__ import annotations

import pytest

from benchmarks import parts


def test_a_call_counts_for_the_outermost_part():
    watch = parts.Stopwatch()
    inner = watch.wrap("inner", lambda: None)
    outer = watch.wrap("outer", inner)
    outer()
    assert watch.take().keys() == {"outer"}
    inner()
    assert watch.take().keys() == {"inner"}
    with pytest.raises(ZeroDivisionError):
        watch.wrap("failing", lambda: 1 / 0)()
    assert not watch.inside


def test_watching_ends_and_leaves_no_trace():
    def methods() -> list:
        return [vars(owner).get(name) for _, owner, names in parts.METHODS for name in names]

    before = methods()
    with parts.watched():
        assert all(a is not b for a, b in zip(before, methods(), strict=True))
    assert all(a is b for a, b in zip(before, methods(), strict=True))
