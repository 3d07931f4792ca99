"""The MDL objective: masked posterior, its KL and the capacity term (Eq. 2 and 3, App. A.3)."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vase.config import CapacityConfig


def sample_posterior(
    mean: Float[Tensor, "B N"], log_var: Float[Tensor, "B N"], mask: Bool[Tensor, "N"], noise: Float[Tensor, "B N"]
) -> Float[Tensor, "B N"]:
    """z^s = a ⊙ N(μ, σ) + (1−a) ⊙ N(0, I) (Eq. 2), from standard normal `noise`."""
    return torch.where(mask, mean + torch.exp(0.5 * log_var) * noise, noise)


def kl_per_latent(
    mean: Float[Tensor, "B N"], log_var: Float[Tensor, "B N"], mask: Bool[Tensor, "N"]
) -> Float[Tensor, "N"]:
    """KL(q(z^s|x) ‖ p(z)) of each latent, averaged over the batch; a masked latent equals the prior: zero."""
    kl = 0.5 * (mean.square() + log_var.exp() - 1 - log_var)
    return torch.where(mask, kl.mean(0), 0.0)


def capacity_target(step: int, config: CapacityConfig) -> float:
    """C(t) = min(C_max, C_max·δC·t) (App. A.3), with δC = 1 / ramp_steps."""
    return config.c_max * min(1.0, step / config.ramp_steps)


def capacity_term(
    kl: Float[Tensor, "N"], target: float, config: CapacityConfig, weight: Float[Tensor, "N"] | None = None
) -> Float[Tensor, ""]:
    """What is added to the reconstruction error.

    'square' is Eq. 3, γ|KL−C|². 'ceiling' is w·KL + γ·max(KL−C, 0)². 'elbo' is KL. `weight` (warm-up of recruited
    latents) scales each latent's share of the plain KL; the squares always see the full KL.
    """
    total = kl.sum()
    plain = total if weight is None else (kl * weight).sum()
    match config.objective:
        case "square":
            return config.gamma * (total - target).square()
        case "ceiling":
            return config.kl_weight * plain + config.gamma * (total - target).clamp_min(0).square()
        case _:
            return plain
