"""Variants of VASE: one kind of evidence at a time, and small networks for long stationary streams."""

from __future__ import annotations

from dataclasses import replace

from vase.config import VASEConfig
from vase.learners.vase import VASE
from vase.method.learnt_tests import LatentSpreadTest, LossSpreadTest


def loss_alone(config: VASEConfig, *, seed: int = 0) -> VASE:
    """The calibrated loss test. Without a fingerprint no old world is known again."""
    return VASE(config, seed=seed, shift_tests=[LossSpreadTest()])


def latents_alone(config: VASEConfig, *, seed: int = 0) -> VASE:
    """The calibrated test of atypicality."""
    return VASE(config, seed=seed, shift_tests=[LatentSpreadTest()])


def thresholds(config: VASEConfig, *, seed: int = 0) -> VASE:
    """The thresholds κ and λ of Eq. 6 and Alg. 1."""
    return VASE(config.with_values({"environments.inference": "paper", "environments.patience": 4}), seed=seed)


def small(config: VASEConfig, *, seed: int = 0) -> VASE:
    """The networks of the preset 'smoke', at a third of the cost; the shift tests are those of any VASE."""
    return VASE(replace(config, network=VASEConfig.smoke().network), seed=seed)


def small_gaussian(config: VASEConfig, *, seed: int = 0) -> VASE:
    """The same with a Gaussian likelihood."""
    network = replace(VASEConfig.smoke().network, likelihood="gaussian")
    return VASE(replace(config, network=network), seed=seed)
