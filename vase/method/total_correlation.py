"""Pressure that makes latents independent while an environment is young: total correlation and decorrelation.

Not in the paper, whose capacity objective alone needs long schedules and leaves the rotation of equally important
factors open. It acts on the environment's own latents only, those that no other environment uses.
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

DECAY = 0.95
"""Of the running covariance."""
_LOG_2PI = math.log(2 * math.pi)


def total_correlation(
    z: Float[Tensor, "B N"], mean: Float[Tensor, "B N"], log_var: Float[Tensor, "B N"]
) -> Float[Tensor, ""]:
    """KL(q(z) ‖ ∏ q(z_n)), with q(z) the mixture of the batch's posteriors (Chen et al. 2018, Eq. S5, batch only)."""
    density = -0.5 * ((z[:, None] - mean).square() * (-log_var).exp() + log_var + _LOG_2PI)  # i, j, n: log q(z_in|x_j)
    n = density.shape[2]
    joint = density.sum(2).logsumexp(1)
    return (joint - density.logsumexp(1).sum(1)).mean() + (n - 1) * math.log(len(z))


def covariance(mean: Float[Tensor, "B N"]) -> Float[Tensor, "N N"]:
    """Of the posterior means of a batch, without its diagonal."""
    centred = mean - mean.mean(0)
    found = centred.T @ centred / len(mean)
    return found - torch.diag(found.diagonal())


class Independence:
    """Total correlation of a batch plus its decorrelation, weighted by the age of the environment.

    Decorrelation is Σ_{m≠n} C̄_mn·C_mn with the batch's covariance C and its running average C̄: its gradient is that of
    the sum of squares of the average, which the noise of one batch would drown.
    """

    def __init__(self, config: IndependenceConfig) -> None:
        self.config = config
        self.environment = -1
        self.average = torch.zeros(0, 0)
        self._next = self.environment, self.average

    def weight(self, age: int) -> float:
        """1 in a young environment, then falling linearly to 0."""
        c = self.config
        return min(1.0, max(0.0, (c.until - age) / max(1, c.until - c.hold)))

    def __call__(
        self,
        z: Float[Tensor, "B N"],
        mean: Float[Tensor, "B N"],
        log_var: Float[Tensor, "B N"],
        own: Bool[Tensor, "N"],
        environment: int,
        age: int,
        workers: Distributed,
    ) -> Float[Tensor, ""] | None:
        """What is added to the loss; None where nothing is."""
        c, weight = self.config, self.weight(age)
        if weight == 0 or not c.enabled or int(own.sum()) < 2:
            return None
        z, mean, log_var = z[:, own], mean[:, own], log_var[:, own]
        loss = c.total_correlation * total_correlation(z, mean, log_var)
        if c.decorrelation > 0:
            found = covariance(mean)
            now = workers.mean(found)
            known = environment == self.environment and self.average.shape == now.shape
            average = torch.lerp(now, self.average.to(now), DECAY) if known else now
            self._next = environment, average
            loss = loss + c.decorrelation * (average * found).sum()
        if workers.size > 1:  # the value of the whole batch with the gradient of this worker's shard
            loss = loss + (workers.mean(loss) - loss).detach()
        return weight * loss

    def update(self) -> None:
        """The last batch was learnt: its covariance joins the average."""
        self.environment, self.average = self._next

    def state_dict(self) -> dict[str, Any]:
        """The running covariance, and of which environment it is."""
        return {"environment": self.environment, "average": self.average}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self._next = self.environment, self.average = state["environment"], state["average"].clone()
