"""What probes read: images of a world, encoded once, with their targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vase.learners.protocol import Learner
from vase.worlds.world import Batch, position_varies

Kind = Literal["identity", "position"]


class Source(Protocol):
    """Where a probe's images come from: a `World`, or anything else that draws batches with factors."""

    @property
    def image_shape(self) -> tuple[int, int, int]: ...  # noqa: D102
    def sample(self, n: int, rng: np.random.Generator) -> Batch: ...  # noqa: D102


@runtime_checkable
class Finite(Protocol):
    """A source that can show every picture once."""

    def sample_distinct(self, n: int, rng: np.random.Generator) -> Batch:
        """Draw `n` pictures without replacement, all of them if there are fewer."""


class Codes(NamedTuple):
    """Encoded images with the targets of the probes."""

    mean: Float[Tensor, "B N"]
    std: Float[Tensor, "B N"]
    targets: dict[Kind, Tensor]  # labels (B,) and positions (B, 2)


def encode(learner: Learner, batch: Batch, chunk: int = 512) -> Codes:
    """q(z|x) of a batch, a chunk at a time."""
    parts = [learner.posterior(batch.images[i : i + chunk]) for i in range(0, len(batch.images), chunk)]
    mean, std = (torch.from_numpy(np.concatenate(column).astype(np.float32)) for column in zip(*parts, strict=True))
    factors = batch.factors
    targets: dict[Kind, Tensor] = {}
    if "label" in factors:
        targets["identity"] = torch.from_numpy(np.asarray(factors["label"], np.int64))
    if {"x", "y"} <= factors.keys():
        targets["position"] = torch.from_numpy(np.stack([factors["x"], factors["y"]], 1).astype(np.float32))
    return Codes(mean, std, targets)


def probed_kinds(factors: Mapping[str, np.ndarray]) -> list[Kind]:
    """What can be probed: "identity" if classes are known, "position" if objects move."""
    known: dict[Kind, bool] = {"identity": "label" in factors, "position": position_varies(factors)}
    return [kind for kind, present in known.items() if present]


def travel(source: Source) -> int | None:
    """Pixels that an object can travel: canvas minus sprite; None without a sprite size."""
    sprite = getattr(source, "sprite", None)
    return None if sprite is None else source.image_shape[-1] - int(sprite)


def all_pictures(source: Source, most: int, rng: np.random.Generator) -> Batch:
    """Every picture of a held-out world once, at most `most`; a source that cannot is sampled `most` times."""
    draw = source.sample_distinct if isinstance(source, Finite) else source.sample
    return draw(most, rng)
