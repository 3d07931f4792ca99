"""What is known of each environment, and whether a batch fits it (Eq. 6, Alg. 1)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vase.config import EnvironmentConfig, MaskConfig


@dataclass
class Environment:
    """The memory of one environment s. Its size does not depend on the stream."""

    index: int
    mask: Bool[Tensor, "N"]
    """a^s: latents typical in s (Eq. 5)."""
    gate: Bool[Tensor, "N"]
    """Latents that the decoder of s may see: all for a new environment, u^s once it has been left."""
    used: Bool[Tensor, "N"]
    """u^s: latents on which reconstructions in s depend."""
    calm: Float[Tensor, "N"]
    """Recent atypicality of each latent in s."""
    loss: float = float("nan")
    """L̃_s, the average loss while s was last current."""
    age: int = 0
    """Batches of s learnt so far."""

    @property
    def active(self) -> Bool[Tensor, "N"]:
        """Latents through which information about s flows."""
        return self.mask & self.gate

    def observe(self, loss: float, alpha: Float[Tensor, "N"], decay: float, calm_decay: float = 0.95) -> None:
        """Update L̃_s and the recent atypicality with one learnt batch.

        Both are running averages that start short, at most (1+age)/(10+age), so that the large losses of the first
        batches are soon forgotten.
        """
        start = (1 + self.age) / (10 + self.age) if self.age else 0.0
        keep, keep_calm = min(decay, start), min(calm_decay, start)
        self.loss = loss if self.age == 0 else keep * self.loss + (1 - keep) * loss
        self.calm = keep_calm * self.calm + (1 - keep_calm) * alpha
        self.age += 1


_VECTORS = ("mask", "gate", "used", "calm")
_ROUNDS = 1000
"""Most rounds of the inference of what a company is made of."""


def as_table(environments: list[Environment], n_latents: int) -> dict[str, Tensor]:
    """The memory of all environments as named tensors, one row each."""
    table = {
        "loss": torch.tensor([e.loss for e in environments], dtype=torch.float64),
        "age": torch.tensor([e.age for e in environments]),
    }
    for name in _VECTORS:
        table[name] = torch.stack([getattr(e, name) for e in environments] or [torch.zeros(n_latents)])
    return table


def from_table(table: dict[str, Tensor], count: int) -> list[Environment]:
    """The environments of `as_table`."""
    return [
        Environment(
            i,
            **{name: table[name][i] for name in _VECTORS},
            loss=float(table["loss"][i]),
            age=int(table["age"][i]),
        )
        for i in range(count)
    ]


@dataclass(frozen=True)
class Evidence:
    """A batch seen through one environment: L_s(x) and α(x)."""

    loss: float
    alpha: Float[Tensor, "N"]


def used_by_others(environments: list[Environment], current: int, n_latents: int) -> Bool[Tensor, "N"]:
    """Latents that some environment other than `current` uses: those that a mask must protect."""
    others = [e.used for e in environments if e.index != current]
    return torch.stack(others).any(0) if others else torch.zeros(n_latents, dtype=torch.bool)


def objections(
    environment: Environment, evidence: Evidence, config: EnvironmentConfig, mask: MaskConfig
) -> tuple[str, ...]:
    """Why the batch cannot come from this environment, in words; empty if it fits (Eq. 6, Alg. 1).

    Loss test: L_s(x) ≤ κ·L̃_s. Mask test: every latent used by s is still typical; with `config.abrupt`, only a latent
    that was clearly typical in s before can testify.
    """
    found = []
    s = environment.index
    # A perfect record must not make every batch a stranger: losses are compared above a hundredth of a nat.
    reference = max(environment.loss, 1e-2)
    if not evidence.loss <= config.kappa * reference:
        found.append(
            f"loss {evidence.loss:.1f} is {evidence.loss / reference:.2f} times that of environment {s} "
            f"({environment.loss:.1f}), more than κ = {config.kappa:g}"
        )
    if mask.enabled:
        strange = environment.used & environment.active & (evidence.alpha > mask.high)
        if config.abrupt:
            strange &= environment.calm < mask.low
        latents = strange.nonzero().flatten().tolist()
        if latents:
            values = ", ".join(f"{evidence.alpha[n]:.2f}" for n in latents)
            names = ", ".join(map(str, latents))
            found.append(
                f"latent{'s' * (len(latents) > 1)} {names} of environment {s} became atypical: {values} > {mask.high:g}"
            )
    return tuple(found)


def in_context(q: Float[Tensor, "*g B K"], others: Float[Tensor, "*g A K"]) -> Float[Tensor, "*g B K"]:
    """q(s|x) of images in the company of others, all met together: q(s|x)·π_s, normalised.

    Images that are met together come from few worlds, so what the company is made of, π, is the prior of each of them.
    It is inferred from all: π_s = (1 + Σ q(s|x)·π_s / Σ_t q(t|x)·π_t) / (K + B + A), the rule of succession with
    every image counted as what it is taken for in this company, the images asked about as well. It is the only maximum
    of a concave posterior of π. Leading dimensions are companies of their own.
    """
    every = torch.cat([q, others], -2).double()
    prior = torch.full_like(every[..., :1, :], 1 / q.shape[-1])
    for _ in range(_ROUNDS):
        before, prior = prior, 1 + _weighed(every, prior).sum(-2, keepdim=True)
        prior = prior / prior.sum(-1, keepdim=True)
        if torch.allclose(before, prior, rtol=0, atol=1e-7):
            break
    return _weighed(q.double(), prior).to(q.dtype)


def _weighed(q: Float[Tensor, "*g B K"], prior: Float[Tensor, "*g 1 K"]) -> Float[Tensor, "*g B K"]:
    weighed = q * prior
    return weighed / weighed.sum(-1, keepdim=True).clamp_min(torch.finfo(q.dtype).tiny)
