"""Experience replay: a reservoir of real images, from which a second batch joins every batch (Vitter 1985)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vase.config import VASEConfig
from vase.learners.arguments import require_number
from vase.learners.records import Step
from vase.learners.rivals.vae import VAE
from vase.nn.likelihood import Images


def reservoir_slots(chance: Float[Tensor, "B"], seen: int, capacity: int) -> Int[Tensor, "B"]:
    """The slot that each new image takes, −1 for none: the n-th image of a stream is kept with probability capacity/n.

    `chance` is uniform in [0, 1), `seen` counts the images before these.

    >>> reservoir_slots(torch.tensor([0.5, 0.5, 0.9]), seen=1, capacity=2).tolist()
    [1, 1, -1]
    """
    count = seen + 1 + torch.arange(len(chance))
    slot = torch.where(count <= capacity, count - 1, (chance.double() * count).long())
    return torch.where(slot < capacity, slot, -1)


class Reservoir:
    """A uniform sample of all images seen so far, as bytes."""

    def __init__(self, capacity: int) -> None:
        self.capacity, self.seen = capacity, 0
        self.images = torch.zeros(0, dtype=torch.uint8)

    def __len__(self) -> int:
        return len(self.images)

    def add(self, x: Images, generator: torch.Generator) -> None:
        """Offer the images of a batch, one after the other."""
        chance = torch.rand(len(x), generator=generator, dtype=torch.float64)
        slots = reservoir_slots(chance, self.seen, self.capacity).tolist()
        self.seen += len(x)
        pixels = to_bytes(x)
        room = min(self.seen, self.capacity)
        if len(self.images) < room:
            new = pixels.new_zeros(room - len(self.images), *pixels.shape[1:])
            self.images = torch.cat([self.images, new]) if len(self.images) else new
        for image, slot in zip(pixels, slots, strict=True):
            if slot >= 0:
                self.images[slot] = image

    def sample(self, n: int, generator: torch.Generator, device: torch.device) -> Images:
        """`n` of the images, with replacement."""
        rows = torch.randint(len(self.images), (n,), generator=generator)
        return from_bytes(self.images[rows], device)

    def state_dict(self) -> dict[str, Any]:
        """The images, and how many were seen."""
        return {"seen": self.seen, "images": self.images}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.seen, self.images = state["seen"], state["images"].clone()


def to_bytes(x: Images) -> Tensor:
    """Images as they are stored."""
    return (x * 255).round().to("cpu", torch.uint8)


def from_bytes(pixels: Tensor, device: torch.device) -> Images:
    """Stored images as the networks take them."""
    return pixels.to(device=device, dtype=torch.float32) / 255


class ReservoirReplay(VAE):
    """Each batch is joined by as many images of the reservoir, in one mean loss; then the batch is offered to it."""

    def __init__(
        self, config: VASEConfig | None = None, *, seed: int = 0, device: str = "auto", images: int | str = 1000
    ) -> None:
        super().__init__(config, seed=seed, device=device)
        self.reservoir = Reservoir(require_number("images", images, int, minimum=1))
        self.parts["reservoir"] = self.reservoir

    def learn(self, x: Images) -> Step:
        """One gradient step on the batch and a batch of the past."""
        replayed = [self.reservoir.sample(len(x), self.generator, self.device)] if len(self.reservoir) else []
        step = self.update(*self.loss(torch.cat([x, *replayed])))
        self.reservoir.add(x, self.generator)
        return step
