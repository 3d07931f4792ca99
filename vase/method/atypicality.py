"""Atypicality and the latent mask (Eq. 4 and 5; App. A.2, "Atypical latent components")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

DECAY = 0.99
"""Of the running marginal: a hundred batches, since neighbouring ones may be frames of one scene."""


def atypicality(mean: Float[Tensor, "B N"], log_var: Float[Tensor, "B N"]) -> Float[Tensor, "N"]:
    """α_n = KL(E_batch[q(z_n|x)] ‖ N(0,1)) (Eq. 4).

    The batch-marginal is approximated by a Gaussian with its exact moments: mean of μ, and variance of μ plus mean
    of σ². That is what fitting a Gaussian to samples estimates, without the sampling noise.
    """
    return kl_of_moments(moments(mean, log_var))


def moments(mean: Float[Tensor, "B N"], log_var: Float[Tensor, "B N"]) -> Float[Tensor, "3 N"]:
    """Batch means of μ, μ² and σ²: the average over workers of these is that of the whole batch."""
    return torch.stack([mean.mean(0), mean.square().mean(0), log_var.exp().mean(0)])


def marginal(statistics: Float[Tensor, "3 N"]) -> tuple[Float[Tensor, "N"], Float[Tensor, "N"]]:
    """Mean and variance of E_batch[q(z_n|x)], from the `moments` of a batch."""
    m, square, variance = statistics
    return m, (square - m.square()).clamp_min(0) + variance


def kl_of_moments(statistics: Float[Tensor, "3 N"]) -> Float[Tensor, "N"]:
    """α_n from the `moments` of a batch."""
    m, v = marginal(statistics)
    return 0.5 * (v + m.square() - 1 - v.log())


class RunningMarginal:
    """E[q(z|x)] over the last batches of the current visit to an environment, as an average of their `moments`."""

    def __init__(self, n_latents: int) -> None:
        self.count, self.statistics = 0, torch.zeros(3, n_latents)

    def update(self, statistics: Float[Tensor, "3 N"]) -> None:
        """Take note of the moments of a batch."""
        keep = min(DECAY, self.count / (self.count + 1))
        self.statistics = keep * self.statistics + (1 - keep) * statistics
        self.count += 1

    def restart(self) -> None:
        """Forget everything: another environment, or other latents."""
        self.count = 0

    def state_dict(self) -> dict[str, Any]:
        """Count and moments."""
        return dict(vars(self))

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.count, self.statistics = state["count"], state["statistics"].clone()


def update_mask(
    mask: Bool[Tensor, "N"],
    alpha: Float[Tensor, "N"],
    low: float,
    high: float,
    maskable: Bool[Tensor, "N"],
    minimum: int = 0,
) -> Bool[Tensor, "N"]:
    """a_n = 1 if α_n < λ0, 0 if α_n > λ1, unchanged in between (Eq. 5 with the filter of App. A.2).

    A latent that is not `maskable` is always active. At least `minimum` latents, the least atypical ones, stay active:
    an environment without any latent could learn nothing.
    """
    active = torch.where(alpha < low, True, torch.where(alpha > high, False, mask)) | ~maskable
    if int(active.sum()) < minimum:
        active = active.clone()
        active[torch.where(active, -1.0, alpha).argsort(stable=True)[:minimum]] = True
    return active
