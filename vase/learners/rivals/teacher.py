"""The teacher of generative replay: a frozen copy of the networks, and how many worlds lie behind it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from vase.nn.networks import Networks


class Teacher:
    """The networks as they were at the last boundary."""

    def __init__(self, live: Networks) -> None:
        self.networks: Networks | None = None
        self.past = 0
        """Boundaries crossed so far."""
        self._live = live

    def follow(self) -> None:
        """At a boundary: freeze a copy of the live networks."""
        self.networks = self._frozen()
        self.past += 1

    def _frozen(self) -> Networks:
        return copy.deepcopy(self._live).requires_grad_(False).eval()

    def state_dict(self) -> dict[str, Any]:
        """The copy, if there is one, and the count."""
        return {"past": self.past, "networks": None if self.networks is None else self.networks.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.past, self.networks = state["past"], None
        if state["networks"] is not None:
            self.networks = self._frozen()
            self.networks.load_state_dict(state["networks"])
