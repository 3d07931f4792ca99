"""Measures of a world at one moment, by hand, for learners that can do more or less."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vase.metrics.worlds import measure_world
from vase.worlds import Batch


class Pair:
    """A world of two pixels, the first white in class 1, and a learner that knows it, as environment 1 best.

    Latent 0 is the label; so is the mean of latent 1, which drowns in noise. Reconstructions are too bright by 0.1 in
    environment 0 and by 0.2 in environment 1; dreams are black and white respectively.
    """

    n_latents, steps, environment, environments = 2, 1, 0, ()

    def __init__(self, verdict: int | None) -> None:
        self.verdict, self.asked = verdict, [0, 0, 0]

    def sample(self, n: int, rng: np.random.Generator) -> Batch:
        label = rng.permutation(n) % 2
        images = np.zeros((n, 1, 1, 2), np.uint8)
        images[:, 0, 0, 0] = 255 * label
        return Batch(images, {"label": label})

    def posterior(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.asked[0] = len(images)
        label = (images[:, 0, 0, 0] / 255).astype(np.float32)
        return np.stack([label, 0.001 * label], 1), np.tile(np.float32([0, 1]), (len(images), 1))

    def decode(self, z: np.ndarray, environment: int) -> np.ndarray:
        raise AssertionError("only reconstructions are asked for")

    def infer_environment(self, images: np.ndarray) -> Any:
        self.asked[1] = len(images)
        return SimpleNamespace(environment=self.verdict, probabilities=np.array([0.3, 0.7]))

    def reconstruct(self, images: np.ndarray, environment: int) -> np.ndarray:
        return images.astype(np.float32) / 255 + [0.1, 0.2][environment]

    def dream(self, n: int, environment: int, seed: int) -> np.ndarray:
        self.asked[2] = n
        return np.full((n, 1, 1, 2), environment, np.float32)


@pytest.mark.parametrize(
    ("verdict", "error", "distance"),
    [
        # Half of the pictures have one white pixel: means ½ and 0, variance ¼. Dreams have no variance.
        (0, 0.01, 0.25 + 0.25),
        (1, 0.04, 0.25 + 1 + 0.25),
        (None, 0.04, 0.25 + 1 + 0.25),  # a new world, pictured as the candidate
    ],
)
def test_measures_of_a_world_by_hand(verdict: int | None, error: float, distance: float) -> None:
    pair = Pair(verdict)
    found = measure_world(pair, pair, np.random.default_rng(0))  # type: ignore[arg-type]
    assert (found["environment"], found["candidate"]) == (verdict, 1)
    assert found["reconstruction"] == pytest.approx(error, rel=1e-5)
    assert found["samples"] == pytest.approx(distance, abs=0.03)  # of a random half
    assert found["samples_floor"] < 0.003
    assert found["information"]["label"] == pytest.approx([1, 0], abs=0.02)
    assert found["mig"] == pytest.approx(1, abs=0.02)
    assert found["sap"] == pytest.approx(1 - 0.5, abs=0.05)  # latent 1 is at chance
    assert found["dci"]["informativeness"] == 1
    assert found["factor_vae"] is None  # one factor
    seen = found["seen"]
    assert seen["latents"] == [True, True]  # the learner tells nothing of its environments
    assert seen["samples"]["information"]["label"] == pytest.approx([1, 0], abs=0.003)
    assert seen["means"]["information"]["label"] == [1, 1]  # the mean of latent 1 is exact, whatever its noise
    assert seen["samples"]["mig"] == pytest.approx(1, abs=0.003)
    assert seen["means"]["mig"] == 0
    assert pair.asked == [2_000, 64, 1_000]
    assert json.loads(json.dumps(found)) == found


def test_latents_that_the_environment_does_not_see_are_absent() -> None:
    pair = Pair(1)
    gate, mask = np.array([False, True]), np.array([True, True])
    pair.environments = (SimpleNamespace(index=0, mask=mask, gate=mask), SimpleNamespace(index=1, mask=mask, gate=gate))  # type: ignore[assignment]
    found = measure_world(pair, pair, np.random.default_rng(0))["seen"]  # type: ignore[arg-type]
    assert found["latents"] == [False, True]
    assert found["means"]["information"]["label"] == [0, 1]
    assert found["means"]["mig"] == 1
    assert found["samples"]["mig"] == pytest.approx(0, abs=0.003)


class Codes:
    """The same codes, from a learner that can do nothing else."""

    def __init__(self) -> None:
        self.posterior = Pair(None).posterior


def test_what_a_learner_cannot_do_is_left_out() -> None:
    able, world = Pair(0), Pair(0)
    whole = measure_world(able, world, np.random.default_rng(0))  # type: ignore[arg-type]
    codes: Any = Codes()
    part = measure_world(codes, world, np.random.default_rng(0))  # type: ignore[arg-type]
    assert set(whole) - set(part) == {"candidate", "reconstruction", "samples", "samples_floor"}
    assert part["environment"] is None
    same = set(part) - {"environment"}
    assert {key: part[key] for key in same} == {key: whole[key] for key in same}  # the same codes, the same numbers
    codes.decode, codes.reconstruct = able.decode, lambda images, environment: images / 255 + (environment is None)
    assert measure_world(codes, world, np.random.default_rng(0))["reconstruction"] == 1  # type: ignore[arg-type]
