"""Scenes drawn by MiniWorld, outdoors or indoors. Only `render` imports this, once pyglet is headless."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import UInt8
from miniworld.entity import Ball, MeshEnt
from miniworld.miniworld import MiniWorldEnv, Room, gen_texcs_floor, gen_texcs_wall
from miniworld.opengl import Texture
from miniworld.params import DEFAULT_PARAMS
from pyglet import gl

from vase.worlds.rooms.scenes import BALL, COLOURS, EYE, FIELD, SIZE, Scene

SHOWN = 2  # pixels that a ball covers at least if it can be seen
SUN = (0.8, 1.0, 0.45)  # where light comes from: east, above, south. It tells opposite walls apart.


class Surface(NamedTuple):
    """A texture of MiniWorld, and how much of its red, green and blue is left."""

    texture: str
    tint: tuple[float, float, float] = (1.0, 1.0, 1.0)


class Look(NamedTuple):
    """What makes a world look different from the other one: textures, walls, props and light."""

    floor: Surface
    ground: float  # how far the floor goes on behind the walls
    walls: tuple[Surface, Surface]  # of the eastern and western walls, and of the northern and southern ones
    wall_height: float
    ceiling: Surface | None
    props: tuple[tuple[str, float], tuple[str, float]]  # mesh and height of the two kinds
    sky: tuple[float, float, float]
    light: tuple[float, float, float]
    ambient: tuple[float, float, float]


LOOKS = {
    "outdoors": Look(
        floor=Surface("grass"),
        ground=60.0,
        walls=(Surface("rock"), Surface("picket_fence", (1.0, 0.75, 0.5))),
        wall_height=1.2,
        ceiling=None,
        props=(("tree", 3.0), ("tree_pine", 3.2)),
        sky=(0.45, 0.75, 1.0),
        light=(0.75, 0.72, 0.6),
        ambient=(0.3, 0.3, 0.34),
    ),
    "indoors": Look(
        floor=Surface("wood_planks", (1.0, 0.85, 0.55)),
        ground=0.0,
        walls=(Surface("brick_wall"), Surface("stucco")),
        wall_height=2.8,
        ceiling=Surface("ceiling_tiles"),
        props=(("office_desk", 1.4), ("office_chair", 1.5)),
        sky=(0.0, 0.0, 0.0),
        light=(0.9, 0.85, 0.75),
        ambient=(0.55, 0.5, 0.45),
    ),
}


class Stage(MiniWorldEnv):
    """Draws scenes in one look."""

    def __init__(self, look: Look, scene: Scene) -> None:
        self.look, self.scene = look, scene
        params = DEFAULT_PARAMS.copy()
        params.set("sky_color", list(look.sky))
        params.set("light_color", list(look.light))
        params.set("light_ambient", list(look.ambient))
        params.set("light_pos", [place - 1 for place in SUN])  # MiniWorld adds 1 and takes it as a direction
        params.set("cam_height", EYE)
        params.set("cam_fov_y", math.degrees(FIELD))
        super().__init__(obs_width=SIZE, obs_height=SIZE, window_width=SIZE, window_height=SIZE, params=params)

    def draw(self, scene: Scene) -> tuple[UInt8[np.ndarray, "64 64 3"], list[bool]]:
        """The frame, and for each ball whether it can be seen."""
        self.scene = scene
        frame, _ = self.reset()
        return np.asarray(frame, np.uint8), [ball.pixels() >= SHOWN for ball in self.balls]

    def _gen_world(self) -> None:
        scene = self.scene
        self.rooms.append(_Room(scene.side, self.look))
        self.params.set("cam_pitch", math.degrees(scene.pitch))
        self.place_agent(pos=np.array([scene.x, 0.0, scene.z]), dir=scene.heading)
        for prop in scene.props:
            mesh, height = self.look.props[prop.kind]
            thing = MeshEnt(mesh, height=height, static=False)
            self.place_entity(thing, pos=np.array([prop.x, 0.0, prop.z]), dir=prop.turn)
        self.balls = [_Ball(COLOURS[ball.kind]) for ball in scene.balls]
        for ball, at in zip(self.balls, scene.balls, strict=True):
            self.place_entity(ball, pos=np.array([at.x, 0.0, at.z]), dir=at.turn)


class _Ball(Ball):
    """A ball that knows how much of it is seen; what may hide it must be drawn before."""

    def __init__(self, colour: str) -> None:
        super().__init__(colour, size=BALL)
        self.query, self.per_pixel = (gl.GLuint * 1)(), (gl.GLint * 1)()

    def render(self) -> None:
        """Draw it, and have its samples counted."""
        gl.glGetIntegerv(gl.GL_SAMPLES, self.per_pixel)
        gl.glGenQueries(1, self.query)
        gl.glBeginQuery(gl.GL_SAMPLES_PASSED, self.query[0])
        super().render()
        gl.glEndQuery(gl.GL_SAMPLES_PASSED)

    def pixels(self) -> float:
        """Pixels that it covered when it was drawn; to be asked once."""
        found = (gl.GLuint * 1)()
        gl.glGetQueryObjectuiv(self.query[0], gl.GL_QUERY_RESULT, found)
        gl.glDeleteQueries(1, self.query)
        return found[0] / max(self.per_pixel[0], 1)


class _Room(Room):
    """A square room with two kinds of walls, whose floor may go on behind them."""

    def __init__(self, side: float, look: Look) -> None:
        corners = np.array([[side, side], [side, 0.0], [0.0, 0.0], [0.0, side]])  # east, north, west, south wall
        names = [surface.texture for surface in (look.floor, look.walls[0], look.ceiling or look.floor)]
        super().__init__(corners, look.wall_height, *names)
        self.look = look

    def _gen_static_data(self, params: Any, rng: Any) -> None:
        super()._gen_static_data(params, rng)
        self.wall_textures = [Texture.get(wall.texture) for wall in self.look.walls]

    def _render(self) -> None:
        look = self.look
        low, high = -look.ground, self.max_x + look.ground
        floor = np.array([[high, 0.0, high], [high, 0.0, low], [low, 0.0, low], [low, 0.0, high]])
        _quad(look.floor, self.floor_tex, floor, gen_texcs_floor(self.floor_tex, floor), (0, 1, 0))
        if look.ceiling:
            _quad(look.ceiling, self.ceil_tex, self.ceil_verts, self.ceil_texcs, (0, -1, 0))
        for wall in range(4):
            surface, texture = look.walls[wall % 2], self.wall_textures[wall % 2]
            places = gen_texcs_wall(texture, 0, 0, self.max_x, look.wall_height)
            corners = self.wall_verts[4 * wall : 4 * wall + 4]
            _quad(surface, texture, corners, places, tuple(self.wall_norms[4 * wall]))


def _quad(
    surface: Surface, texture: Texture, corners: np.ndarray, places: np.ndarray, normal: tuple[float, ...]
) -> None:
    texture.bind()
    gl.glColor3f(*surface.tint)
    gl.glBegin(gl.GL_QUADS)
    gl.glNormal3f(*normal)
    for corner, place in zip(corners, places, strict=True):
        gl.glTexCoord2f(*place)
        gl.glVertex3f(*corner)
    gl.glEnd()
