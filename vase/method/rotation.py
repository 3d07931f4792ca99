"""Rotating latents onto independent axes: found by independent component analysis, written into the weights.

Not in the paper, whose capacity objective leaves one thing open: a prior of independent normal latents looks the same
from every angle, so that factors of equal weight, such as x and y, may come out rotated. What tells the angle is that
factors are not normal: of all rotations, the one with the largest squared kurtoses has independent axes (Comon 1994).
Only negative kurtoses count here, those of factors that have a range, as positions, angles and sizes have. A positive
one may just as well come from a few strange images, or from weak latents that repeat part of others.

The head of the encoder and the first layer of the decoder are linear, so a rotation needs no gradient: μ ← Mμ and
W ← WM⁻¹ leave every reconstruction of a mean as it was. Only latents of the environment that is being learnt for the
first time are rotated, and none that another environment uses: what is known of the past does not change.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from scipy.optimize import linear_sum_assignment
from torch import Tensor

WINDOW = 128
"""Batches before a rotation whose posterior means decide about it."""
MAX_IMAGES = 512
"""Images of a batch that are observed, evenly spread over it: more cost memory and time, and tell little."""
MIN_IMAGES = 512
"""Images that a rotation needs. Of 256, kurtoses are so noisy that independent latents would be rotated."""
SMALLEST_GAIN = 0.05
"""Gain below which a pair of latents is left as it is: that of a uniform factor rotated by 5 degrees."""
_ANGLES = torch.linspace(-math.pi / 4, math.pi / 4, 181, dtype=torch.float64)[1:]
_ZERO = int(_ANGLES.abs().argmin())
_SWEEPS = 10
_SETTLED = math.radians(1)
_SMALLEST_EIGENVALUE = 1e-6


class Rotation(NamedTuple):
    """A linear map of some latents that makes them independent: a rotation, apart from their scales."""

    latents: Int[Tensor, "n"]
    matrix: Float[Tensor, "n n"]
    """M: posterior means μ become Mμ."""
    shares: Float[Tensor, "n n"]
    """How much of each new latent comes from each old one: squares of a rotation, whose rows and columns sum to 1."""

    @property
    def angle(self) -> float:
        """The largest angle, in degrees, between a latent before and after."""
        return math.degrees(math.acos(min(1.0, float(self.shares.diagonal().min().sqrt()))))


def pair_cumulants(u: Float[Tensor, "B"], v: Float[Tensor, "B"]) -> Float[Tensor, "5"]:
    """κ(u,u,u,u), κ(u,u,u,v), κ(u,u,v,v), κ(u,v,v,v), κ(v,v,v,v) of centred variables."""
    uu, uv, vv = u.square().mean(), (u * v).mean(), v.square().mean()
    moments = torch.stack([(u ** (4 - k) * v**k).mean() for k in range(5)])
    return moments - torch.stack([3 * uu**2, 3 * uu * uv, uu * vv + 2 * uv**2, 3 * uv * vv, 3 * vv**2])


def best_angle(cumulants: Float[Tensor, "5"]) -> tuple[float, float]:
    """The angle θ with the largest κ₄⁻(u′)² + κ₄⁻(v′)² of u′ = cosθ·u + sinθ·v, v′ = cosθ·v − sinθ·u; and the gain.

    κ₄⁻ = min(κ₄, 0): long tails do not count.
    """
    cos, sin = _ANGLES.cos(), _ANGLES.sin()
    terms = [math.comb(4, k) * cumulants[k] for k in range(5)]
    of_u = torch.stack([term * cos ** (4 - k) * sin**k for k, term in enumerate(terms)]).sum(0)
    of_v = torch.stack([term * (-sin) ** (4 - k) * cos**k for k, term in enumerate(terms)]).sum(0)
    contrast = of_u.clamp_max(0).square() + of_v.clamp_max(0).square()
    best = int(contrast.argmax())
    if contrast[best] <= contrast[_ZERO]:
        return 0.0, 0.0
    return float(_ANGLES[best]), float(contrast[best] - contrast[_ZERO])


def independent_axes(white: Float[Tensor, "B n"]) -> Float[Tensor, "n n"]:
    """The rotation of whitened variables with the shortest tails, pair by pair (Jacobi's method; Comon 1994).

    Independent axes have neither order nor sign: those are taken that change the variables least.
    """
    n = white.shape[1]
    rotation = torch.eye(n, dtype=white.dtype)
    for _ in range(_SWEEPS):
        largest = 0.0
        for i in range(n):
            for j in range(i + 1, n):
                pair = white @ rotation[[i, j]].T
                angle, gain = best_angle(pair_cumulants(pair[:, 0], pair[:, 1]))
                if gain < SMALLEST_GAIN:
                    continue
                cos, sin = math.cos(angle), math.sin(angle)
                rotation[[i, j]] = torch.tensor([[cos, sin], [-sin, cos]], dtype=white.dtype) @ rotation[[i, j]]
                largest = max(largest, abs(angle))
        if largest < _SETTLED:
            break
    rows, columns = linear_sum_assignment(-rotation.square().numpy())
    ordered = rotation[torch.as_tensor(rows)[torch.as_tensor(columns).argsort()]]
    signs = torch.where(ordered.diagonal() < 0, -1.0, 1.0)
    return signs[:, None] * ordered


def find_rotation(means: Float[Tensor, "B N"], latents: Bool[Tensor, "N"]) -> Rotation | None:
    """What makes some latents independent, given posterior means; None if they are so already.

    Constant latents are left alone, and so are all where one is a linear function of others: no axes are theirs alone.
    """
    chosen = (latents & (means != means[:1]).any(0)).nonzero().flatten()
    if len(chosen) < 2:
        return None
    centred = means[:, chosen].double()
    centred = centred - centred.mean(0)
    variance = centred.square().mean(0)
    std = variance.sqrt()
    values, vectors = torch.linalg.eigh((centred / std).T @ (centred / std) / len(centred))
    if float(values[0]) < _SMALLEST_EIGENVALUE:
        return None
    whitening = (vectors / values.sqrt()) @ vectors.T / std  # the one that changes latents least
    rotation = independent_axes(centred @ whitening.T)
    shares = rotation.square()
    if float(shares.diagonal().min()) > math.cos(_SETTLED) ** 2:
        return None
    scale = (shares @ variance).sqrt()
    return Rotation(chosen, (scale[:, None] * (rotation @ whitening)).to(means), shares.to(means))


class LatentRotator:
    """Collects the posterior means of a new environment, and says at times how to rotate its own latents."""

    def __init__(self, every: int, n_latents: int) -> None:
        self.every, self.n_latents = every, n_latents
        self.environment = -1
        """The environment that is learnt for the first time; −1 if there is none."""
        self.means: deque[Float[Tensor, "B N"]] = deque(maxlen=WINDOW)
        self.noise: deque[Float[Tensor, "N"]] = deque(maxlen=WINDOW)

    def begin(self, environment: int) -> None:
        """Observe an environment from now on."""
        self.environment = environment
        self.means.clear()
        self.noise.clear()

    def end(self) -> None:
        """The environment was left: its latents stay as they are."""
        self.begin(-1)

    def wants(self, environment: int, age: int) -> bool:
        """Whether the batch that was learnt as an environment's `age`-th is one to observe."""
        return self.every > 0 and environment == self.environment and -age % self.every < WINDOW

    def observe(self, mean: Float[Tensor, "B N"], log_var: Float[Tensor, "B N"]) -> None:
        """Take note of the posteriors of a batch."""
        self.means.append(mean[:: math.ceil(len(mean) / MAX_IMAGES)].cpu().clone())  # not a view of the whole pass
        self.noise.append(log_var.exp().mean(0).cpu())

    def is_due(self, age: int) -> bool:
        """Whether it is time to rotate."""
        return self.every > 0 and len(self.means) > 1 and age % self.every == 0

    def rotation(self, own: Bool[Tensor, "N"]) -> Rotation | None:
        """How to rotate those of the environment's own latents that carry more signal than noise."""
        means, noise = torch.cat(list(self.means)), torch.stack(list(self.noise)).mean(0)
        if len(means) < MIN_IMAGES:
            return None
        return find_rotation(means, own & (means.var(0) > noise))

    def state_dict(self) -> dict[str, Any]:
        """What has been observed since the last rotation."""
        stacked = torch.cat(list(self.means)) if self.means else torch.zeros(0, self.n_latents)
        noise = torch.stack(list(self.noise)) if self.noise else torch.zeros(0, self.n_latents)
        sizes = torch.tensor([len(mean) for mean in self.means], dtype=torch.long)
        return {"environment": self.environment, "means": stacked, "noise": noise, "sizes": sizes}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.begin(state["environment"])
        self.means.extend(state["means"].clone().split(state["sizes"].tolist()))
        self.noise.extend(state["noise"].clone())
