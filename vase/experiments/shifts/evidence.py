"""What baselines see of a stream: loss and latents of a small VAE that no longer learns, and random features."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32

from vase.config import VASEConfig
from vase.experiments.shifts.pool import load_world
from vase.experiments.shifts.streams import BATCH, Load, ShiftStream, Source
from vase.images import as_floats
from vase.nn.likelihood import Bernoulli
from vase.nn.networks import Networks

TRAINING = 300
"""Batches that the VAE learns from."""
RANDOM = 32
"""Outputs of the untrained encoder."""
_HELD_OUT, _CHUNK = 20, 8
_TRAINING_STREAM = 9_999
"""In the place of a stream's number: images for the VAE are drawn apart from those of all streams."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Statistics of T batches of B images."""

    loss: Float32[np.ndarray, " T"]
    """Mean −ELBO of the VAE, standardised by its mean and standard deviation on batches of the first world."""
    latents: Float32[np.ndarray, "T B N"]
    """Posterior means of the VAE."""
    untrained: Float32[np.ndarray, "T B M"]
    """Outputs of an encoder with random weights."""
    cache: dict[Any, Any] = field(default_factory=dict, repr=False)
    """What detectors computed from it, for the next threshold."""


class SmallVAE:
    """A VAE with the package's smallest networks, trained on one source and frozen."""

    def __init__(self, source: Source, batches: int = TRAINING, seed: int = 0, load: Load = load_world) -> None:
        world = source.make(load)
        config = VASEConfig.smoke(world.image_shape)
        wide = config.with_values({"network.latents": RANDOM})
        self._generator = torch.Generator().manual_seed(seed)
        self.nets, self.untrained = Networks(config, self._generator), Networks(wide, self._generator)
        self._optimiser = torch.optim.Adam(self.nets.parameters(), config.learning_rate)
        rng = np.random.default_rng([seed, _TRAINING_STREAM])
        draws = (torch.from_numpy(as_floats(world.sample(BATCH, rng).images)) for _ in range(batches + _HELD_OUT))
        losses = []
        for i, x in enumerate(draws):
            if i < batches:
                self._train(x)
            else:
                losses.append(float(self._loss(x)[0].mean()))
        self.mean, self.std = float(np.mean(losses)), max(float(np.std(losses)), 1e-6)

    def _train(self, x: torch.Tensor) -> None:
        loss, _ = self._loss(x, sample=True)
        self._optimiser.zero_grad()
        loss.mean().backward()
        self._optimiser.step()

    def _loss(self, x: torch.Tensor, *, sample: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
        """−ELBO of each image, with a sampled code or its mean; and the means."""
        with torch.set_grad_enabled(sample):
            _, mean, log_var = self.nets.encode(x)
            noise = torch.randn(mean.shape, generator=self._generator) if sample else torch.zeros_like(mean)
            y = self.nets.decode(mean + noise * (log_var / 2).exp(), torch.zeros(len(x), dtype=torch.long))
            kl = 0.5 * (mean.square() + log_var.exp() - log_var - 1).sum(1)
            return Bernoulli().nll(y, x) + kl, mean

    @torch.no_grad()
    def look(self, batches: Iterable[np.ndarray]) -> Evidence:
        """The evidence of batches of the same size."""
        parts: dict[str, list[Any]] = {"loss": [], "latents": [], "untrained": []}
        rest = iter(batches)
        while chunk := list(islice(rest, _CHUNK)):
            x = torch.from_numpy(np.concatenate(chunk))
            loss, mean = self._loss(x)
            parts["loss"].append((loss.reshape(len(chunk), -1).mean(1) - self.mean) / self.std)
            parts["latents"].append(mean.reshape(len(chunk), -1, mean.shape[1]))
            parts["untrained"].append(self.untrained.encode(x)[1].reshape(len(chunk), -1, RANDOM))
        losses, latents, untrained = (torch.cat(values).numpy() for values in parts.values())
        return Evidence(losses, latents, untrained)


@lru_cache(maxsize=64)
def small_vae(source: Source, batches: int = TRAINING, load: Load = load_world) -> SmallVAE:
    """The VAE of a source, trained once per process."""
    return SmallVAE(source, batches, load=load)


def record_evidence(stream: ShiftStream, seed: int, training: int = TRAINING, load: Load = load_world) -> Evidence:
    """Show a stream to the VAE of its first source."""
    return small_vae(stream.first, training, load).look(stream.batches(seed, load))
