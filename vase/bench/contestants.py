"""What is timed: learners in a given state, and a bare VAE on the same networks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from vase.config import VASEConfig, preset
from vase.learners.vase import VASE
from vase.method.environment_memory import EnvironmentRecord
from vase.method.shift_tests import Evidence, ShiftTest
from vase.method.statistics import BatchStatistics
from vase.nn.networks import Networks
from vase.nn.optim import adam
from vase.worlds import Schedule

FIRST, SECOND = "moving-digits", "moving-inverse-digits"
"""Worlds of sprites that need no download."""
QUIET = {"environments.burn_in": 0, "environments.kappa": 1e9, "mask.threshold": 1e9}
"""All shift tests are made at every step, and no batch fails them."""


def timed_config(name: str, **values: Any) -> VASEConfig:
    """A preset as it is timed."""
    return preset(name).with_values({**QUIET, **values})


def block(config: VASEConfig) -> int:
    """Steps after which everything that is done at intervals within a stage has been done once."""
    return config.environments.usage_every


def batches(world: str, config: VASEConfig, count: int = 8) -> Iterator[np.ndarray]:
    """The same few uint8 batches of a world again and again."""
    side = config.image_shape[-1]
    schedule = Schedule.parse(world, count, batch_size=config.batch_size, canvas=side, sprite=side * 5 // 8)
    return itertools.cycle([batch.images for batch in schedule])


def floats(world: str, config: VASEConfig) -> Iterator[Tensor]:
    """The same batches as tensors in [0, 1]."""
    return itertools.cycle([torch.from_numpy(x).float() / 255 for x in itertools.islice(batches(world, config), 8)])


class Foreign(ShiftTest):
    """Rejects every batch, so that the learner adds an environment."""

    def evidence(self, record: EnvironmentRecord, batch: BatchStatistics) -> Evidence:
        """Always against the environment."""
        return Evidence(0.0, "a new environment is wanted")


class Learner:
    """A learner that knows so many environments and goes on learning the last of them; a call is one step."""

    def __init__(self, config: VASEConfig, environments: int = 1) -> None:
        if environments < 1:
            raise ValueError(f"environments={environments}: must be at least 1.")
        self.model = VASE(config, seed=0, device="cpu")
        self.disturbed = 0
        """Steps in which the learner did something else than learn one batch."""
        self.batches = batches(FIRST, config)
        self._learn(block(config))
        if environments > 1:
            self.batches = batches(SECOND, config)
            self.model.detector_.tests.append(Foreign())
            while len(self.model.environments) < environments:
                self()
            self.model.detector_.tests.pop()
        self._be_certain()
        self._learn(2 * block(config))
        self.disturbed = 0

    @torch.no_grad()
    def _be_certain(self) -> None:
        """Let the classifier name the current environment, as one that had learnt for longer would."""
        for nets in (self.model.networks_, self.model.ema_.nets):
            blocks = list(nets.classifier.environments.blocks)
            for rows in blocks:
                rows.fill_(-1)
            number, row = divmod(self.model.environment, len(blocks[0]))
            blocks[number][row] = 1

    def _learn(self, steps: int) -> None:
        for _ in range(steps):
            self()

    def __call__(self) -> None:
        """Learn one batch."""
        step = self.model.partial_fit(next(self.batches))
        self.disturbed += step.held or step.switched


class BareVAE:
    """The least a VAE can do on the learner's own networks: forward, backward, fused Adam. A call is one step."""

    def __init__(self, config: VASEConfig) -> None:
        self.nets = Networks(config, torch.Generator().manual_seed(0))
        self.optimiser = adam(self.nets.parameters(), config)
        self.images = floats(FIRST, config)
        self.label = torch.zeros(config.batch_size, dtype=torch.long)

    def __call__(self) -> None:
        """Take one step on the evidence lower bound."""
        x = next(self.images)
        _, mean, log_var = self.nets.encode(x)
        z = mean + torch.exp(0.5 * log_var) * torch.randn_like(mean)
        y = self.nets.decode(z, self.label)
        kl = 0.5 * (mean.square() + log_var.exp() - 1 - log_var).sum()
        loss = (F.binary_cross_entropy_with_logits(y, x, reduction="sum") + kl) / len(x)
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
