"""The paper's two kinds of evidence, loss and latents (Eq. 6), calibrated by their own spread and on both sides.

What the networks make of a batch changes while they learn, and after a world has been left. So these tests follow the
current environment and know no other; whose world it is that came instead, the fingerprint has to tell. And a batch is
strange only if it differs from the last ones of its environment as the same weights see them: where the optimiser threw
the weights off, all of them look alike.

They run at every step on a few numbers, for which NumPy has less overhead than tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from scipy.special import erfc

from vase.method.environment_memory import EnvironmentRecord
from vase.method.shift_tests import FITS, Evidence, ShiftTest, p_in_words
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
        self.mean = self.variance = np.zeros(0)

    def update(self, index: int, values: Float[np.ndarray, "N"], images: int) -> None:
        """Take note of the statistic of a batch; another environment begins anew."""
        if index != self.index or self.count == 0:
            self.index, self.count, self.images = index, 0, float(images)
            self.mean, self.variance = values, np.zeros_like(values)
        keep = min(DECAY, (1 + self.count) / (10 + self.count))
        residual = values - self.mean
        self.images = keep * self.images + (1 - keep) * images
        self.variance = keep * self.variance + (1 - keep) * residual**2
        self.mean = self.mean + (1 - keep) * residual
        self.count += 1

    def p_values(
        self, index: int, batch: BatchStatistics, statistic: Callable[[BatchStatistics], Float[np.ndarray, "N"]]
    ) -> Float[np.ndarray, "N"]:
        """The probability of values at least as far from the mean, on either side; 1 while little is known.

        Fewer images than usual scatter more. Where recent batches are known, the milder comparison counts: with the
        mean, or with them.
        """
        values = statistic(batch)
        if index != self.index or self.count < MIN_BATCHES:
            return np.ones_like(values)
        variance, scatter = self.variance + _SMALLEST_STD**2, max(1.0, self.images / batch.n_images)
        squares = (values - self.mean) ** 2 / scatter
        if (recent := batch.recent) is not None:
            again = (values - statistic(recent)) ** 2 / (scatter + self.images / recent.n_images)
            squares = np.minimum(squares, again)
        return student_tails(np.sqrt(squares / variance), FREEDOM)

    def state_dict(self) -> dict[str, Any]:
        """Index, count, mean and variance."""
        return {**vars(self), "mean": torch.from_numpy(self.mean), "variance": torch.from_numpy(self.variance)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.index, self.count, self.images = state["index"], state["count"], state["images"]
        self.mean, self.variance = state["mean"].numpy().copy(), state["variance"].numpy().copy()


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
        (p_value,) = self.spread.p_values(record.index, batch, _log_loss).tolist()
        if p_value == 1:
            return FITS
        ratio = math.exp(_log_loss(batch)[0] - self.spread.mean[0])
        return Evidence(p_value, f"loss {ratio:.2f} times that of environment {record.index} ({p_in_words(p_value)})")

    def update(self, record: EnvironmentRecord, batch: BatchStatistics) -> None:
        """Follow the loss."""
        self.spread.update(record.index, _log_loss(batch), batch.n_images)


class LatentSpreadTest(_SpreadTest):
    """The atypicality of every used latent is neither above nor below what it lately was."""

    def evidence(self, record: EnvironmentRecord, batch: BatchStatistics) -> Evidence:
        """The used latent that changed most."""
        used = (record.used & record.active).numpy().nonzero()[0]
        if not batch.tells_atypicality or not len(used):
            return FITS
        p_values = self.spread.p_values(record.index, batch, _log_alpha)[used]
        worst = int(p_values.argmin())
        p_value = min(1.0, len(used) * float(p_values[worst]))
        latent = int(used[worst])
        reason = f"latent {latent} of environment {record.index}: atypicality {batch.atypicality[latent]:.2f}"
        return Evidence(p_value, f"{reason} ({p_in_words(p_value)})")

    def update(self, record: EnvironmentRecord, batch: BatchStatistics) -> None:
        """Follow the atypicality."""
        if batch.tells_atypicality:
            self.spread.update(record.index, _log_alpha(batch), batch.n_images)

    def forget_latents(self, record: EnvironmentRecord) -> None:
        """Begin anew."""
        self.spread = RunningSpread()


def student_tails(t: Float[np.ndarray, "*B"], freedom: float) -> Float[np.ndarray, "*B"]:
    """P(|T| ≥ t) of Student's t by Wallace's normal approximation (1959): within 5 % down to 1e-4."""
    z = np.sqrt(freedom * np.log1p(t**2 / freedom)) * ((8 * freedom + 1) / (8 * freedom + 3))
    return erfc(z / 2**0.5)


def _log_loss(batch: BatchStatistics) -> Float[np.ndarray, "1"]:
    return np.array([math.log(max(batch.losses["deviance"], 1e-2))])


def _log_alpha(batch: BatchStatistics) -> Float[np.ndarray, "N"]:
    return np.log(batch.atypicality.numpy().astype(float) + _SMALLEST_ALPHA)
