"""Dreams of past environments, with what the snapshot makes of them (Eq. 7).

The snapshot does not change until the next one is taken, so that neither its dreams nor its answers to them do: a pool
is dreamt once, and every step draws from it. That saves the snapshot's decoding and encoding in each step.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vase.learners.representation import CHUNK
from vase.nn.likelihood import Images, Likelihood
from vase.nn.networks import Networks


@dataclass(frozen=True)
class Dreams:
    """z with the environment it is dreamt in, the image it gives, and the snapshot's posterior on that image."""

    s: Int[Tensor, "B"]
    z: Float[Tensor, "B N"]
    gate: Float[Tensor, "B N"]
    """Latents that the environment may see, as 0 and 1."""
    target: Images
    """E[x|z,s] by the snapshot: the image, and what the live decoder shall give for z."""
    floor: Float[Tensor, "B"]
    """The smallest −log p of the target."""
    mean: Float[Tensor, "B N"]
    log_var: Float[Tensor, "B N"]

    @property
    def x(self) -> Images:
        """The dreamt images, as the encoder sees them."""
        return self.target.clamp(0, 1)

    def __len__(self) -> int:
        return len(self.s)

    def take(self, rows: Int[Tensor, "R"]) -> Dreams:
        """Some of them."""
        return Dreams(*(getattr(self, field.name)[rows] for field in fields(self)))

    @property
    def nbytes(self) -> int:
        """Memory that they take."""
        return sum(getattr(self, field.name).nbytes for field in fields(self))


@torch.no_grad()
def dream(
    snapshot: Networks, p: Likelihood, s: Int[Tensor, "B"], noise: Float[Tensor, "B N"], gate: Float[Tensor, "B N"]
) -> Dreams:
    """x' ~ p_θ'(·|z, s') for prior samples z, gated by what the environment s' may see; and q_φ'(z|x')."""
    z = noise * gate
    parts: list[tuple[Tensor, ...]] = []
    for z_part, s_part in zip(z.split(CHUNK), s.split(CHUNK), strict=True):
        target = p.mean(snapshot.decode(z_part, s_part))
        _, mean, log_var = snapshot.encode(target.clamp(0, 1))
        parts.append((target, p.floor(target), mean, log_var))
    target, floor, mean, log_var = (torch.cat(column) for column in zip(*parts, strict=True))
    return Dreams(s, z, gate, target, floor, mean, log_var)
