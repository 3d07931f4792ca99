"""What is timed: learners in a given state, a bare VAE on the same networks, the reference, and a matrix product."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

import vase
from vase.config import VASEConfig, preset
from vase.learners.vase import VASE
from vase.nn.networks import BLOCK, Networks
from vase.worlds import Schedule

FIRST, SECOND = "moving-digits", "moving-inverse-digits"
"""Worlds of sprites that need no download."""
ROOT = Path(vase.__file__).parent.parent
REFERENCE = ROOT / "benchmarks" / "reference.py"
QUIET = {"environments.kappa": 1e9, "mask.threshold": 1e9}
"""While timing, no batch is taken for a stranger; the tests are made all the same."""


def timed_config(name: str, **values: Any) -> VASEConfig:
    """A preset as it is timed: the tests of the environment begin after one block of steps."""
    config = preset(name)
    return config.with_values({"environments.burn_in": config.environments.usage_every, **QUIET, **values})


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
        alpha = torch.zeros(config.network.latents)
        for _ in range(environments - 2):
            self.model._be_born(alpha)
        if environments > 1:
            self._learn(1)
            self.model._leave()
            self.model._be_born(alpha)
            self.batches = batches(SECOND, config)
        self._be_certain()
        self._learn(2 * block(config))
        self.disturbed = 0

    @torch.no_grad()
    def _be_certain(self) -> None:
        """Let the classifier name the current environment, as one that had learnt for longer would."""
        for nets in (self.model._nets, self.model._slow):
            table = list(nets.environment_output)
            for rows in table:
                rows.fill_(-1)
            table[self.model.environment // BLOCK][self.model.environment % BLOCK] = 1

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
        self.optimiser = torch.optim.Adam(self.nets.parameters(), lr=config.learning_rate, fused=True)
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


class Gemm:
    """A square matrix product, the fastest arithmetic a processor has. A call is one product."""

    def __init__(self, side: int = 1024, dtype: torch.dtype = torch.float32) -> None:
        self.a, self.b = (torch.randn(side, side).to(dtype) for _ in range(2))
        self.out = torch.empty_like(self.a)
        self.flops = 2 * side**3

    def __call__(self) -> None:
        """Multiply."""
        torch.mm(self.a, self.b, out=self.out)


class ReferenceStep:
    """The plain step of benchmarks/reference.py, with one or two environments known. A call is one step."""

    def __init__(self, config: VASEConfig, environments: int = 1) -> None:
        self.reference = load_reference().Reference(config, seed=0)
        self.images = floats(FIRST, config)
        steps = block(config)
        if environments > 1:
            for _ in range(steps):
                self()
            self.reference.be_born()
            self.images = floats(SECOND, config)
        with torch.no_grad():  # as in Learner
            self.reference.nets.classifier.weight.fill_(-1)[self.reference.current] = 1
        for _ in range(2 * steps):
            self()
        self.environments = environments

    def __call__(self) -> None:
        """Learn one batch."""
        self.reference.step(next(self.images))

    @property
    def disturbed(self) -> int:
        """Environments that were found where there was nothing new."""
        return len(self.reference.environments) - self.environments


def load_reference() -> ModuleType:
    """Import benchmarks/reference.py, which is not part of the installed package."""
    if not REFERENCE.exists():
        raise FileNotFoundError(f"{REFERENCE} is missing: run vase bench from a clone of the repository.")
    spec = importlib.util.spec_from_file_location("vase_reference", REFERENCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def own_bytes(owner: object) -> int:
    """Bytes of every tensor that hangs on an object, each storage once: weights, gradients, moments, memory, dreams."""
    storages: dict[int, int] = {}
    seen: dict[int, object] = {}
    waiting: list[Any] = [owner]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if isinstance(value, Tensor):
            storages[value.untyped_storage().data_ptr()] = value.untyped_storage().nbytes()
            if value.is_leaf:
                waiting.append(value.grad)
        elif isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple | set | deque):
            waiting += list(value)
        elif hasattr(value, "__dict__") and not isinstance(value, type | ModuleType | FunctionType):
            waiting.append(vars(value))
    return sum(storages.values())
