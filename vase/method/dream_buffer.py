"""Dreams of past environments, with the snapshot's answers to them (Eq. 7).

The snapshot does not change until the next one is taken, so neither its dreams nor its answers do: a pool of dreams is
made once, and every step draws from it. That saves the snapshot's decoding and encoding in each step.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from vase.config import VASEConfig
from vase.distributed import Distributed
from vase.method.dreaming import draw_environments
from vase.method.environment_memory import EnvironmentMemory
from vase.nn.likelihood import Images, Likelihood
from vase.nn.networks import Networks

CHUNK = 256
"""Dreams that pass through the snapshot at once."""


@dataclass(frozen=True)
class Dreams:
    """z with the environment it is dreamt in, the image it gives, and the snapshot's posterior on that image."""

    s: Int[Tensor, "B"]
    z: Float[Tensor, "B N"]
    gate: Float[Tensor, "B N"]
    """Latents that the environment may see, as 0 and 1."""
    target: Images
    """E[x|z,s] by the snapshot: the image, and what the live decoder shall give for z."""
    floor: Float[Tensor, "B"]
    """The smallest −log p of the target."""
    mean: Float[Tensor, "B N"]
    log_var: Float[Tensor, "B N"]

    @property
    def x(self) -> Images:
        """The dreamt images, as the encoder sees them."""
        return self.target.clamp(0, 1)

    def __len__(self) -> int:
        return len(self.s)

    def take(self, rows: Int[Tensor, "R"]) -> Dreams:
        """Some of them."""
        return Dreams(*(getattr(self, field.name)[rows] for field in fields(self)))

    @property
    def nbytes(self) -> int:
        """Memory that they take."""
        return sum(getattr(self, field.name).nbytes for field in fields(self))


@torch.no_grad()
def dream(
    snapshot: Networks, p: Likelihood, s: Int[Tensor, "B"], noise: Float[Tensor, "B N"], gate: Float[Tensor, "B N"]
) -> Dreams:
    """x' ~ p_θ'(·|z, s') for prior samples z, gated by what the environment s' may see; and q_φ'(z|x')."""
    z = noise * gate
    parts: list[tuple[Tensor, ...]] = []
    for z_part, s_part in zip(z.split(CHUNK), s.split(CHUNK), strict=True):
        target = p.mean(snapshot.decode(z_part, s_part))
        _, mean, log_var = snapshot.encode(target.clamp(0, 1))
        parts.append((target, p.floor(target), mean, log_var))
    target, floor, mean, log_var = (torch.cat(column) for column in zip(*parts, strict=True))
    return Dreams(s, z, gate, target, floor, mean, log_var)


class DreamBuffer:
    """The snapshot (φ_old, θ_old), and the pool of dreams that it made."""

    def __init__(self, config: VASEConfig, likelihood: Likelihood, seed: int) -> None:
        self.config = config.dreaming
        self.snapshot: Networks | None = None
        self.snapshot_step = 0
        self.pool: Dreams | None = None
        self._likelihood, self._seed = likelihood, seed
        self._alone = not config.environments.enabled
        """Without S there is one environment for life, which is dreamt of itself."""
        self._latents, self._pixels = config.network.latents, math.prod(config.image_shape)
        self._pool_size = self.config.pool
        if self.periodic:  # no more than are drawn until the next snapshot
            self._pool_size = min(self._pool_size, self.config.tau * config.batch_size)

    @property
    def pool_bytes(self) -> int:
        """Memory of the pool, whether it is made already or will be by the next sample; 0 without a snapshot."""
        if self.snapshot is None:
            return 0
        numbers = 4 * self._latents + self._pixels + 1  # z, gate, mean, log_var; target; floor
        return self._pool_size * (4 * numbers + 8)

    @property
    def periodic(self) -> bool:
        """Whether snapshots are taken every τ steps; without S no environment is ever left, so they have to be."""
        return self.config.enabled and (self.config.snapshot == "every" or self._alone)

    def is_due(self, step: int) -> bool:
        """Whether a periodic snapshot has to be taken."""
        tau = self.config.tau
        return self.periodic and step // tau > self.snapshot_step // tau

    def take_snapshot(self, nets: Networks, step: int) -> None:
        """Freeze a copy of the networks."""
        self.snapshot = copy.deepcopy(nets).requires_grad_(False).eval()
        self.snapshot_step = step
        self.pool = None

    def clear_pool(self) -> None:
        """Give up the pool: it holds dreams of the environments that were past until now."""
        self.pool = None

    def sample(
        self,
        n: int,
        memory: EnvironmentMemory,
        gates: Float[Tensor, "K N"],
        generator: torch.Generator,
        workers: Distributed,
    ) -> Dreams | None:
        """`n` dreams of past environments for each worker; None if there is nothing to dream of.

        `gates` are the latents that each environment may see, on the device of the networks.
        """
        if not self.config.enabled or self.snapshot is None or not self._dreamt_of(memory):
            return None
        if self._pool_size == 0:
            s, noise = (workers.shard(part) for part in self._requests(n * workers.size, memory, generator))
            return self._dream(self.snapshot, s, noise, gates)
        if self.pool is None:
            # Made again after a resume, so the random numbers depend on nothing but what is saved.
            entropy = [self._seed % 2**64, self.snapshot_step, memory.current, len(memory)]
            seed = int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0] >> 1)
            requests = self._requests(self._pool_size, memory, torch.Generator().manual_seed(seed))
            self.pool = self._dream(self.snapshot, *requests, gates)
        rows = torch.randint(self._pool_size, (n * workers.size,), generator=generator)
        return self.pool.take(workers.shard(rows).to(gates.device))

    def _dreamt_of(self, memory: EnvironmentMemory) -> list[int]:
        return [memory.current] if self._alone else memory.past()

    def _requests(self, n: int, memory: EnvironmentMemory, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Environments to dream of, and noise to dream from."""
        s = draw_environments(n, self._dreamt_of(memory), generator)
        return s, torch.randn(n, memory.n_latents, generator=generator)

    def _dream(self, snapshot: Networks, s: Tensor, noise: Tensor, gates: Tensor) -> Dreams:
        s, noise = s.to(gates.device), noise.to(gates.device)
        return dream(snapshot, self._likelihood, s, noise, gates[s])

    def state_dict(self) -> dict[str, Any]:
        """The snapshot and its step; the pool is made again."""
        return {
            "step": self.snapshot_step,
            "snapshot": None if self.snapshot is None else self.snapshot.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any], nets: Networks) -> None:
        """Continue from a `state_dict()`; `nets` have the shape of the snapshot."""
        self.snapshot = None
        if state["snapshot"] is not None:
            self.snapshot = copy.deepcopy(nets).requires_grad_(False).eval()
            self.snapshot.load_state_dict(state["snapshot"])
        self.snapshot_step, self.pool = state["step"], None
