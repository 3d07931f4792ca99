"""CURL (Rao et al. 2019), dynamic: a mixture that grows by a component where images are poorly explained.

Images whose ELBO is worse than a threshold are set aside. A hundred of them become a new component, copied from the
likeliest one and trained alone for ten passes. Before that, the networks are frozen, and from then on every second
batch is one of their samples instead of the world's. The ELBO is the one below, whatever `capacity` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from vase.config import VASEConfig
from vase.learners.arguments import require_index, require_number
from vase.learners.divergence import require_finite_loss
from vase.learners.records import EnvironmentView, Inference, Step
from vase.learners.rivals.lifelong_generative import kl_between
from vase.learners.rivals.mixture import MixtureNetworks, mixture_loss
from vase.learners.rivals.reservoir import from_bytes, to_bytes
from vase.learners.rivals.teacher import Teacher
from vase.learners.rivals.vae import VAE, decode_mean
from vase.method.dream_buffer import CHUNK
from vase.nn.likelihood import Images
from vase.nn.optim import adam
from vase.worlds.checks import require_int, require_seed

BURN_IN = 100
"""Steps at the beginning, and after an expansion, in which none happens."""
POOR = 100
"""Poorly explained images that make a component."""
PASSES = 10
"""Passes over them in which the new component is trained alone."""
MIN_SHARE = 1e-3
"""Components with a smaller q(y|x) are left out of an image's expectation, which saves their decoding."""


class Growth:
    """How many components there are, how much each was used, and the images that none explains."""

    def __init__(self, room: int) -> None:
        self.count, self.since, self.current = 1, 0, 0
        self.use, self.use_at_snapshot = torch.zeros(room, dtype=torch.float64), torch.zeros(room, dtype=torch.float64)
        self.poor = torch.zeros(0, dtype=torch.uint8)

    def set_aside(self, x: Images) -> None:
        """Keep poorly explained images."""
        if len(x):
            self.poor = torch.cat([self.poor, to_bytes(x)]) if len(self.poor) else to_bytes(x)

    def draw(self, n: int, generator: torch.Generator) -> Int[Tensor, "n"]:
        """Components for `n` samples of the snapshot, by their use until then."""
        return torch.multinomial(self.use_at_snapshot, n, replacement=True, generator=generator)

    def state_dict(self) -> dict[str, Any]:
        """Counts, and the images that were set aside."""
        counts = {"count": self.count, "since": self.since, "current": self.current}
        return {**counts, "use": self.use, "use_at_snapshot": self.use_at_snapshot, "poor": self.poor}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.count, self.since, self.current = (state[name] for name in ("count", "since", "current"))
        self.use, self.use_at_snapshot = state["use"].clone(), state["use_at_snapshot"].clone()
        self.poor = state["poor"].clone()


