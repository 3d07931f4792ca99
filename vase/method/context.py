"""Ambiguous images mean what their surroundings suggest: q(s|x) of images that were met together with others."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

_MAX_ROUNDS = 1000


def in_context(q: Float[Tensor, "*g B K"], context: Float[Tensor, "*g A K"]) -> Float[Tensor, "*g B K"]:
    """q(s|x) of images that were met together with a context: q(s|x)·π_s, normalised.

    Images that are met together come from few worlds, so the mixture π of all of them is the prior of each. It is
    inferred from all: π_s = (1 + Σ q(s|x)·π_s / Σ_t q(t|x)·π_t) / (K + B + A), the rule of succession with every image
    counted as what it is taken for here, the images asked about included. It is the only maximum of a concave posterior
    of π. Leading dimensions are groups of their own.
    """
    every = torch.cat([q, context], -2).double()
    prior = torch.full_like(every[..., :1, :], 1 / q.shape[-1])
    for _ in range(_MAX_ROUNDS):
        before, prior = prior, 1 + _weighted(every, prior).sum(-2, keepdim=True)
        prior = prior / prior.sum(-1, keepdim=True)
        if torch.allclose(before, prior, rtol=0, atol=1e-7):
            break
    return _weighted(q.double(), prior).to(q.dtype)


def _weighted(q: Float[Tensor, "*g B K"], prior: Float[Tensor, "*g 1 K"]) -> Float[Tensor, "*g B K"]:
    weighted = q * prior
    return weighted / weighted.sum(-1, keepdim=True).clamp_min(torch.finfo(q.dtype).tiny)
