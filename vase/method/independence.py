"""Pressure for independent latents: their covariances within an environment, and their total correlation.

Not in the paper. Decorrelation keeps latents from telling the same; which of all uncorrelated axes they lie on,
`vase.method.rotation` decides. Total correlation sees every dependence, but as far as a batch can estimate it, it is
also a price on all that the latents tell.

The pressure acts on an environment's own latents only, those that no other environment uses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vase.config import IndependenceConfig
from vase.distributed import Distributed
from vase.method.capacity import sample_posterior

DECAY = 0.99
"""Of the running covariances: those of one batch are little but noise."""
_LOG_2PI = math.log(2 * math.pi)


def covariances(mean: Float[Tensor, "B N"], workers: Distributed) -> Float[Tensor, "N N"]:
    """Covariances of posterior means in a batch, without the diagonal; averages are those of all workers' batches."""
    centred = mean - workers.mean(mean.detach().mean(0))
    found = centred.T @ centred / len(mean)
    return found - torch.diag(found.diagonal())


def total_correlation(
    z: Float[Tensor, "B N"], mean: Float[Tensor, "B N"], log_var: Float[Tensor, "B N"]
) -> Float[Tensor, ""]:
    """KL(q(z) ‖ ∏ q(z_n)), with q(z) the mixture of the batch's posteriors (Chen et al. 2018, Eq. S5, batch only)."""
    density = -0.5 * ((z[:, None] - mean).square() * (-log_var).exp() + log_var + _LOG_2PI)  # i, j, n: log q(z_in|x_j)
    n = density.shape[2]
    joint = density.sum(2).logsumexp(1)
    return (joint - density.logsumexp(1).sum(1)).mean() + (n - 1) * math.log(len(z))


class Independence:
    """The terms that are added to the loss, each with its weight.

    Decorrelation is Σ_{m≠n} C̄_mn·C_mn with the batch's covariance C and its running average C̄: its gradient is that of
    the sum of squares of the average, which the noise of one batch would drown.
    """

    def __init__(self, config: IndependenceConfig) -> None:
        self.config = config
        self.environment = -1
        self.average = torch.zeros(0, 0)
        self._next = self.environment, self.average

    def __call__(
        self,
        mean: Float[Tensor, "B N"],
        log_var: Float[Tensor, "B N"],
        noise: Float[Tensor, "B N"],
        own: Bool[Tensor, "N"],
        environment: int,
        age: int,
        workers: Distributed,
    ) -> Float[Tensor, ""] | None:
        """What is added to the loss; None where nothing is. `noise` is what z was sampled with."""
        c = self.config
        self._next = self.environment, self.average
        if int(own.sum()) < 2:
            return None
        loss = self._decorrelation(mean[:, own], environment, workers)
        fading = self.fading(age)
        if c.total_correlation * fading > 0:
            z = sample_posterior(mean, log_var, own, noise)
            loss = loss + c.total_correlation * fading * total_correlation(z[:, own], mean[:, own], log_var[:, own])
        if workers.size > 1:  # the value of the whole batch with the gradient of this worker's shard
            loss = loss + (workers.mean(loss) - loss).detach()
        return loss

    def _decorrelation(self, mean: Float[Tensor, "B N"], environment: int, workers: Distributed) -> Float[Tensor, ""]:
        found = covariances(mean, workers)
        now = workers.mean(found)
        known = environment == self.environment and self.average.shape == now.shape
        average = torch.lerp(now, self.average.to(now), DECAY) if known else now
        self._next = environment, average
        return self.config.means * (average * found).sum()

    def fading(self, age: int) -> float:
        """The share of the total correlation's weight: 1 in a young environment, then falling linearly to 0."""
        c = self.config
        return min(1.0, max(0.0, (c.fade_to - age) / max(1, c.fade_to - c.fade_from)))

    def forget(self) -> None:
        """Begin the average anew, from nothing: the latents were rotated or rescaled."""
        self.average = torch.zeros_like(self.average)
        self._next = self.environment, self.average

    def update(self) -> None:
        """The last batch was learnt: its covariances join the average."""
        self.environment, self.average = self._next

    def state_dict(self) -> dict[str, Any]:
        """The running covariances, and of which environment they are."""
        return {"environment": self.environment, "average": self.average}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self._next = self.environment, self.average = state["environment"], state["average"].clone()
