"""The paper's two kinds of evidence, loss and latents (Eq. 6), calibrated by their own spread and on both sides.

What the networks make of a batch changes while they learn, and after a world has been left. So these tests follow the
current environment and know no other; whose world it is that came instead, the fingerprint has to tell. And a batch is
strange only if it differs from the last ones of its environment as the same weights see them: where the optimiser threw
the weights off, all of them look alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from vase.method.environment_memory import EnvironmentRecord
from vase.method.shift_tests import FITS, Evidence, ShiftTest
from vase.method.statistics import BatchStatistics

DECAY = 0.95
"""Of the running mean and spread."""
MIN_BATCHES = 60
"""Batches of the current visit before its spread is trusted."""
FREEDOM = 10.0
"""Degrees of freedom of Student's t: losses of networks that learn have longer tails than normal variables."""
_SMALLEST_STD = 0.02
_SMALLEST_ALPHA = 0.01


class RunningSpread:
    """Mean and spread of a statistic over the last batches of the current environment."""

    def __init__(self) -> None:
        self.index, self.count, self.images = -1, 0, 0.0
        self.mean = self.variance = torch.zeros(0)

    def update(self, index: int, values: Float[Tensor, "N"], images: int) -> None:
        """Take note of the statistic of a batch; another environment begins anew."""
        if index != self.index or self.count == 0:
            self.index, self.count, self.images = index, 0, float(images)
            self.mean, self.variance = values.clone(), torch.zeros_like(values)
        keep = min(DECAY, (1 + self.count) / (10 + self.count))
        residual = values - self.mean
        self.images = keep * self.images + (1 - keep) * images
        self.variance = keep * self.variance + (1 - keep) * residual.square()
        self.mean = self.mean + (1 - keep) * residual
        self.count += 1

    def p_values(
        self, index: int, batch: BatchStatistics, statistic: Callable[[BatchStatistics], Float[Tensor, "N"]]
    ) -> Float[Tensor, "N"]:
        """The probability of values at least as far from the mean, on either side; 1 while little is known.

        Fewer images than usual scatter more. Where recent batches are known, the milder comparison counts: with the
        mean, or with them.
        """
        values = statistic(batch)
        if index != self.index or self.count < MIN_BATCHES:
            return torch.ones_like(values)
        variance, scatter = self.variance + _SMALLEST_STD**2, max(1.0, self.images / batch.n_images)
        squares = (values - self.mean).square() / scatter
        if (recent := batch.recent) is not None:
            again = (values - statistic(recent)).square() / (scatter + self.images / recent.n_images)
            squares = torch.minimum(squares, again)
        return student_tails((squares / variance).sqrt().double(), FREEDOM).to(values.dtype)

    def state_dict(self) -> dict[str, Any]:
        """Index, count, mean and variance."""
        return dict(vars(self))

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.index, self.count, self.images = state["index"], state["count"], state["images"]
        self.mean, self.variance = state["mean"].clone(), state["variance"].clone()


class _SpreadTest(ShiftTest):
    knows_all = False

    def __init__(self) -> None:
        self.spread = RunningSpread()

    def state_dict(self) -> dict[str, Any]:
        """The running spread."""
        return self.spread.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.spread.load_state_dict(state)


class LossSpreadTest(_SpreadTest):
    """The logarithm of the loss is neither above nor below what it lately was."""

    def evidence(self, record: EnvironmentRecord, batch: BatchStatistics) -> Evidence:
        """A loss that is unusually large, or unusually small."""
        p_value = float(self.spread.p_values(record.index, batch, _log_loss))
        if p_value == 1:
            return FITS
        ratio = float((_log_loss(batch) - self.spread.mean).exp())
        return Evidence(p_value, f"loss {ratio:.2f} times that of environment {record.index} (p = {p_value:.1g})")

    def update(self, record: EnvironmentRecord, batch: BatchStatistics) -> None:
        """Follow the loss."""
        self.spread.update(record.index, _log_loss(batch), batch.n_images)


class LatentSpreadTest(_SpreadTest):
    """The atypicality of every used latent is neither above nor below what it lately was."""

    def evidence(self, record: EnvironmentRecord, batch: BatchStatistics) -> Evidence:
        """The used latent that changed most."""
        used = (record.used & record.active).nonzero().flatten()
        if not batch.tells_atypicality or not len(used):
            return FITS
        p_values = self.spread.p_values(record.index, batch, _log_alpha)[used]
        worst = int(p_values.argmin())
        p_value = min(1.0, len(used) * float(p_values[worst]))
        latent = int(used[worst])
        reason = f"latent {latent} of environment {record.index}: atypicality {batch.atypicality[latent]:.2f}"
        return Evidence(p_value, f"{reason} (p = {p_value:.1g})")

    def update(self, record: EnvironmentRecord, batch: BatchStatistics) -> None:
        """Follow the atypicality."""
        if batch.tells_atypicality:
            self.spread.update(record.index, _log_alpha(batch), batch.n_images)

    def forget_latents(self, record: EnvironmentRecord) -> None:
        """Begin anew."""
        self.spread = RunningSpread()


def student_tails(t: Float[Tensor, "*B"], freedom: float) -> Float[Tensor, "*B"]:
    """P(|T| ≥ t) of Student's t by Wallace's normal approximation (1959): within 5 % down to 1e-4."""
    z = (freedom * torch.log1p(t.square() / freedom)).sqrt() * (8 * freedom + 1) / (8 * freedom + 3)
    return torch.special.erfc(z / 2**0.5)


def _log_loss(batch: BatchStatistics) -> Float[Tensor, "1"]:
    return torch.tensor([batch.losses["deviance"]]).clamp_min(1e-2).log()


def _log_alpha(batch: BatchStatistics) -> Float[Tensor, "N"]:
    return (batch.atypicality + _SMALLEST_ALPHA).log()
