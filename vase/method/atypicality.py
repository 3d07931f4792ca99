"""Atypicality and the latent mask (Eq. 4 and 5; App. A.2, "Atypical latent components")."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def atypicality(mean: Float[Tensor, "B N"], log_var: Float[Tensor, "B N"]) -> Float[Tensor, "N"]:
    """α_n = KL(E_batch[q(z_n|x)] ‖ N(0,1)) (Eq. 4).

    The batch-marginal is approximated by a Gaussian with its exact moments: mean of μ, and variance of μ plus mean
    of σ². That is what fitting a Gaussian to samples estimates, without the sampling noise.
    """
    return kl_of_moments(moments(mean, log_var))


def moments(mean: Float[Tensor, "B N"], log_var: Float[Tensor, "B N"]) -> Float[Tensor, "3 N"]:
    """Batch means of μ, μ² and σ²: the average over workers of these is that of the whole batch."""
    return torch.stack([mean.mean(0), mean.square().mean(0), log_var.exp().mean(0)])


def kl_of_moments(statistics: Float[Tensor, "3 N"]) -> Float[Tensor, "N"]:
    """α_n from the `moments` of a batch."""
    m, square, variance = statistics
    v = (square - m.square()).clamp_min(0) + variance
    return 0.5 * (v + m.square() - 1 - v.log())


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
