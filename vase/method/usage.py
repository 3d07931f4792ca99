"""Used latents: the noise that each latent of an environment can bear (App. A.2, "Used latent components")."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vase.nn.likelihood import Likelihood

Decode = Callable[[Tensor], Tensor]
"""z (B, N) → decoder outputs (B, C, H, W), for one environment."""

LARGEST_STD = 1e3
"""Noise tolerance of a latent that the decoder ignores."""


def noise_tolerance(
    decode: Decode,
    z: Float[Tensor, "B N"],
    p: Likelihood,
    active: Bool[Tensor, "N"] | None = None,
    delta: float = 0.01,
    weight: float = 1.0,
) -> Float[Tensor, "N"]:
    """σ_n that minimises E_ε[−log p(x|z+ε_n)] − log σ_n, in closed form.

    To second order in σ_n the objective is const + ½σ_n²H_n − log σ_n, so σ_n = 1/√H_n with the Gauss-Newton curvature
    H_n = Σ_pixels (∂y/∂z_n)²·(−∂² log p/∂y²), times the `weight` of the reconstruction. The derivative is a forward
    difference, which is exact up to kinks for a decoder of ReLUs; all `active` latents go in one batch, and the others,
    which the decoder does not see, in none.
    """
    n = z.shape[1]
    latents = torch.arange(n, device=z.device) if active is None else active.nonzero().flatten().to(z.device)
    shift = delta * torch.eye(n, dtype=z.dtype, device=z.device)[latents]
    y = decode(torch.cat([z, (z[:, None] + shift).flatten(0, 1)]))
    here, moved = y[: len(z)], y[len(z) :].unflatten(0, (len(z), len(latents)))
    slope = (moved - here[:, None]) / delta
    curvature = z.new_zeros(n)
    curvature[latents] = (slope.square() * p.curvature(here)[:, None]).flatten(2).sum(2).mean(0)
    return (weight * curvature).clamp_min(LARGEST_STD**-2).rsqrt()


def close_gates(
    loss: Callable[[Bool[Tensor, "N"]], float],
    noise: Float[Tensor, "N"],
    gate: Bool[Tensor, "N"],
    tolerance: float,
) -> tuple[Bool[Tensor, "N"], float]:
    """The smallest gate that keeps an environment's loss, and that loss.

    Latents are tried in order of falling noise tolerance; one stays shut if `loss(gate)` stays within `tolerance` of
    its value with the given gate. No absolute threshold on σ is needed.
    """
    best = loss(gate)
    limit = best * (1 + tolerance)
    gate = gate.clone()
    for n in noise.argsort(descending=True, stable=True).tolist():
        if gate[n]:
            tried = gate.clone()
            tried[n] = False
            value = loss(tried)
            if value <= limit:
                gate, best = tried, value
    return gate, best
