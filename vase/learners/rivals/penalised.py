"""A VAE whose weights are held by a quadratic penalty: what EWC, SI and MAS have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from vase.config import VASEConfig
from vase.learners.arguments import require_number
from vase.learners.records import Step
from vase.learners.rivals.boundaries import Bounded
from vase.learners.rivals.penalty import QuadraticPenalty
from vase.learners.rivals.reservoir import to_bytes
from vase.nn.likelihood import Images


class RecentImages:
    """The last images of the current world, as bytes, and how many there were."""

    def __init__(self, capacity: int) -> None:
        self.capacity, self.seen = capacity, 0
        self.images = torch.zeros(0, dtype=torch.uint8)

    def add(self, x: Images) -> None:
        """Keep a batch, at the expense of the oldest images."""
        self.seen += len(x)
        pixels = to_bytes(x)
        self.images = (torch.cat([self.images, pixels]) if len(self.images) else pixels)[-self.capacity :].clone()

    def clear(self) -> None:
        """A new world begins."""
        self.seen, self.images = 0, self.images[:0].clone()

    def state_dict(self) -> dict[str, Any]:
        """The images, and how many there were."""
        return {"seen": self.seen, "images": self.images}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.seen, self.images = state["seen"], state["images"].clone()


class Penalised(Bounded):
    """A VAE whose weights are held by a quadratic penalty."""

    def __init__(
        self,
        config: VASEConfig | None = None,
        *,
        seed: int = 0,
        device: str = "auto",
        boundaries: str | int = "told",
        strength: float | str = 1.0,
    ) -> None:
        super().__init__(config, seed=seed, device=device, boundaries=boundaries)
        self.penalty = QuadraticPenalty(self.networks, require_number("strength", strength, float, minimum=0))
        self.parts["penalty"] = self.penalty

    def step_optimiser(self) -> None:
        """Move the weights along the gradient of loss and penalty."""
        self.penalty.add_gradient()
        self.optimiser.step()

    def learn(self, x: Images) -> Step:
        """One gradient step; the loss that is reported has the penalty in it."""
        held = self.penalty.value()
        step = super().learn(x)
        return replace(step, loss=step.loss + held)
