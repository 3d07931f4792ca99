"""Adding images that an agent acted on to a batch."""

from __future__ import annotations

from typing import Any, Protocol, overload

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from vase.images import as_bytes
from vase.imagination.actions import Action
from vase.nn.likelihood import Images
from vase.worlds.world import Batch


class Acted(Protocol):
    """What came of acting on images."""

    @property
    def images(self) -> Float[np.ndarray, "B C H W"]:
        """The images afterwards, in [0, 1]."""


class Agent(Protocol):
    """Acts on images: an `Explorer`, `RandomActions`, or one of your own."""

    action: Action

    def images(self, images: Any) -> Images:
        """Images of any accepted kind as a tensor."""

    def imagine(self, images: Any, *, rng: np.random.Generator) -> Acted:
        """Act once on each image; all randomness comes from `rng`."""


@overload
def augmented(
    batch: np.ndarray | Tensor, agent: Agent, share: float = 0.5, *, rng: np.random.Generator
) -> np.ndarray: ...
@overload
def augmented(batch: Batch, agent: Agent, share: float = 0.5, *, rng: np.random.Generator) -> Batch: ...
def augmented(
    batch: Batch | np.ndarray | Tensor, agent: Agent, share: float = 0.5, *, rng: np.random.Generator
) -> Batch | np.ndarray:
    """A batch, followed by imagined versions of a share of its images (App.: x* is added to the training data).

    The type stays: uint8 images are joined by uint8 ones. In a `Batch`, factors in whole numbers, such as the label,
    are those of the image that was acted on; measurements, such as the position, are NaN where the image is imagined.
    All randomness comes from `rng`.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share={share}: must lie in [0, 1], the part of the batch that is imagined anew.")
    images = batch.images if isinstance(batch, Batch) else batch
    x = agent.images(images).cpu().numpy()
    whole = images.dtype in (np.uint8, torch.uint8)
    chosen = np.sort(rng.choice(len(x), size=round(share * len(x)), replace=False))
    x = np.concatenate([x, agent.imagine(x[chosen], rng=rng).images]) if len(chosen) else x
    joined = as_bytes(x) if whole else x
    if not isinstance(batch, Batch):
        return joined
    return Batch(joined, {name: _continued(np.asarray(values), chosen) for name, values in batch.factors.items()})


def _continued(values: np.ndarray, chosen: Int[np.ndarray, "n"]) -> np.ndarray:
    """A factor of a batch and of what was made of some of its images: whole numbers stay, measurements are unknown."""
    more = np.full_like(values[chosen], np.nan) if np.issubdtype(values.dtype, np.floating) else values[chosen]
    return np.concatenate([values, more])
