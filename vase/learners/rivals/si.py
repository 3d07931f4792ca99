"""Synaptic intelligence (Zenke et al. 2017): weights are held by what they did for the loss on their way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from vase.config import VASEConfig
from vase.learners.arguments import require_number
from vase.learners.rivals.penalised import Penalised
from vase.learners.rivals.penalty import QuadraticPenalty, Tensors, named, unnamed


class PathIntegral:
    """W = −Σ g·Δθ along the path of each weight since the last consolidation, g the gradient without the penalty."""

    def __init__(self, penalty: QuadraticPenalty) -> None:
        self._penalty = penalty
        self.contribution: Tensors = [torch.zeros_like(weight) for weight in penalty.weights]
        self.start = penalty.copy_weights()

    def gradients(self) -> Tensors:
        """Copies of the gradients as they are now."""
        return [torch.zeros_like(w) if w.grad is None else w.grad.clone() for w in self._penalty.weights]

    @torch.no_grad()
    def advance(self, gradients: Tensors, before: Tensors) -> None:
        """The weights moved from `before` to where they are, down these gradients."""
        for total, gradient, old, weight in zip(
            self.contribution, gradients, before, self._penalty.weights, strict=True
        ):
            total -= gradient * (weight - old)

    @torch.no_grad()
    def importance(self, damping: float) -> Tensors:
        """W/(Δ² + ε), where that is positive: Δ is how far the weight has come."""
        pairs = zip(self.contribution, self.start, self._penalty.weights, strict=True)
        return [(total / ((weight - start).square() + damping)).clamp_min(0) for total, start, weight in pairs]

    def restart(self) -> None:
        """Begin a new path here."""
        self.contribution = [torch.zeros_like(weight) for weight in self._penalty.weights]
        self.start = self._penalty.copy_weights()

    def state_dict(self) -> dict[str, Any]:
        """Contributions and starts, by the names of the weights."""
        names = self._penalty.names
        return {"contribution": named(names, self.contribution), "start": named(names, self.start)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        names, weights = self._penalty.names, self._penalty.weights
        self.contribution = unnamed(names, state["contribution"], weights)
        self.start = unnamed(names, state["start"], weights)


class SI(Penalised):
    """Ω += W/(Δ² + ε) at each boundary, and c·ΣΩ(θ − θ*)² beside the loss, with θ* of the last one.

    Without boundaries it consolidates every 100 batches. `strength` is c.
    """

    def __init__(
        self,
        config: VASEConfig | None = None,
        *,
        seed: int = 0,
        device: str = "auto",
        boundaries: str | int = 100,
        strength: float | str = 100.0,
        damping: float | str = 0.1,
    ) -> None:
        c = require_number("strength", strength, float, minimum=0)
        super().__init__(config, seed=seed, device=device, boundaries=boundaries, strength=2 * c)
        self.damping = require_number("damping", damping, float, minimum=1e-12)
        self.path = PathIntegral(self.penalty)
        self.parts["path"] = self.path

    def step_optimiser(self) -> None:
        """Move the weights, and note what each of them contributed."""
        gradients, before = self.path.gradients(), self.penalty.copy_weights()
        super().step_optimiser()
        self.path.advance(gradients, before)

    def cross_boundary(self) -> None:
        """Add the contributions of the path to the importances."""
        new = self.path.importance(self.damping)
        self.penalty.replace([old + more for old, more in zip(self.penalty.importance, new, strict=True)])
        self.path.restart()
