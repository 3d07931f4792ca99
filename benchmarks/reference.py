"""The most straightforward VASE step in PyTorch: for reading, and as a yardstick for the learner's step.

Achille et al. 2018, Section 3 and App. A, one line after the other: plain modules, one pass per purpose, the textbook
optimiser. What the learner adds for its results (patience, slow weights, gates, recruiting) or speed is left out.
"""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vase.config import VASEConfig

PLAIN = {
    "network.decoder": "transposed",
    "network.init": "fan-in",
    "capacity.balance": "sum",
    "dreaming.share": 1.0,
    "independence.enabled": False,
}
"""What a learner must be told to have the networks and the loss of the reference."""


class Networks(nn.Module):
    """Encoder, decoder and environment classifier (App. A.1), with room for a fixed number of environments."""

    def __init__(self, config: VASEConfig, room: int) -> None:
        super().__init__()
        net, (c, height, width) = config.network, config.image_shape
        sizes = [c, *net.channels]
        grid = (net.channels[-1], height >> len(net.channels), width >> len(net.channels))
        flat = grid[0] * grid[1] * grid[2]
        down = [m for a, b in itertools.pairwise(sizes) for m in (nn.Conv2d(a, b, 4, 2, 1), nn.ReLU())]
        up = [m for a, b in itertools.pairwise(sizes[::-1]) for m in (nn.ReLU(), nn.ConvTranspose2d(a, b, 4, 2, 1))]
        self.features = nn.Sequential(*down, nn.Flatten(), nn.Linear(flat, net.hidden), nn.ReLU())
        self.posterior = nn.Linear(net.hidden, 2 * net.latents)
        self.classifier = nn.Linear(net.hidden, room, bias=False)
        first = nn.Linear(net.latents + room, net.hidden)
        self.decoder = nn.Sequential(first, nn.ReLU(), nn.Linear(net.hidden, flat), nn.Unflatten(1, grid), *up)
        self.room = room

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Features h, and mean and log-variance of q(z|x)."""
        h = self.features(x)
        mean, log_var = self.posterior(h).chunk(2, 1)
        return h, mean, log_var.clamp(-14, 6)

    def decode(self, z: Tensor, s: Tensor) -> Tensor:
        """Logits of p(x|z,s); s goes in as a one-hot vector."""
        return self.decoder(torch.cat([z, F.one_hot(s, self.room).to(z.dtype)], 1))


@dataclass
class Environment:
    """What is remembered of an environment: mask a^s, used latents u^s, average loss, batches learnt."""

    mask: Tensor
    used: Tensor
    loss: float = float("inf")
    age: int = 0


class Reference:
    """A learner whose `step` takes a batch in [0, 1]."""

    def __init__(self, config: VASEConfig, seed: int = 0, room: int = 8) -> None:
        torch.manual_seed(seed)
        self.c, self.n = config, config.network.latents
        self.nets = Networks(config, room)
        self.old = copy.deepcopy(self.nets)
        self.optimiser = torch.optim.Adam(self.nets.parameters(), lr=config.learning_rate)
        self.environments: list[Environment] = []
        self.current = self.t = 0
        self.add_environment()

    def step(self, x: Tensor) -> dict[str, float]:
        """Learn one batch: which environment, which latents, then a gradient step on Eq. 8."""
        self.t += 1
        encoded = self.nets.encode(x)
        alpha = atypicality(*encoded[1:]).detach()
        self.current = self.infer(x, *encoded, alpha)
        env = self.environments[self.current]
        env.mask = (alpha < self.c.mask.threshold) | ~self.used_by_others()
        losses = self.losses(x, encoded, torch.randn(len(x), self.n), self.dream(len(x)))
        self.optimiser.zero_grad()
        losses["loss"].backward()
        self.optimiser.step()
        numbers = {name: value.item() for name, value in losses.items()}
        decay = min(self.c.environments.loss_decay, env.age / (10 + env.age))
        env.loss = (
            numbers["reconstruction"] if env.age == 0 else decay * env.loss + (1 - decay) * numbers["reconstruction"]
        )
        env.age += 1
        if env.age % self.c.environments.usage_every == 0:
            noise = self.noise_tolerance(x[: self.c.environments.usage_images])
            env.used = (noise < self.c.environments.usage_threshold) & env.mask
        if self.c.dreaming.snapshot == "every" and self.t % self.c.dreaming.tau == 0:
            self.old = copy.deepcopy(self.nets)
        return numbers

    @torch.no_grad()
    def infer(self, x: Tensor, h: Tensor, mean: Tensor, log_var: Tensor, alpha: Tensor) -> int:
        """The classifier's candidate if its loss and its mask fit the batch, else a new environment (Eq. 6, Alg. 1)."""
        c = self.c.environments
        if self.environments[self.current].age < c.burn_in:
            return self.current
        logits = self.nets.classifier(h)[:, : len(self.environments)]
        s = int(logits.softmax(1).mean(0).argmax())
        env = self.environments[s]
        y = self.nets.decode(sample(mean, log_var, env.mask, torch.randn_like(mean)), label(s, x))
        strange = env.used & env.mask & (alpha > self.c.mask.threshold)
        if nll(y, x) > c.kappa * env.loss or strange.any():
            return self.add_environment()
        if s != self.current and self.c.dreaming.snapshot == "leave":
            self.old = copy.deepcopy(self.nets)
        return s

    def add_environment(self) -> int:
        """A new environment; the snapshot remembers the world that is left."""
        if len(self.environments) == self.nets.room:
            raise RuntimeError(f"all {self.nets.room} environments are taken: build the reference with more room.")
        self.old = copy.deepcopy(self.nets)
        self.environments.append(Environment(torch.ones(self.n) > 0, torch.zeros(self.n) > 0))
        self.current = len(self.environments) - 1
        return self.current

    def used_by_others(self) -> Tensor:
        """Latents that a mask has to protect (Eq. 5)."""
        others = [e.used for i, e in enumerate(self.environments) if i != self.current]
        return torch.stack(others).any(0) if others else torch.zeros(self.n) > 0

    @torch.no_grad()
    def dream(self, n: int) -> tuple[Tensor, Tensor] | None:
        """(s', z) of n dreams of environments other than the current one."""
        if not self.c.dreaming.enabled or len(self.environments) < 2:
            return None
        s = torch.randint(len(self.environments) - 1, (n,))
        return s + (s >= self.current), torch.randn(n, self.n)

    def losses(
        self, x: Tensor, encoded: tuple[Tensor, Tensor, Tensor], noise: Tensor, dreams: tuple[Tensor, Tensor] | None
    ) -> dict[str, Tensor]:
        """Eq. 3 on the batch, Eq. 7 on the dreams, and the classifier's cross-entropy on both."""
        h, mean, log_var = encoded
        s, count, mask = label(self.current, x), len(self.environments), self.environments[self.current].mask
        y = self.nets.decode(sample(mean, log_var, mask, noise), s)
        kl = (0.5 * (mean**2 + log_var.exp() - 1 - log_var) * mask).sum(1).mean()
        capacity = self.c.capacity.c_max * min(1.0, self.t / self.c.capacity.ramp_steps)
        excess = kl - capacity
        objective = {
            "square": self.c.capacity.gamma * excess**2,
            "ceiling": self.c.capacity.kl_weight * kl + self.c.capacity.gamma * excess.clamp_min(0) ** 2,
            "elbo": kl,
        }
        classifier = F.cross_entropy(self.nets.classifier(h.detach())[:, :count], s)
        found = {"reconstruction": nll(y, x), "kl": kl}
        balance = self.c.reconstruction_weight
        loss = balance * found["reconstruction"] + objective[self.c.capacity.objective]
        if dreams is not None:
            past, z = dreams
            with torch.no_grad():
                old_y = self.old.decode(z, past)
                dreamt = old_y.sigmoid()
                _, old_mean, old_log_var = self.old.encode(dreamt)
            h, mean, log_var = self.nets.encode(dreamt)
            spread = (0.5 * log_var).exp() - (0.5 * old_log_var).exp()
            found["dream_encoder"] = ((mean - old_mean) ** 2 + spread**2).sum(1).mean()
            found["dream_decoder"] = nll(self.nets.decode(z, past), dreamt) - nll(old_y, dreamt)
            classifier = classifier + F.cross_entropy(self.nets.classifier(h.detach())[:, :count], past)
            loss = loss + self.c.dreaming.encoder_weight * found["dream_encoder"]
            loss = loss + balance * self.c.dreaming.decoder_weight * found["dream_decoder"]
        return {"loss": loss + classifier, **found, "classifier": classifier}

    @torch.no_grad()
    def noise_tolerance(self, x: Tensor, delta: float = 0.1) -> Tensor:
        """The std of the noise that each latent tolerates, by central differences of the decoder (App. A.2)."""
        z = self.nets.encode(x)[1]
        p = self.nets.decode(z, label(self.current, z)).sigmoid()
        moves = delta * torch.eye(self.n)
        moved = torch.stack([z[:, None] + moves, z[:, None] - moves]).flatten(0, 2)
        plus, minus = self.nets.decode(moved, label(self.current, moved)).unflatten(0, (2, len(x), self.n))
        slope = (plus - minus) / (2 * delta)
        curvature = (slope**2 * (p * (1 - p))[:, None]).flatten(2).sum(2).mean(0)
        return (self.c.reconstruction_weight * curvature).clamp_min(1e-6).rsqrt()


def atypicality(mean: Tensor, log_var: Tensor) -> Tensor:
    """α_n = KL(E_batch[q(z_n|x)] ‖ N(0,1)) (Eq. 4), with a Gaussian of the same moments."""
    m, v = mean.mean(0), mean.var(0, unbiased=False) + log_var.exp().mean(0)
    return 0.5 * (v + m**2 - 1 - v.log())


def sample(mean: Tensor, log_var: Tensor, mask: Tensor, noise: Tensor) -> Tensor:
    """z^s of Eq. 2: the prior where the mask is shut."""
    return torch.where(mask, mean + torch.exp(0.5 * log_var) * noise, noise)


def nll(y: Tensor, x: Tensor) -> Tensor:
    """−log p(x|z,s) of Bernoulli pixels, averaged over the batch."""
    return F.binary_cross_entropy_with_logits(y, x, reduction="sum") / len(x)


def label(s: int, like: Tensor) -> Tensor:
    """The environment s, once per row."""
    return torch.full((len(like),), s)