class CURL(VAE):
    """A VAE with components that it adds by itself; each counts as an environment.

    Args:
      config: networks, optimiser and likelihood.
      seed: decides the weights and all noise.
      device: "auto", "cpu", "cuda", ...
      threshold: −ELBO in nats, above the least that a perfect decoder could reach, beyond which an image is poorly
        explained; the reconstruction counts as much as in the loss.
      components: the largest number of them.
    """

    networks: MixtureNetworks

    def __init__(
        self,
        config: VASEConfig | None = None,
        *,
        seed: int = 0,
        device: str = "auto",
        threshold: float | str = 600.0,
        components: int | str = 20,
    ) -> None:
        self.room = require_number("components", components, int, minimum=1)
        super().__init__(config, seed=seed, device=device)
        self.threshold = require_number("threshold", threshold, float, minimum=0)
        self.growth, self.teacher = Growth(self.room), Teacher(self.networks)
        self.parts |= {"growth": self.growth, "teacher": self.teacher}

    def make_networks(self) -> MixtureNetworks:
        """Encoder, decoder and components."""
        return MixtureNetworks(self.config, self.generator, self.room)

    # ---------------------------------------------------------------- learning

    def learn(self, x: Images) -> Step:
        """One gradient step on the batch, or every second time on samples; then, if due, a new component."""
        if self.teacher.networks is not None and self.steps % 2 == 0:
            return self._descend(self._replay(len(x)))[0]
        growth = self.growth
        step, loss, q = self._descend(x)
        growth.since += 1
        growth.current = int(q.mean(0).argmax())
        reasons: tuple[str, ...] = ("the first component",) if self.steps == 1 else ()
        if growth.since > BURN_IN and growth.count < self.room:
            growth.set_aside(x[self._above_floor(loss, x) > self.threshold])
            if len(growth.poor) >= POOR:
                reasons = (f"{len(growth.poor)} images are explained worse than {self.threshold:g} nats",)
                self._expand()
        growth.use[: q.shape[1]] += q.sum(0).double().cpu()
        told: dict[str, Any] = {
            "environment": growth.current,
            "switched": bool(reasons),
            "is_new": bool(reasons),
            "reasons": reasons,
        }
        return replace(step, **told)

    def _descend(self, x: Images) -> tuple[Step, Float[Tensor, "B"], Float[Tensor, "B K"]]:
        """One gradient step; the loss of each image, and q(y|x)."""
        loss, log_q, terms = self.mixture(x)
        total = loss.mean()
        require_finite_loss(float(total.detach()), self.steps, self.config)
        self.optimiser.zero_grad()
        total.backward()
        self.step_optimiser()
        step = Step(self.steps, self.growth.current, loss=float(total.detach()), mask=np.ones(self.n_latents, bool))
        return replace(step, **terms), loss.detach(), log_q.detach().exp()

    def mixture(self, x: Images) -> tuple[Float[Tensor, "B"], Float[Tensor, "B K"], dict[str, Any]]:
        """−ELBO of each image, log q(y|x), and the means of its terms."""
        networks, count = self.networks, self.growth.count
        h = networks.encode(x)[0]
        log_q = networks.log_clusters(h, count)
        q = log_q.exp()
        rows, components = (q.detach() >= MIN_SHARE).nonzero(as_tuple=True)
        weights = q[rows, components]
        weights = weights / torch.zeros(len(x), device=x.device).index_add(0, rows, weights)[rows]
        nll, kl = self._pair_costs(h, x, rows, components)
        loss = mixture_loss(self.config.reconstruction_weight * nll + kl, rows, weights, log_q)
        terms = {
            name: float((weights * values).detach().sum() / len(x))
            for name, values in (("reconstruction", nll), ("kl", kl))
        }
        terms["deviance"] = terms["reconstruction"] - float(self.likelihood.floor(x).mean())
        return loss, log_q, terms

    def _pair_costs(self, h: Tensor, x: Images, rows: Tensor, components: Tensor) -> tuple[Tensor, Tensor]:
        """−log p(x|z) and KL(q(z|x,y) ‖ p(z|y)) for pairs of images and components."""
        networks = self.networks
        mean, log_var = (part[rows, components] for part in networks.heads(h, self.growth.count))
        z = mean + torch.exp(0.5 * log_var) * self.noise(*mean.shape)
        y = networks.decode(z, torch.zeros(len(z), dtype=torch.long, device=self.device))
        kl = kl_between(mean, log_var, networks.prior_mean[components], networks.prior_log_var[components])
        return self.likelihood.nll(y, x[rows]), kl

    def _above_floor(self, loss: Float[Tensor, "B"], x: Images) -> Float[Tensor, "B"]:
        return loss - self.config.reconstruction_weight * self.likelihood.floor(x)

    def _expand(self) -> None:
        """Freeze what is known, and make a component of the images that were set aside."""
        growth, networks = self.growth, self.networks
        self.teacher.follow()
        growth.use_at_snapshot = growth.use.clone()
        x = from_bytes(growth.poor, self.device)
        parent, new = int(networks.codes(x, growth.count)[0].sum(0).argmax()), growth.count
        networks.copy_component(parent, new)
        growth.count, growth.since, growth.current, growth.poor = new + 1, 0, new, growth.poor[:0].clone()
        alone = adam(networks.component_parameters, self.config)  # others do not drift on
        for _ in range(PASSES):
            for part in x.split(self.config.batch_size):
                alone.zero_grad()
                self._loss_of_component(part, new).backward(inputs=networks.component_parameters)
                alone.step()

    def _loss_of_component(self, x: Images, component: int) -> Float[Tensor, ""]:
        """−log q(y|x) − log p(x|z) + KL(q(z|x,y) ‖ p(z|y)), with y given."""
        h = self.networks.encode(x)[0]
        rows = torch.arange(len(x), device=self.device)
        nll, kl = self._pair_costs(h, x, rows, torch.full_like(rows, component))
        log_q = self.networks.log_clusters(h, self.growth.count)[:, component]
        return (self.config.reconstruction_weight * nll + kl - log_q).mean()

    def _replay(self, n: int) -> Images:
        """Samples of the snapshot, from its components by their use."""
        snapshot = self.teacher.networks
        assert isinstance(snapshot, MixtureNetworks)
        y = self.growth.draw(n, self.generator).to(self.device)
        return decode_mean(self, snapshot, snapshot.sample_prior(y, self.noise(n, self.n_latents)))

    # ---------------------------------------------------------------- questions

    @property
    def environment(self) -> int:
        """The component that explains the last batch."""
        return self.growth.current

    @property
    def environments(self) -> tuple[EnvironmentView, ...]:
        """One for each component; `age` is the number of images that it explained."""
        all_latents = np.ones(self.n_latents, bool)
        use = [round(value) for value in self.growth.use.tolist()]
        return tuple(
            EnvironmentView(k, float("nan"), used=all_latents, mask=all_latents, gate=all_latents, age=use[k])
            for k in range(self.growth.count)
        )

    def infer_environment(self, images: Any) -> Inference:
        """The component with the largest q(y|x), averaged over the batch, and that of each image."""
        each = torch.cat([self.networks.codes(part, self.growth.count)[0] for part in self.images(images).split(CHUNK)])
        q = each.cpu().numpy()
        best = int(q.mean(0).argmax())
        verdict = f"component {best} explains the batch best"
        return Inference(q.mean(0), q, best, verdict, (), environments=q.argmax(1))

    def posterior(self, images: Any) -> tuple[Float[np.ndarray, "B N"], Float[np.ndarray, "B N"]]:
        """Mean and standard deviation of q(z|x,ŷ), with the likeliest component ŷ of each image."""
        parts = [self.networks.codes(part, self.growth.count)[1:] for part in self.images(images).split(CHUNK)]
        mean, log_var = (torch.cat(column) for column in zip(*parts, strict=True))
        return mean.cpu().numpy(), torch.exp(0.5 * log_var).cpu().numpy()

    @torch.no_grad()
    def dream(self, n: int, environment: int | None = None, *, seed: int | None = None) -> Float[np.ndarray, "n C H W"]:
        """Images of a component, or of all of them by their use; the same `seed` gives the same ones."""
        generator = torch.Generator()
        _ = generator.seed() if seed is None else generator.manual_seed(require_seed(seed))
        n = require_int("n", n, 1)
        if environment is None:
            y = torch.multinomial(self.growth.use + 1e-12, n, replacement=True, generator=generator)
        else:
            y = torch.full((n,), require_index("environment", environment, self.growth.count))
        z = self.networks.sample_prior(
            y.to(self.device), torch.randn(n, self.n_latents, generator=generator).to(self.device)
        )
        return self.decode(z.cpu().numpy())
