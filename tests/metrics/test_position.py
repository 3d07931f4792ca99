"""Position latents: which they are, and how text and figures call them."""

from __future__ import annotations

import numpy as np

from vase.metrics.position import axis_names, moves, position_latents, position_sentence
from vase.rows import PositionLatents
from vase.worlds import Batch, make_world


class Shifted:
    """A world whose images say where they are, and an encoder that reads it: z1 = −x, z2 = y, z0 is constant."""

    name, image_shape = "shifted", (1, 2, 1)

    def sample(self, n: int, rng: np.random.Generator) -> Batch:
        x, y = rng.random((2, n))
        images = np.stack([x, y], 1).reshape(n, 1, 2, 1)
        return Batch(images, {"x": x, "y": y})  # type: ignore[arg-type]

    def posterior(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x, y = images.reshape(len(images), 2).T
        mean = np.stack([np.ones_like(x), -x, y + 0.01 * x], 1)
        return mean, np.zeros_like(mean)


def test_position_latents_are_the_most_correlated_ones() -> None:
    world = Shifted()
    found = position_latents(world, world, np.random.default_rng(0))  # type: ignore[arg-type]
    assert found["x"] == {"latent": 1, "correlation": -1.0}
    assert found["y"]["latent"] == 2
    assert found["y"]["correlation"] > 0.999


def test_worlds_that_move() -> None:
    assert moves(Shifted())
    assert moves(make_world("moving-digits"))
    assert not moves(make_world("digits"))


def position(x: tuple[int, float], y: tuple[int, float]) -> PositionLatents:
    axes = ({"latent": latent, "correlation": correlation} for latent, correlation in (x, y))
    return {"world": "moving-mnist", **dict(zip("xy", axes, strict=True))}  # type: ignore[typeddict-item]


def test_axes_are_named_from_a_correlation_of_a_half_on() -> None:
    assert axis_names(position((7, -0.9), (2, 0.5))) == {7: "x", 2: "y"}
    assert axis_names(position((7, 0.49), (2, -0.51))) == {2: "y"}
    assert axis_names(position((7, 0.7), (7, 0.6))) == {7: "xy"}
    assert axis_names(position((7, 0.2), (7, 0.6))) == {7: "y"}


def test_sentences_name_the_same_latents() -> None:
    assert position_sentence(position((7, -0.904), (2, 0.5))) == (
        "x is latent 7 (correlation -0.90), y is latent 2 (correlation +0.50)"
    )
    assert position_sentence(position((7, 0.2), (7, 0.6))) == (
        "no latent is x (best: 7, correlation +0.20), y is latent 7 (correlation +0.60)"
    )
