"""What a frame of a 3D world is made of: a square room, an eye in it, balls and props; and the factors that follow.

Both worlds draw the same scenes, so frame i of one has its twin in frame i of the other: same room, same place, same
heading, same balls. Lengths are in metres, angles in radians. A room spans 0..side in x (east) and z (south); heading 0
looks east, and angles grow to the left as seen from above.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

SPLITS = ("train", "test")
COLOURS = ("red", "blue", "yellow", "purple")  # of balls; the factor `ball_colour` counts them from 0
SIZE = 64  # side of a frame in pixels
FIELD = math.radians(75)  # field of view, in both directions
EYE = 1.5  # height of the eye
SIDES = (6.0, 12.0)  # smallest and largest room
PITCH = math.radians(10)  # largest tilt of the view, up or down
MARGIN = 1.0  # between the eye and any wall
NEAR = 2.0  # least distance of the wall ahead: no pose stares at a wall
BALL = 1.0  # diameter of a ball
REACH = 6.0  # largest distance of a ball that is put into view on purpose
IN_VIEW = 0.8  # share of the scenes with such a ball
PROPS = 3  # large things along the walls
_TRIES = 200  # spots that are tried for a ball in view


class Thing(NamedTuple):
    """Something on the floor: where, which way it is turned, and its colour or kind."""

    x: float
    z: float
    turn: float
    kind: int


class Scene(NamedTuple):
    """All that a renderer needs."""

    side: float
    x: float
    z: float
    heading: float
    pitch: float
    balls: tuple[Thing, ...]  # nearest first
    props: tuple[Thing, ...]


def make_scene(seed: int, split: str, index: int) -> Scene:
    """Scene `index` of a split; it depends on these three numbers only."""
    rng = np.random.default_rng([seed, SPLITS.index(split), index])
    side = rng.uniform(*SIDES)
    x, z, heading = _pose(rng, side)
    colours = rng.permutation(len(COLOURS))
    spots: list[tuple[float, float]] = []
    if rng.random() < IN_VIEW and (spot := _ahead(rng, side, x, z, heading)):
        spots.append(spot)
    spots.append(_anywhere(rng, side, [(x, z), *spots]))
    balls = [Thing(*spot, 0.0, int(colour)) for spot, colour in zip(spots, colours, strict=False)]
    balls.sort(key=lambda ball: math.hypot(ball.x - x, ball.z - z))
    props = _along_walls(rng, side, (x, z), spots)
    return Scene(side, x, z, heading, rng.uniform(-PITCH, PITCH), tuple(balls), props)


def distance_to_wall(side: float, x: float, z: float, heading: float) -> float:
    """How far the walls are in a direction."""
    slopes = ((x, math.cos(heading)), (z, -math.sin(heading)))
    return min(((side if slope > 0 else 0.0) - place) / slope for place, slope in slopes if slope)


def bearing(scene: Scene, ball: Thing) -> float:
    """Direction of a ball as seen from the eye: 0 ahead, positive to the right, in (-π, π]."""
    dx, dz = ball.x - scene.x, ball.z - scene.z
    ahead = dx * math.cos(scene.heading) - dz * math.sin(scene.heading)
    right = dx * math.sin(scene.heading) + dz * math.cos(scene.heading)
    return math.atan2(right, ahead)


def horizon(pitch: float) -> float:
    """Height of the horizon in the frame: 0 at the upper edge, 1 at the lower; 0.5 for a level view."""
    return 0.5 + 0.5 * math.tan(pitch) / math.tan(FIELD / 2)


def factors(scene: Scene, visible: Sequence[bool]) -> dict[str, float | int]:
    """Ground truth of a frame: numbers in [0, 1], or whole numbers from 0; `visible` has one value per ball.

    heading_sin, heading_cos: (1 + sin)/2 and (1 + cos)/2 of the heading.
    wall_distance: to the wall ahead, as a share of the largest room's diagonal.
    horizon: its height in the frame, from the upper edge.
    ball_visible, ball_colour, ball_bearing, ball_distance: of the nearest visible ball; if none is visible, of the
        nearest one. Bearing: 0.5 ahead, to the right more, ±0.5 for half a turn. Distance as of the wall.
    room_size: 0 for the smallest room, 1 for the largest.
    x, z: place in the room, 0 at its western or northern wall, 1 at the opposite one.
    """
    shown = [ball for ball, seen in zip(scene.balls, visible, strict=True) if seen]
    ball = (shown or scene.balls)[0]
    diagonal = math.hypot(SIDES[1], SIDES[1])
    return {
        "heading_sin": (1 + math.sin(scene.heading)) / 2,
        "heading_cos": (1 + math.cos(scene.heading)) / 2,
        "wall_distance": distance_to_wall(scene.side, scene.x, scene.z, scene.heading) / diagonal,
        "horizon": horizon(scene.pitch),
        "ball_visible": int(bool(shown)),
        "ball_colour": ball.kind,
        "ball_bearing": 0.5 + bearing(scene, ball) / (2 * math.pi),
        "ball_distance": math.hypot(ball.x - scene.x, ball.z - scene.z) / diagonal,
        "room_size": (scene.side - SIDES[0]) / (SIDES[1] - SIDES[0]),
        "x": scene.x / scene.side,
        "z": scene.z / scene.side,
    }


def _pose(rng: np.random.Generator, side: float) -> tuple[float, float, float]:
    while True:
        x, z = rng.uniform(MARGIN, side - MARGIN, 2).tolist()
        heading = rng.uniform(0, 2 * math.pi)
        if distance_to_wall(side, x, z, heading) >= NEAR:
            return x, z, heading


def _ahead(rng: np.random.Generator, side: float, x: float, z: float, heading: float) -> tuple[float, float] | None:
    """A spot for a ball in the field of view; None before a wall that leaves no room for one."""
    for _ in range(_TRIES):
        direction = heading + rng.uniform(-0.4, 0.4) * FIELD
        distance = rng.uniform(1.5, REACH)
        spot = (x + distance * math.cos(direction), z - distance * math.sin(direction))
        if all(BALL / 2 < place < side - BALL / 2 for place in spot):
            return spot
    return None


def _anywhere(rng: np.random.Generator, side: float, others: list[tuple[float, float]]) -> tuple[float, float]:
    """A spot for a ball away from the others and from the eye."""
    while True:
        x, z = rng.uniform(BALL / 2, side - BALL / 2, 2).tolist()
        if _free(x, z, others, 1.5):
            return x, z


def _along_walls(
    rng: np.random.Generator, side: float, eye: tuple[float, float], balls: list[tuple[float, float]]
) -> tuple[Thing, ...]:
    """Props with their backs to the walls, away from the eye and the balls; a small room may have room for fewer."""
    found: list[Thing] = []
    for _ in range(10 * PROPS):
        wall, along, kind = int(rng.integers(4)), rng.uniform(1, side - 1), int(rng.integers(2))
        x, z = ((side - 0.7, along), (along, 0.7), (0.7, along), (along, side - 0.7))[wall]  # east, north, west, south
        taken = [*balls, *((thing.x, thing.z) for thing in found)]
        if len(found) < PROPS and _free(x, z, [eye], 3.0) and _free(x, z, taken, 1.4):
            found.append(Thing(x, z, (wall + 2) % 4 * math.pi / 2, kind))
    return tuple(found)


def _free(x: float, z: float, others: list[tuple[float, float]], distance: float) -> bool:
    return all(math.hypot(x - a, z - b) >= distance for a, b in others)
