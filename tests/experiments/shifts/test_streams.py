"""Streams of the shift benchmark: their rules, their truth, their batches."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from vase.experiments.shifts.pool import CHANGE_HALF, HALVES, NO_SHIFT, WORLDS, GreyWorld, PoolWorld, changes_for
from vase.experiments.shifts.streams import (
    Segment,
    ShiftStream,
    Source,
    draw_stream,
    draw_streams,
    stationary_streams,
)
from vase.worlds import World, from_array
from vase.worlds.changes import CHANGES
from vase.worlds.timeline import Span


def flat(name: str) -> World:
    """A world of images of one level: the length of its name, in percent of 255."""
    return from_array(np.full((2, 1, 8, 8), 0.01 * len(name)), name=name)


def drawn() -> list[ShiftStream]:
    return [stream for half in HALVES for stream in draw_streams(half, 64)]


def test_the_halves_share_no_dataset_and_no_change() -> None:
    datasets = {half: {w.name.removeprefix("moving-") for w in WORLDS if w.half == half} for half in HALVES}
    assert not datasets["tuning"] & datasets["report"]
    for half in HALVES:
        assert {world.colour for world in WORLDS if world.half == half} == {True, False}
        assert {CHANGES[name].kind for name, h in CHANGE_HALF.items() if h == half} == {
            *("light", "texture", "colour", "geometry"),
        }
    assert sorted(CHANGE_HALF.values()).count("tuning") == len(CHANGES) / 2
    assert (CHANGE_HALF["contrast"], CHANGE_HALF["dim"], CHANGE_HALF["fog"]) == ("tuning", "report", "tuning")


def test_changes_of_a_world() -> None:
    grey, photo = PoolWorld("mnist", "still", "report"), PoolWorld("cats", "photograph", "tuning", colour=True)
    assert [c.name for c in changes_for(grey, "report")] == [
        "dim", "inverse", "dirt", "pixelate", "rotate", "squeeze", "zoom",
    ]  # fmt: skip
    assert [c.name for c in changes_for(photo, "tuning")] == ["contrast", "fog", "blur", "noise", "grey", "upside-down"]
    assert ("mirrored", "photograph") in NO_SHIFT


def test_streams_keep_the_rules() -> None:
    kinds = {world.name: world for world in WORLDS}
    for stream in drawn():
        segments = stream.segments
        half, colour = stream.name.split("-")[0], "colour" in stream.name
        assert 4 <= len(segments) <= 10
        assert 60 <= segments[0].batches <= 150
        assert all(20 <= segment.batches <= 150 for segment in segments)
        assert all(a.source != b.source for a, b in pairwise(segments))
        assert len({segment.source for segment in segments}) < len(segments)  # somebody returns
        assert len({(s.source.world, s.source.change) for s in segments}) == len({s.source for s in segments})
        for segment in segments:
            world = kinds[segment.source.world]
            assert (world.half, world.colour) == (half, colour)
            if segment.source.change:
                assert CHANGE_HALF[segment.source.change] == half
                assert CHANGES[segment.source.change] in changes_for(world, half)
                assert segment.source.strength in CHANGES[segment.source.change].strengths


def test_ramps_lead_from_a_world_to_its_change_and_no_return_precedes_them() -> None:
    with_ramp = [stream for stream in drawn() if any(segment.ramp for segment in stream.segments)]
    assert len(with_ramp) == 32  # a quarter
    for stream in with_ramp:
        assert stream.name.endswith("-ramp")
        (place,) = [i for i, segment in enumerate(stream.segments) if segment.ramp]
        before, after = stream.segments[place - 1 : place + 1]
        assert before.source == Source(after.source.world)
        assert CHANGES[after.source.change].gradual
        assert 100 <= after.ramp <= 400
        assert after.source not in [segment.source for segment in stream.segments[:place]]


def test_streams_are_the_same_every_time_and_differ_from_each_other() -> None:
    assert draw_streams("report", 6) == draw_streams("report", 8)[:6]
    assert draw_streams("report", 3, colour=True) == [draw_stream("report", n) for n in (1, 3, 5)]
    assert len({stream.segments for stream in drawn()}) == 128


def test_a_half_without_worlds_is_an_error() -> None:
    with pytest.raises(ValueError, match="the tuning half has none in colour; pass a larger pool"):
        draw_stream("tuning", 1, [PoolWorld("digits", "still", "tuning")])


STREAM = ShiftStream(
    "s", 3, (Segment(Source("a"), 3), Segment(Source("a", "inverse", 1.0), 2, ramp=3), Segment(Source("bb"), 2))
)


def test_the_truth_changes_in_the_middle_of_a_ramp() -> None:
    assert STREAM.truth.timeline.stages == (("a", 4), ("a+inverse:1", 4), ("bb", 2))
    assert STREAM.truth.ramps == (Span("a+inverse:1", 3, 6),)
    assert STREAM.truth.transitions == (Span("a+inverse:1", 3, 6), Span("", 8, 8))
    assert [STREAM.truth.settled(step) for step in (3, 4, 6, 7)] == [True, False, False, True]
    assert (len(STREAM), STREAM.first) == (10, Source("a"))


def test_batches_by_hand() -> None:
    """Level 0.01, its negative growing by quarters to 0.99, and then 0.02."""
    batches = list(STREAM.batches(load=flat))
    assert len(batches) == len(STREAM)
    assert {batch.shape for batch in batches} == {(64, 1, 8, 8)}
    levels = [float(batch.mean()) for batch in batches]
    expected = [0.01] * 3 + [0.255, 0.5, 0.745] + [0.99] * 2 + [0.02] * 2
    np.testing.assert_allclose(levels, expected, atol=0.5 / 255 + 0.5 / 255)


def test_a_batch_depends_on_seed_stream_and_step() -> None:
    noisy = Source("a", "noise", 0.2)
    one = ShiftStream("s", 3, (Segment(noisy, 3),))
    other = ShiftStream("s", 4, (Segment(noisy, 3),))
    first, again, seed, stream = (
        list(s.batches(seed=n, load=flat)) for s, n in ((one, 0), (one, 0), (one, 1), (other, 0))
    )
    np.testing.assert_array_equal(first, again)
    for different in (seed, stream, first[1:]):
        assert not np.array_equal(first[0], different[0])


def test_controls_show_one_source_each() -> None:
    for half in HALVES:
        controls = stationary_streams(half, 500)
        assert len(controls) == sum(world.half == half for world in WORLDS)
        assert {len(stream) for stream in controls} == {500}
        assert all(not stream.truth.transitions for stream in controls)
        changed = sum(bool(stream.first.change) for stream in controls)
        assert changed == len(controls) // 2
    assert all(len(stream) == 10_000 for stream in stationary_streams("report", colour=False))


def test_a_stream_as_json() -> None:
    assert STREAM.describe()["segments"] == [
        {"source": "a", "batches": 3},
        {"source": "a+inverse:1", "batches": 2, "ramp": 3},
        {"source": "bb", "batches": 2},
    ]


def test_the_brightness_of_a_world_in_colour() -> None:
    colours = from_array(np.tile(np.array([255, 0, 0], np.uint8)[None, :, None, None], (2, 1, 4, 4)), name="red")
    grey = GreyWorld(colours, "grey-red")
    assert grey.image_shape == (1, 4, 4)
    assert set(grey.sample(3, np.random.default_rng(0)).images.ravel()) == {76}  # 0.299 · 255
