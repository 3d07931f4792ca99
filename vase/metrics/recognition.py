"""Recognition: does a stranger, who knows real images and not the learner, see in a reconstruction what was there?

Errors of pixels do not tell: a blurred 3 may be near to a 3 in pixels and look like an 8. A classifier that was trained
on real images stands in for the stranger.
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
class StrangerSettings:
    """How the classifier of real images is trained."""

    filters: int = 16
    hidden: int = 128
    updates: int = 1_500
    batch: int = 128
    lr: float = 2e-3  # Adam's, falling to 0


class Stranger(nn.Module):
    """A small convolutional network from images (B, C, H, W) to scores of classes (B, K)."""

    def __init__(self, image_shape: tuple[int, int, int], classes: int, settings: StrangerSettings):
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


def train_stranger(batch: Batch, settings: StrangerSettings | None = None, *, seed: int = 0) -> Stranger:
    """A classifier of real images, with the factor "label" as their classes."""
    settings = settings or StrangerSettings()
    x, labels = torch.from_numpy(as_floats(batch.images)), _labels(batch)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        stranger = Stranger((x.shape[1], x.shape[2], x.shape[3]), 1 + int(labels.max()), settings)
    generator = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.Adam(stranger.parameters(), lr=settings.lr)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, settings.updates)
    for _ in range(settings.updates):
        rows = torch.randint(len(x), (settings.batch,), generator=generator)
        optimiser.zero_grad()
        nn.functional.cross_entropy(stranger(x[rows]), labels[rows]).backward()
        optimiser.step()
        schedule.step()
    return stranger


@torch.no_grad()
def classes_seen(stranger: Stranger, images: np.ndarray) -> Int64[np.ndarray, " B"]:
    """The class that the stranger sees in each image."""
    parts = torch.from_numpy(as_floats(images)).split(_CHUNK)
    found: np.ndarray = torch.cat([stranger(part).argmax(1) for part in parts]).numpy()
    return found


def recognised(stranger: Stranger, images: np.ndarray, batch: Batch) -> float:
    """Share of `images`, of the same objects as the batch, in which the stranger sees the true class."""
    return float((classes_seen(stranger, images) == _labels(batch).numpy()).mean())


def _labels(batch: Batch) -> Int64[Tensor, " B"]:
    return torch.from_numpy(np.asarray(batch.factors["label"], np.int64))
