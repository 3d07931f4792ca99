"""Tests that a batch must pass to belong to an environment: one class per kind of evidence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from vase.config import EnvironmentConfig, MaskConfig
from vase.method.environment_memory import EnvironmentRecord
from vase.method.statistics import BatchStatistics

MIN_LOSS = 1e-2
"""Losses are compared above a hundredth of a nat: a perfect record must not make every batch foreign."""


def p_in_words(p_value: float) -> str:
    """A p-value for people.

    >>> p_in_words(0.00312), p_in_words(0.0)
    ('p = 0.003', 'p < 1e-300')
    """
    return f"p = {p_value:.1g}" if p_value > 0 else "p < 1e-300"  # what a float cannot hold is not 0


@dataclass(frozen=True)
class Evidence:
    """What one test says about a batch in an environment."""

    p_value: float
    """The probability of a batch at least as strange, if it comes from the environment; 0 or 1 of a plain threshold."""
    reason: str = ""
    """Why the batch is strange, in words."""
    effect: float = float("nan")
    """How far the batch is, in standard deviations of single images; NaN if the test does not know."""


FITS = Evidence(1.0)


class ShiftTest(ABC):
    """One kind of evidence that a batch does not come from an environment.

    Subclass it, and pass instances as `VASE(config, shift_tests=[...])`. What a test remembers of each environment is
    its own state.
    """

    needs_networks = True
    """Whether the test looks at losses or latents; one that looks at nothing but the images costs no decoding."""
    knows_all = True
    """Whether the test can tell a batch from any environment, or only from the current one."""
    weight = 1.0
    """How many of the false alarms the test may raise, in proportion to the weights of the other tests."""

    @abstractmethod
    def evidence(self, record: EnvironmentRecord, batch: BatchStatistics) -> Evidence:
        """How strange the batch would be in the environment."""

    def update(self, record: EnvironmentRecord, batch: BatchStatistics) -> None:  # noqa: B027
        """Take note of a batch that was learnt in the environment."""

    def forget_latents(self, record: EnvironmentRecord) -> None:  # noqa: B027
        """The latents of the environment were rotated or rescaled: what was known of single ones holds no longer."""

    def forget(self, record: EnvironmentRecord) -> None:  # noqa: B027
        """The environment was retired: nothing will be compared with it."""

    def arrived(self, record: EnvironmentRecord) -> int | None:
        """The environment into which this one, which is still moving, has come; None if it has not."""
        return None

    def state_dict(self) -> dict[str, Any]:
        """What the test remembers; nothing unless told otherwise."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:  # noqa: B027
        """Continue from a `state_dict()`."""


class LossTest(ShiftTest):
    """L_s(x) ≤ κ·L̃_s: the reconstruction must be about as good as it was in s (Eq. 6)."""

    def __init__(self, config: EnvironmentConfig) -> None:
        self.config = config

    def evidence(self, record: EnvironmentRecord, batch: BatchStatistics) -> Evidence:
        """The loss is more than κ times that of the environment."""
        loss, kappa = evident_loss(batch.losses, self.config), self.config.kappa
        reference = max(record.loss, MIN_LOSS)
        if loss <= kappa * reference:
            return FITS
        return Evidence(
            0.0,
            f"loss {loss:.1f} is {loss / reference:.2f} times that of environment {record.index} "
            f"({record.loss:.1f}), more than κ = {kappa:g}",
        )


class MaskTest(ShiftTest):
    """Every latent that s uses is still typical. With `abrupt`, a latent counts only if it was typical in s before."""

    def __init__(self, mask: MaskConfig, *, abrupt: bool, decay: float = 0.95) -> None:
        self.mask, self.abrupt, self.decay = mask, abrupt, decay
        self.atypicality_ema: dict[int, Float[Tensor, "N"]] = {}
        """Recent atypicality of each latent, by environment."""

    def evidence(self, record: EnvironmentRecord, batch: BatchStatistics) -> Evidence:
        """Used latents became atypical."""
        if not batch.tells_atypicality:
            return FITS
        alpha, high = batch.atypicality, self.mask.high
        strange = record.used & record.active & (alpha > high)
        if self.abrupt:
            strange &= self.atypicality_ema.get(record.index, torch.zeros_like(alpha)) < self.mask.low
        latents = strange.nonzero().flatten().tolist()
        if not latents:
            return FITS
        values = ", ".join(f"{alpha[n]:.2f}" for n in latents)
        names = ", ".join(map(str, latents))
        plural = "s" * (len(latents) > 1)
        return Evidence(
            0.0, f"latent{plural} {names} of environment {record.index} became atypical: {values} > {high:g}"
        )

    def update(self, record: EnvironmentRecord, batch: BatchStatistics) -> None:
        """Update the recent atypicality of each latent."""
        if batch.tells_atypicality:
            keep = record.keep(self.decay)
            before = self.atypicality_ema.get(record.index, torch.zeros_like(batch.atypicality))
            self.atypicality_ema[record.index] = keep * before + (1 - keep) * batch.atypicality

    def forget_latents(self, record: EnvironmentRecord) -> None:
        """Begin anew."""
        self.atypicality_ema.pop(record.index, None)

    def state_dict(self) -> dict[str, Any]:
        """Recent atypicality, by environment."""
        return {str(index): values for index, values in self.atypicality_ema.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.atypicality_ema = {int(index): values.clone() for index, values in state.items()}


def evident_loss(losses: Mapping[str, float], config: EnvironmentConfig) -> float:
    """The loss that κ compares: the deviance, or −log p itself as in the paper."""
    return losses["deviance" if config.loss == "deviance" else "reconstruction"]
