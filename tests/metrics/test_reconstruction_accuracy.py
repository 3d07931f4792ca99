"""The reference classifier, on stripes that anybody can tell apart."""

import numpy as np
import pytest
import torch

from vase.metrics.reconstruction_accuracy import (
    ClassifierSettings,
    ReferenceClassifier,
    accuracy_on,
    predicted_classes,
    train_reference_classifier,
)
from vase.worlds import Batch

SETTINGS = ClassifierSettings(filters=4, hidden=16, updates=60, batch=32)


def stripes(n: int, seed: int) -> Batch:
    """Horizontal (class 0) and vertical (class 1) stripes with noise."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    rows = np.tile((np.arange(8) % 2 * 200).astype(np.uint8)[:, None], (1, 8))
    images = np.where(labels[:, None, None] == 0, rows, rows.T)[:, None] + rng.integers(0, 50, (n, 1, 8, 8))
    return Batch(images.astype(np.uint8), {"label": labels.astype(np.int64)})


def test_it_sees_what_is_there_and_nothing_else() -> None:
    classifier, batch = train_reference_classifier(stripes(200, 0), SETTINGS), stripes(100, 1)
    assert accuracy_on(classifier, batch.images, batch) == 1.0
    turned = batch.images.swapaxes(2, 3)  # every object is now one of the other class
    assert accuracy_on(classifier, turned, batch) == 0.0
    half = np.concatenate([batch.images[:50], turned[50:]])
    assert accuracy_on(classifier, half, batch) == 0.5
    grey = np.full_like(batch.images, 100)  # all look alike: one class is seen in all
    assert len(set(predicted_classes(classifier, grey))) == 1


def test_bytes_and_floats_are_the_same_images() -> None:
    classifier, batch = train_reference_classifier(stripes(200, 0), SETTINGS), stripes(40, 2)
    floats = batch.images.astype(np.float32) / np.float32(255)
    assert np.array_equal(predicted_classes(classifier, batch.images), predicted_classes(classifier, floats))


def test_the_seed_decides_and_nobody_elses_random_numbers_are_taken() -> None:
    torch.manual_seed(5)
    state = torch.get_rng_state()
    one, again, other = (train_reference_classifier(stripes(50, 0), SETTINGS, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(state, torch.get_rng_state())
    x = torch.rand(3, 1, 8, 8)
    assert torch.equal(one(x), again(x))
    assert not torch.equal(one(x), other(x))


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 9, 14)])
def test_images_of_any_shape(shape: tuple[int, int, int]) -> None:
    assert ReferenceClassifier(shape, 5, SETTINGS)(torch.zeros(2, *shape)).shape == (2, 5)
