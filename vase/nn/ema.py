"""An exponential moving average of network weights."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from vase.nn.networks import Networks


class EMANetworks:
    """Networks whose weights follow those of the live ones slowly: θ ← decay·θ + (1 − decay)·live."""

    def __init__(self, live: Networks, decay: float) -> None:
        self.nets = copy.deepcopy(live).requires_grad_(False).eval()
        self._live, self._decay = live, decay
        self._pairs: tuple[list[Tensor], list[Tensor]] | None = None
        self._buffers: list[tuple[Tensor, Tensor]] = []

    @torch.no_grad()
    def update_ema(self) -> None:
        """Follow the live weights by one step; buffers are copied."""
        if self._pairs is None:
            self._pairs = list(self.nets.parameters()), list(self._live.parameters())
            self._buffers = list(zip(self.nets.buffers(), self._live.buffers(), strict=True))
        torch._foreach_lerp_(*self._pairs, 1 - self._decay)
        for mine, live in self._buffers:
            mine.copy_(live)

    def copy_room(self) -> None:
        """Take over new environments' rows of the live networks."""
        self.nets.copy_room(self._live)
        self._pairs = None

    def copy_live(self) -> None:
        """Start again from the live weights."""
        self.nets.load_state_dict(self._live.state_dict())

    def state_dict(self) -> dict[str, Any]:
        """The averaged weights."""
        return self.nets.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.nets.load_state_dict(state)
