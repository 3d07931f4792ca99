"""The dreaming feedback loop (Eq. 7): distances between the current networks and the snapshot on dreamt images."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor


def encoder_proximity(
    mean: Float[Tensor, "B N"],
    log_var: Float[Tensor, "B N"],
    old_mean: Float[Tensor, "B N"],
    old_log_var: Float[Tensor, "B N"],
    gate: Float[Tensor, "B N"] | None = None,
) -> Float[Tensor, "B"]:
    """Squared 2-Wasserstein distance between diagonal Gaussians: ‖μ−μ'‖² + ‖σ−σ'‖², over latents that are gated in."""
    squares = (mean - old_mean).square() + (torch.exp(0.5 * log_var) - torch.exp(0.5 * old_log_var)).square()
    return (squares if gate is None else squares * gate).sum(1)


def draw_environments(n: int, environments: Sequence[int], generator: torch.Generator) -> Int[Tensor, "n"]:
    """s' for n dreams: uniform over the given environments."""
    return torch.tensor(environments)[torch.randint(len(environments), (n,), generator=generator)]
