"""Accuracy of reconstructions at the end of a stream, with learners whose reconstructions are known."""

import json

import numpy as np
import pytest

from vase.experiments import results_of
from vase.experiments.five_datasets import evaluation
from vase.experiments.five_datasets.evaluation import evaluate, first_of_each_class
from vase.experiments.five_datasets.figures import reconstructions
from vase.experiments.five_datasets.settings import FIVE_LONGER
from vase.files import write_arrays
from vase.metrics.reconstruction_accuracy import ClassifierSettings, train_reference_classifier
from vase.training import RunSettings
from vase.training.plan import make_plan
from vase.worlds import Batch


class Copies:
    """Reconstructs every image perfectly, or all of them as the same one."""

    def __init__(self, image=None):
        self.image = image

    def decode(self, z, environment=None):
        raise AssertionError("nobody asks")

    def reconstruct(self, images, environment=None):
        return images if self.image is None else np.broadcast_to(self.image, images.shape)


@pytest.fixture
def plan(monkeypatch):
    quick = ClassifierSettings(filters=8, hidden=32, updates=150, batch=32)
    monkeypatch.setattr(
        evaluation,
        "train_reference_classifier",
        lambda batch, seed: train_reference_classifier(batch, quick, seed=seed),
    )
    monkeypatch.setattr(evaluation, "TRAIN_IMAGES", 400)
    monkeypatch.setattr(evaluation, "TEST_IMAGES", 200)
    return make_plan(RunSettings.of("smoke", stream="digits*4,inverse-digits*4", probes="none", device="cpu"))


def test_the_first_of_each_class() -> None:
    batch = Batch(np.zeros((6, 1, 2, 2), np.uint8), {"label": np.array([2, 0, 2, 0, 5, 2])})
    assert first_of_each_class(batch) == [1, 0, 4]


def test_perfect_reconstructions_are_read_like_images(plan) -> None:
    found = evaluate(Copies(), plan, None)
    for world in ("digits", "inverse-digits"):
        numbers, shown = found.numbers["reconstruction_accuracy"][world], found.pictures[f"reconstructions-{world}"]
        assert numbers["images"] == numbers["reconstructions"] > 0.5
        assert (shown.shape[:2], shown.dtype) == ((2, 10), np.uint8)
        assert np.array_equal(shown[0], shown[1])


def test_reconstructions_that_are_all_alike_are_read_as_one_class(plan) -> None:
    image = plan.worlds["digits"][1].sample(1, np.random.default_rng(0)).images
    numbers = evaluate(Copies(image), plan, None).numbers["reconstruction_accuracy"]["digits"]
    assert numbers["reconstructions"] < 0.2 < numbers["images"]  # a tenth of the digits, give or take
    assert evaluate(object(), plan, None).numbers == {}


def test_a_learner_of_one_world_is_judged_like_one_of_all(monkeypatch) -> None:
    monkeypatch.setattr(evaluation, "train_reference_classifier", lambda batch, seed: batch.images)
    monkeypatch.setattr(
        evaluation, "accuracy_on", lambda classifier, images, batch: float(classifier.sum() + images.sum())
    )
    monkeypatch.setattr(evaluation, "STREAM", "digits,inverse-digits")
    found = []
    for stream in ("digits*4,inverse-digits*4", "inverse-digits*4"):
        plan = make_plan(RunSettings.of("smoke", stream=stream, probes="none", device="cpu"))
        found.append(evaluate(Copies(), plan, None).numbers["reconstruction_accuracy"]["inverse-digits"])
    assert found[0] == found[1]


def test_the_figure_shows_every_world(tmp_path) -> None:
    worlds = ("mnist", "fashion", "moving-mnist")
    folder = tmp_path / "five-longer" / "laptop"
    folder.mkdir(parents=True)
    path = folder / "disentangled-SDA-0.json"
    path.write_text(json.dumps({"stages": [[world, 10] for world in worlds], "config": {}, "rows": []}))
    rng = np.random.default_rng(0)
    pictures = {f"reconstructions-{w}": rng.integers(0, 255, (2, 10, 1, 8, 8), dtype=np.uint8) for w in worlds}
    write_arrays(path.with_suffix(".pictures.npz"), pictures)
    figure = reconstructions(results_of(FIVE_LONGER, "laptop", tmp_path))
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["MNIST", "Fashion", "moving MNIST", ""]
