"""Images from a whole visit to an environment, in little memory: they tell which latents it needs when it is left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from vase.nn.likelihood import Images

GROUPS = 16
"""Batches, at most, of which images are kept."""
EVERY = 4
"""Of such a batch, every fourth image is kept."""


class VisitSample:
    """Images of every `stride`-th batch since the environment was entered.

    Whenever there are too many, every second group is given up and the stride doubles, so that a visit of any length is
    covered evenly. The last batches alone would not do: those of a still camera show one moment of its world.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """A new visit begins."""
        self.groups: list[Images] = []
        self.stride, self.batches = 1, 0

    def add(self, x: Images) -> None:
        """Keep images of a batch, if it is its turn."""
        if self.batches % self.stride == 0:
            self.groups.append(x[::EVERY].clone())
        self.batches += 1
        if len(self.groups) > GROUPS:
            self.groups = self.groups[::2]
            self.stride *= 2

    def state_dict(self) -> dict[str, Any]:
        """The images, and how far the visit has come."""
        images = {f"{i:03d}": x for i, x in enumerate(self.groups)}
        return {"stride": self.stride, "batches": self.batches, "images": images}

    def load_state_dict(self, state: Mapping[str, Any], device: torch.device | None = None) -> None:
        """Continue from a `state_dict()`."""
        self.stride, self.batches = state["stride"], state["batches"]
        images: Mapping[str, Tensor] = state["images"]
        self.groups = [images[key].to(device, copy=True) for key in sorted(images)]
