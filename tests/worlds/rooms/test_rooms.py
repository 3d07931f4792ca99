"""What MiniWorld really draws; skipped where it or OpenGL is missing."""

import math

import numpy as np
import pytest

from vase.worlds import DataUnavailable
from vase.worlds.rooms import WORLDS, render
from vase.worlds.rooms.scenes import COLOURS, FIELD, SIZE, Scene, Thing, horizon, make_scene

HALF = SIZE / 2
SCALE = HALF / math.tan(FIELD / 2)
"""Pixels that a slope of 1 covers."""


@pytest.fixture(scope="module")
def stages():
    """What draws each world."""
    try:
        return {world: render.open_stage(world, make_scene(0, "train", 0)) for world in WORLDS}
    except DataUnavailable as error:
        pytest.skip(str(error))


def scene(balls=(), **changes):
    """A room of 10 m, seen from its middle, looking east along the floor."""
    values = {"side": 10.0, "x": 5.0, "z": 5.0, "heading": 0.0, "pitch": 0.0, "balls": tuple(balls), "props": ()}
    return Scene(**{**values, **changes})


def is_red(frame, row, column):
    red, green, blue = frame[round(row), round(column)].astype(int)
    return red > 100 and max(green, blue) < 60


@pytest.mark.parametrize("world", WORLDS)
def test_balls_are_where_geometry_says(stages, world):
    """The middle of a ball is 0.5 m high, 1 m below the eye: a slope of 1/3 at 3 m."""
    row = HALF + SCALE / 3
    red = COLOURS.index("red")
    for z, heading in ((5.0, 0.0), (6.5, 0.0), (4.0, 0.0)):
        frame, visible = stages[world].draw(scene([Thing(8.0, z, 0.0, red)], heading=heading))
        assert (frame.shape, frame.dtype, visible) == ((SIZE, SIZE, 3), np.uint8, [True])
        column = HALF + SCALE * (z - 5) / 3
        assert is_red(frame, row, column)
        assert not is_red(frame, row, SIZE - 1 - column + 12)
        assert not is_red(frame, row - 12, column)
    frame, visible = stages[world].draw(scene([Thing(2.0, 5.0, 0.0, red)], heading=math.pi))
    assert is_red(frame, row, HALF)
    assert visible == [True]


@pytest.mark.parametrize("world", WORLDS)
def test_balls_behind_or_beside_are_not_visible(stages, world):
    balls = [Thing(3.0, 5.0, 0.0, 0), Thing(5.5, 8.0, 0.0, 1)]
    assert stages[world].draw(scene(balls))[1] == [False, False]


def test_what_stands_before_a_ball_hides_it(stages):
    ball = Thing(9.0, 5.0, 0.0, 0)
    pine = Thing(6.0, 5.0, 0.0, 1)
    assert stages["outdoors"].draw(scene([ball]))[1] == [True]
    assert stages["outdoors"].draw(scene([ball], props=(pine,)))[1] == [False]


@pytest.mark.parametrize("pitch", [-0.17, 0.0, 0.17])
def test_the_horizon_is_where_geometry_says(stages, pitch):
    frame, _ = stages["outdoors"].draw(scene(pitch=pitch))
    row = SIZE * horizon(pitch)
    red, green, blue = (frame[..., channel].astype(int) for channel in range(3))
    sky = (blue > 200) & (blue > red + 40) & (blue >= green)
    assert sky[: math.floor(row)].all()
    assert not sky[math.ceil(row) + 2 :].any()


@pytest.mark.parametrize("world", WORLDS)
def test_the_four_walls_differ(stages, world):
    """Opposite walls by their light, others by their colour, so that one frame tells the heading."""
    east, north, west, south = (
        stages[world].draw(scene(heading=turn * math.pi / 2))[0][34:37, 28:36].mean((0, 1)) for turn in range(4)
    )
    assert abs(east.mean() - west.mean()) > 20
    assert abs(north.mean() - south.mean()) > 20
    for one in (east, west):
        for other in (north, south):
            assert np.abs(one / one.sum() - other / other.sum()).max() > 0.03


def test_the_foot_of_the_wall_ahead_tells_its_distance(stages):
    """The floor in the middle column ends at the foot of the wall ahead: a slope of 1.5/d below the horizon."""
    for distance in (3.0, 6.0):
        frame, _ = stages["indoors"].draw(scene(x=10 - distance))
        foot = HALF + SCALE * 1.5 / distance
        above, below = (frame[round(foot) + side, 20:44].astype(float).mean(0) for side in (-3, 3))
        assert np.abs(above - below).max() > 10


def test_worlds_look_different_and_frames_come_out_the_same_again(stages):
    one = make_scene(0, "train", 3)
    frames = {world: stages[world].draw(one)[0] for world in WORLDS}
    assert np.abs(frames["outdoors"].astype(int) - frames["indoors"].astype(int)).mean() > 30
    stages["outdoors"].draw(make_scene(0, "train", 4))
    np.testing.assert_array_equal(stages["outdoors"].draw(one)[0], frames["outdoors"])


def test_rendered_frames_have_their_factors(stages, monkeypatch):
    monkeypatch.setattr(render, "open_stage", lambda world, first: stages[world])
    found = {world: render.rendered(world, "test", count=12, seed=5) for world in WORLDS}
    for world, (images, factors) in found.items():
        assert images.shape == (12, SIZE, SIZE, 3)
        assert 0 < factors["ball_visible"].sum() <= 12
        assert len(np.unique(images.reshape(12, -1), axis=0)) == 12
        np.testing.assert_array_equal(images[7], stages[world].draw(make_scene(5, "test", 7))[0])
    for name in ("heading_sin", "heading_cos", "wall_distance", "horizon", "room_size", "x", "z"):
        np.testing.assert_array_equal(found["outdoors"].factors[name], found["indoors"].factors[name])


def test_a_view_without_room_for_a_ball_gets_none() -> None:
    # An eye that looks at a wall from so near, and so obliquely, that no ball fits in between: one is elsewhere.
    assert [len(make_scene(0, "train", index).balls) for index in (1145, 3154, 3380)] == [1, 1, 1]
