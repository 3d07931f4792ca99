"""Used, masked, shared and recruited latents, by hand; position latents, and how text and figures call them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from vase.metrics.latents import (
    State,
    axis_latent,
    axis_names,
    learner_states,
    moves,
    position_latents,
    position_sentence,
    recruited_latents,
    row_states,
    seen_latents,
    shared_latents,
    used_flags,
)
from vase.rows import PositionLatents
from vase.worlds import Batch, make_world

KNOWN: Any = [
    {"index": 0, "used": [True, True, False, False, False], "mask": [True, True, True, True, False]},
    {"index": 1, "used": [False, True, True, False, False], "mask": [False, True, False, True, False]},
]
STATES = [
    [State.USED, State.USED, State.UNUSED, State.UNUSED, State.UNUSED],  # z2 is another's, but not masked here
    [State.MASKED, State.USED, State.USED, State.UNUSED, State.UNUSED],  # z4 is masked, but nobody uses it
]


def test_states_of_a_row_by_hand() -> None:
    assert row_states(KNOWN).tolist() == STATES
    assert row_states([]).shape == (0, 0)


def test_states_of_a_learner_are_those_of_its_row() -> None:
    learner: Any = SimpleNamespace(n_latents=5, environment=0, infer_environment=lambda images: None)
    learner.environments = [
        SimpleNamespace(used=np.array(known["used"]), mask=np.array(known["mask"])) for known in KNOWN
    ]
    assert learner_states(learner).tolist() == STATES
    learner.environments = ()
    assert learner_states(learner).shape == (0, 5)


def test_a_learner_without_environments_uses_every_latent() -> None:
    learner: Any = SimpleNamespace(n_latents=3)
    assert learner_states(learner).tolist() == [[State.USED] * 3]


def test_shared_and_recruited_by_hand() -> None:
    used = used_flags(KNOWN)
    assert shared_latents(used) == [1]
    assert recruited_latents(used) == [[0, 1], [2]]
    assert recruited_latents(used_flags([])) == shared_latents(used_flags([])) == []


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
    assert (found["x"]["latent"], found["x"]["correlation"]) == (1, -1.0)
    assert found["y"]["latent"] == 2
    assert found["y"]["correlation"] > 0.999


def test_correlations_of_the_two_best_latents_by_hand() -> None:
    # Centred, x is (−1, 0, 1) and u = (1, −2, 1) is orthogonal to it, so r of x/|x| + u/|u| is 1/√2.
    x, u = np.array([0.0, 0.5, 1.0]), np.array([1.0, -2.0, 1.0])
    half = (x - 0.5) / np.sqrt(0.5) + u / np.sqrt(6)
    found = axis_latent(np.stack([np.ones(3), half, u, -3 * x], 1), x)
    assert found == {"latent": 3, "correlation": -1.0, "second": 0.7071}
    assert axis_latent(half[:, None], x) == {"latent": 0, "correlation": 0.7071, "second": 0.0}


def test_an_environment_sees_what_is_neither_masked_nor_behind_a_closed_gate() -> None:
    views = [
        SimpleNamespace(index=0, mask=np.array([True, True, False]), gate=np.array([True, False, True])),
        SimpleNamespace(index=1, mask=np.array([True, True, True]), gate=np.array([False, True, True])),
    ]
    learner: Any = SimpleNamespace(n_latents=3, environment=1, environments=views, infer_environment=print)
    assert seen_latents(learner, 0).tolist() == [True, False, False]  # type: ignore[union-attr]
    assert seen_latents(learner, 1).tolist() == [False, True, True]  # type: ignore[union-attr]
    assert seen_latents(learner, 2) is seen_latents(learner, None) is None
    assert seen_latents(SimpleNamespace(n_latents=3), 0) is None  # type: ignore[arg-type]


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
