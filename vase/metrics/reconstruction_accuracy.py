"""Classification accuracy of reconstructions: does an image, decoded again, still show what was there?

The error of pixels does not tell: a blurred 3 may be near to a 3 in pixels and look like an 8. A reference classifier,
which was trained on real images and has never seen the learner, does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch import Tensor, nn

from vase.images import as_floats
from vase.worlds.world import Batch

_CHUNK = 512


@dataclass(frozen=True)
class ClassifierSettings:
    """How the reference classifier is trained."""

    filters: int = 16
    hidden: int = 128
    updates: int = 1_500
    batch: int = 128
    lr: float = 2e-3  # Adam's, falling to 0


class ReferenceClassifier(nn.Module):
    """A small convolutional network from images (B, C, H, W) to scores of classes (B, K)."""

    def __init__(self, image_shape: tuple[int, int, int], classes: int, settings: ClassifierSettings):
        super().__init__()
        channels, height, width = image_shape
        f, features = settings.filters, 2 * settings.filters * -(-height // 4) * -(-width // 4)
        self.layers = nn.Sequential(
            *(nn.Conv2d(channels, f, 3, stride=2, padding=1), nn.ReLU()),
            *(nn.Conv2d(f, 2 * f, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten()),
            *(nn.Linear(features, settings.hidden), nn.ReLU(), nn.Linear(settings.hidden, classes)),
        )

    def forward(self, x: Float32[Tensor, "B C H W"]) -> Float32[Tensor, "B K"]:
        """Scores of classes."""
        scores: Tensor = self.layers(x)
        return scores


def train_reference_classifier(
    batch: Batch, settings: ClassifierSettings | None = None, *, seed: int = 0
) -> ReferenceClassifier:
    """A classifier of real images, with the factor "label" as their classes."""
    settings = settings or ClassifierSettings()
    x, labels = torch.from_numpy(as_floats(batch.images)), _labels(batch)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        classifier = ReferenceClassifier((x.shape[1], x.shape[2], x.shape[3]), 1 + int(labels.max()), settings)
    generator = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.Adam(classifier.parameters(), lr=settings.lr)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, settings.updates)
    for _ in range(settings.updates):
        rows = torch.randint(len(x), (settings.batch,), generator=generator)
        optimiser.zero_grad()
        nn.functional.cross_entropy(classifier(x[rows]), labels[rows]).backward()
        optimiser.step()
        schedule.step()
    return classifier


@torch.no_grad()
def predicted_classes(classifier: ReferenceClassifier, images: np.ndarray) -> Int64[np.ndarray, " B"]:
    """The likeliest class of each image."""
    parts = torch.from_numpy(as_floats(images)).split(_CHUNK)
    found: np.ndarray = torch.cat([classifier(part).argmax(1) for part in parts]).numpy()
    return found


def accuracy_on(classifier: ReferenceClassifier, images: np.ndarray, batch: Batch) -> float:
    """Accuracy on `images` with the labels of a batch: its own images, or their reconstructions."""
    return float((predicted_classes(classifier, images) == _labels(batch).numpy()).mean())


def _labels(batch: Batch) -> Int64[Tensor, " B"]:
    return torch.from_numpy(np.asarray(batch.factors["label"], np.int64))
