"""The dreaming feedback loop (Eq. 7): distances between the current networks and the snapshot on dreamt images."""

from __future__ import annotations

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


def draw_environments(
    n: int, count: int, current: int, generator: torch.Generator, *, include_current: bool = False
) -> Int[Tensor, "n"]:
    """s' for n dreams: uniform over the `count` environments seen, other than the current one."""
    if include_current:
        return torch.randint(count, (n,), generator=generator)
    draw = torch.randint(count - 1, (n,), generator=generator)
    return draw + (draw >= current)
