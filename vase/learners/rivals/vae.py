"""Fine-tuning: the VAE of a configuration, trained on whatever comes. Nothing is protected; the base of all rivals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vase.config import VASEConfig
from vase.distributed import Distributed
from vase.images import as_images
from vase.learners.divergence import require_finite_loss, require_finite_weights
from vase.learners.records import Step
from vase.learners.representation import encode_in_chunks
from vase.learners.saved_state import damage_explained
from vase.machine import resolve_device, use_half_precision, works
from vase.method.capacity import capacity_target, sample_posterior
from vase.method.dream_buffer import CHUNK
from vase.method.independence import Independence
from vase.method.objective import Objective, Outputs
from vase.method.statistics import BatchStatistics
from vase.nn.likelihood import Images, make_likelihood
from vase.nn.networks import Networks
from vase.nn.optim import adam, load_optimiser_state, optimiser_state
from vase.worlds.checks import require_int, require_seed

ALONE = Distributed()
"""Rivals learn in one process."""


class Part(Protocol):
    """Something of a learner that owns state."""

    def state_dict(self) -> dict[str, Any]:
        """What an exact continuation needs."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""


class VAE:
    """The loss of the configuration (ELBO, or with a capacity: CCI-VAE) on every batch, and nothing else.

    Its weights are those of VASE without S, D and A, bit by bit.

    >>> learner = VAE(VASEConfig.smoke(), seed=0, device="cpu")
    >>> learner.partial_fit(np.zeros((8, 32, 32), np.uint8)).step
    1
    """

    def __init__(self, config: VASEConfig | None = None, *, seed: int = 0, device: str = "auto") -> None:
        self.config, self.seed, self.device = config or VASEConfig(), require_seed(seed), resolve_device(device)
        net = self.config.network
        self.generator = torch.Generator().manual_seed(self.seed)
        self.networks = self.make_networks().to(self.device)
        self.networks.reduced = use_half_precision(net.precision, self.device, ALONE.size)
        self.likelihood = make_likelihood(net.likelihood, net.gaussian_std)
        self.optimiser = adam(self.networks.parameters(), self.config)
        self.objective = Objective(self.config, self.likelihood)
        self.independence = Independence(self.config.independence)
        self.active = torch.ones(net.latents, dtype=torch.bool, device=self.device)
        self.parts: dict[str, Part] = {"independence": self.independence}
        self.steps = 0

    @property
    def n_latents(self) -> int:
        """N."""
        return self.config.network.latents

    def make_networks(self) -> Networks:
        """Encoder and decoder, whose weights the seed decides."""
        return Networks(self.config, self.generator)

    # ---------------------------------------------------------------- learning

    def partial_fit(self, images: Any) -> Step:
        """Learn from one batch."""
        x = self.images(images, minimum=2)
        self.steps += 1
        return self.learn(x)

    def learn(self, x: Images) -> Step:
        """One gradient step on a batch."""
        return self.update(*self.loss(x))

    def loss(self, x: Images, *, independence: bool = True) -> tuple[Float[Tensor, ""], BatchStatistics]:
        """The loss of the configuration on some images, and their statistics."""
        noise = self.noise(len(x), self.n_latents)
        here = torch.zeros(len(x), dtype=torch.long, device=self.device)
        out = Outputs(
            *self.networks(x, lambda mean, log_var: sample_posterior(mean, log_var, self.active, noise), here, 1)
        )
        pressure = None
        if independence and self.config.demands_independence:
            q, own = (out.mean, out.log_var), self.active.cpu()
            pressure = self.independence(*q, noise, own, 0, self.steps - 1, ALONE)
        asked: dict[str, Any] = {"step": self.steps, "kl_warmup": None, "independence": pressure, "workers": ALONE}
        return self.objective(out, x, here, self.active, None, **asked)

    def update(self, loss: Float[Tensor, ""], batch: BatchStatistics, /, **what: Any) -> Step:
        """One step of the optimiser, and the report of the batch that it was taken for; `what` differs there."""
        require_finite_loss(float(loss.detach()), self.steps, self.config)
        self.optimiser.zero_grad()
        loss.backward()
        self.step_optimiser()
        self.independence.update()
        return self.report(batch, **what)

    def step_optimiser(self) -> None:
        """Move the weights along the gradient."""
        self.optimiser.step()

    def report(self, batch: BatchStatistics, **what: Any) -> Step:
        """What happened, in the words of all learners."""
        told = {
            "capacity": capacity_target(self.steps, self.config.capacity),
            "atypicality": batch.atypicality.numpy().copy(),
            "mask": np.ones(self.n_latents, bool),
        }
        return Step(**{"step": self.steps, **told, **batch.losses, **what})

    def noise(self, *shape: int) -> Tensor:
        """Standard normal numbers."""
        return torch.randn(shape, generator=self.generator).to(self.device)

    # ---------------------------------------------------------------- questions

    def images(self, images: Any, minimum: int = 1) -> Images:
        """Images of anybody as the networks take them."""
        return as_images(images, self.config.image_shape, minimum=minimum, device=self.device)

    def posterior(self, images: Any) -> tuple[Float[np.ndarray, "B N"], Float[np.ndarray, "B N"]]:
        """Mean and standard deviation of q(z|x)."""
        _, mean, log_var = encode_in_chunks(self.networks, self.images(images))
        return mean.cpu().numpy(), torch.exp(0.5 * log_var).cpu().numpy()

    @torch.no_grad()
    def decode(self, z: Any, environment: int | None = None) -> Float[np.ndarray, "B C H W"]:
        """E[x|z]; there are no environments to choose from."""
        values = torch.as_tensor(np.asarray(z, dtype=np.float32), device=self.device)
        if values.ndim != 2 or values.shape[1] != self.n_latents:
            raise ValueError(f"z of shape {tuple(values.shape)}: must be (B, {self.n_latents}), one column per latent.")
        return decode_mean(self, self.networks, values).cpu().numpy()

    def reconstruct(self, images: Any, environment: int | None = None) -> Float[np.ndarray, "B C H W"]:
        """Decode the means of q(z|x)."""
        return self.decode(self.posterior(images)[0])

    def dream(self, n: int, environment: int | None = None, *, seed: int | None = None) -> Float[np.ndarray, "n C H W"]:
        """Images from the prior; the same `seed` gives the same ones."""
        generator = torch.Generator()
        _ = generator.seed() if seed is None else generator.manual_seed(require_seed(seed))
        return self.decode(torch.randn(require_int("n", n, 1), self.n_latents, generator=generator).numpy())

    # ---------------------------------------------------------------- state

    def state_dict(self) -> dict[str, Any]:
        """Everything that an exact continuation needs."""
        require_finite_weights(self.networks, self.steps, self.config)
        return {
            "config": self.config.to_dict(),
            "seed": self.seed,
            "step": self.steps,
            "reduced": self.networks.reduced,
            "networks": self.networks.state_dict(),
            "optimiser": optimiser_state(self.optimiser, self.networks),
            "generator": {"state": self.generator.get_state()},
            "parts": {name: part.state_dict() for name, part in self.parts.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()` of a learner that was built with the same arguments."""
        with damage_explained():
            if VASEConfig.from_dict(state["config"]) != self.config or state["seed"] != self.seed:
                raise ValueError("the saved learner has another configuration or seed: build this one with the same.")
            self.networks.load_state_dict(state["networks"])
            self.networks.reduced = state["reduced"] and works(self.device)
            load_optimiser_state(self.optimiser, self.networks, state["optimiser"])
            self.generator.set_state(state["generator"]["state"])
            for name, part in self.parts.items():
                part.load_state_dict(state["parts"][name])
            self.steps = state["step"]


@torch.no_grad()
def decode_mean(learner: VAE, networks: Networks, z: Float[Tensor, "B N"]) -> Images:
    """E[x|z] by some weights, as images that can be encoded."""
    parts = [
        networks.decode(part, torch.zeros(len(part), dtype=torch.long, device=z.device)) for part in z.split(CHUNK)
    ]
    return learner.likelihood.mean(torch.cat(parts)).clamp(0, 1)
