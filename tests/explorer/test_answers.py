from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from vase.explorer.answers import about, animation, decoded, likely_environment, mixed
from vase.explorer.models import Model
from vase.explorer.questions import image
from vase.images import as_bytes, as_floats
from vase.learners.records import Inference
from vase.plots.run import held_out, open_run
from vase.training import RunDirectory


@pytest.fixture(scope="module")
def images(run: RunDirectory) -> dict[int, np.ndarray]:
    _, plan, record = open_run(run)
    return {s: held_out(plan, world, s, 32) for s, world in record.world_of.items()}


def test_what_is_said_about_an_image_is_what_the_learner_says(model: Model, images: dict[int, np.ndarray]) -> None:
    x = images[1][0]
    said, found = about(model.answers, x), model.answers.infer_environment(x[None])
    assert (said["verdict"], said["reasons"]) == (found.verdict, list(found.reasons))
    assert said["posterior"] == pytest.approx(found.posterior.tolist(), abs=1e-5)
    assert said["code"] == pytest.approx(model.learner.posterior(x[None])[0][0].tolist(), abs=1e-5)
    assert said["environment"] == 1
    for s, one in enumerate(said["as"]):
        wanted = model.answers.reconstruct(x[None], environment=s)[0]
        assert np.array_equal(image(one, "picture", model.shape), as_bytes(wanted))
        assert one["error"] == pytest.approx(np.sqrt(np.square(wanted - as_floats(x)).mean()), abs=1e-4)


def test_without_any_probability_the_nearest_environment_counts() -> None:
    posterior, effects = np.array([0, 0, 0, 1.0]), np.array([np.nan, 9.0, 4.0])
    found = Inference(np.ones(3) / 3, np.ones((1, 3)) / 3, None, "new", (), posterior=posterior, effects=effects)
    assert likely_environment(found) == 2
    assert likely_environment(replace(found, posterior=np.array([0, 0.1, 0, 0.9]))) == 1


def test_a_mixture_in_context_is_what_the_learner_says(model: Model, images: dict[int, np.ndarray]) -> None:
    first, second = images[0][3], images[1][4]
    said = mixed(model.answers, first, second, 0.25, {s: q[:16] for s, q in model.contexts.items()})
    blend = 0.75 * as_floats(first) + 0.25 * as_floats(second)
    assert np.array_equal(image(said, "picture", model.shape), as_bytes(blend))
    for s in (0, 1):
        found = model.answers.infer_environment(blend[None], context=images[s][:16])
        assert said["among"][str(s)] == pytest.approx(found.probabilities.tolist(), abs=1e-4)
    alone = model.answers.infer_environment(blend[None])
    assert said["probabilities"] == pytest.approx(alone.probabilities.tolist(), abs=1e-5)


def test_codes_are_decoded_each_in_its_own_environment(model: Model) -> None:
    codes = np.random.default_rng(0).standard_normal((5, model.learner.n_latents)).astype(np.float32)
    places = np.array([1, 0, 0, 1, 0])
    found = decoded(model.answers, codes, places)
    for code, s, pixels in zip(codes, places.tolist(), found, strict=True):
        wanted = as_bytes(model.answers.decode(code[None], environment=s))[0]
        assert np.abs(np.moveaxis(pixels, -1, 0).astype(int) - wanted).max() <= 1


@pytest.mark.parametrize("depth", [1, 3])
def test_an_animation_has_its_frames_and_its_grid(depth: int) -> None:
    frames = np.zeros((4, 3, 16, 20, depth), np.uint8)
    frames[2] = 200
    opened = Image.open(io.BytesIO(animation(frames, columns=2)))
    assert opened.n_frames == 3  # Pillow merges the first two, which are equal
    assert opened.size == (4 * 41, 4 * 33)  # two pictures and a gap
    assert opened.info["loop"] == 0
    opened.seek(1)
    assert opened.convert("L").getpixel((0, 0)) == 200
