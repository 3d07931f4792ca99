"""Every question one can ask a VASE learner without teaching it anything."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from sklearn.exceptions import NotFittedError
from torch import Tensor

from vase.config import VASEConfig
from vase.images import as_images
from vase.learners.arguments import require_index, require_latents, require_span
from vase.learners.inference import best_environment, explain, unknown
from vase.learners.records import Encoding, EnvironmentView, Inference
from vase.method.atypicality import atypicality
from vase.method.capacity import sample_posterior
from vase.method.context import in_context
from vase.method.dream_buffer import CHUNK, DreamBuffer
from vase.method.environment_memory import EnvironmentMemory, EnvironmentRecord
from vase.method.shift_detector import Fit, ShiftDetector
from vase.method.statistics import MIN_BATCH_FOR_ATYPICALITY, BatchStatistics
from vase.nn.likelihood import Images, Likelihood
from vase.nn.networks import Networks
from vase.worlds.checks import require_int, require_seed


class Representation:
    """Encoder, decoder and classifier with the memory of environments (Eq. 1, 2 and 6).

    The parts, whose names end in an underscore, are built by the learner on first use.
    """

    config_: VASEConfig
    device_: torch.device
    likelihood_: Likelihood
    networks_: Networks
    memory_: EnvironmentMemory
    detector_: ShiftDetector
    dreams_: DreamBuffer
    gated_: bool
    """Whether the decoder of an environment sees only the latents that it uses: z^s = a^s ⊙ z of Eq. 1."""
    steps_: int
    alpha_: Float[Tensor, "N"]
    """α of the last batch."""

    @property
    def n_latents(self) -> int:
        """N."""
        return self.config_.network.latents

    @property
    def steps(self) -> int:
        """Batches seen so far."""
        return self.steps_

    @property
    def environment(self) -> int:
        """The current environment."""
        return self.memory_.current

    @property
    def environments(self) -> tuple[EnvironmentView, ...]:
        """What is known of every environment seen so far."""
        return tuple(
            EnvironmentView(
                e.index,
                e.loss,
                used=e.used.numpy().copy(),
                mask=e.mask.numpy().copy(),
                gate=e.gate.numpy().copy(),
                age=e.age,
                duplicate_of=e.duplicate_of,
            )
            for e in self.memory_
        )

    @property
    def mask(self) -> Bool[np.ndarray, "N"]:
        """Active latents of the current environment (Eq. 5)."""
        return self.memory_.record.active.numpy().copy() if len(self.memory_) else np.ones(self.n_latents, bool)

    @property
    def used(self) -> Bool[np.ndarray, "K N"]:
        """u^s of every environment (App. A.2)."""
        return np.array([e.used.numpy() for e in self.memory_], dtype=bool).reshape(-1, self.n_latents)

    @property
    def atypicality(self) -> Float[np.ndarray, "N"]:
        """α_n of the last batch (Eq. 4)."""
        return self.alpha_.numpy().copy()

    @property
    def cache_bytes(self) -> int:
        """Bytes of the pool of dreams, which no checkpoint holds."""
        return self.dreams_.pool_bytes

    # ---------------------------------------------------------------- questions

    @torch.no_grad()
    def encode(self, images: Any) -> Encoding:
        """Mean and standard deviation of q(z|x), the active latents, and the environment of the batch."""
        x = self._images(images)
        memory = self.memory_
        _, mean, log_var = encode_in_chunks(self.networks_, x)
        s = self._infer(x)[0] if len(memory) else None
        active = memory[memory.current if s is None else s].active if len(memory) else torch.ones(self.n_latents) > 0
        if s is None and len(memory) and self.config_.mask.enabled and len(x) >= MIN_BATCH_FOR_ATYPICALITY:
            active = self._masked(active, atypicality(mean, log_var).cpu(), -1)
        return Encoding(
            mean.cpu().numpy(), torch.exp(0.5 * log_var).cpu().numpy(), active.numpy().copy(), environment=s
        )

    def posterior(self, images: Any) -> tuple[Float[np.ndarray, "B N"], Float[np.ndarray, "B N"]]:
        """Mean and standard deviation of q(z|x), without asking which environment the images come from."""
        _, mean, log_var = encode_in_chunks(self.networks_, self._images(images))
        return mean.cpu().numpy(), torch.exp(0.5 * log_var).cpu().numpy()

    @torch.no_grad()
    def decode(self, z: Any, environment: int | None = None) -> Float[np.ndarray, "B C H W"]:
        """E[x|z,s]; an environment sees only the latents that are its own."""
        s = self._index(environment)
        values = torch.from_numpy(np.array(z, dtype=np.float32))
        if values.ndim != 2 or values.shape[1] != self.n_latents:
            raise ValueError(f"z of shape {tuple(values.shape)}: must be (B, {self.n_latents}), one column per latent.")
        if not bool(torch.isfinite(values).all()):
            raise ValueError("z contains NaN or infinity: pass finite latents.")
        return self._mean(values.to(self.device_), s).cpu().numpy()

    @torch.no_grad()
    def reconstruct(self, images: Any, environment: int | None = None) -> Float[np.ndarray, "B C H W"]:
        """Decode the means of q(z|x), in the environment of the batch or in any other (cross-domain)."""
        x = self._images(images)
        s = self._index_or_inferred(environment, x)
        return self._mean(encode_in_chunks(self.networks_, x)[1], s).cpu().numpy()

    @torch.no_grad()
    def dream(self, n: int, environment: int | None = None, *, seed: int | None = None) -> Float[np.ndarray, "n C H W"]:
        """Images of an environment from the prior (Eq. 1); the same `seed` gives the same dreams."""
        s = self._index(environment)
        n, generator = require_int("n", n, 1), torch.Generator()
        _ = generator.seed() if seed is None else generator.manual_seed(require_seed(seed))
        z = torch.randn(n, self.n_latents, generator=generator).to(self.device_)
        return self._mean(z, s).cpu().numpy()

    @torch.no_grad()
    def traverse(
        self,
        images: Any,
        latents: Iterable[int] | None = None,
        span: float = 2.0,
        points: int = 9,
        environment: int | None = None,
    ) -> Float[np.ndarray, "B L points C H W"]:
        """Reconstructions while one latent at a time moves from −span to span (Fig. 2)."""
        x = self._images(images)
        s = self._index_or_inferred(environment, x)
        span, points = require_span(span), require_int("points", points, 1)
        rows = require_latents(range(self.n_latents) if latents is None else latents, self.n_latents)
        z = encode_in_chunks(self.networks_, x)[1][:, None, None].repeat(1, len(rows), points, 1)
        values = torch.linspace(-span, span, points, device=self.device_)
        for i, n in enumerate(rows):
            z[:, i, :, n] = values
        images_out = self._mean(z.flatten(0, 2), s)
        return images_out.unflatten(0, (len(x), len(rows), points)).cpu().numpy()

    @torch.no_grad()
    def infer_environment(self, images: Any, context: Any = None) -> Inference:
        """Which environment a batch belongs to (Eq. 6, Alg. 1), with the reasons in words.

        With `context`, other images that were met together with them, ambiguous images mean what their surroundings
        suggest: q(s|x) is weighted by the share of all these images that is taken for s, and normalised.
        """
        x = self._images(images)
        if not len(self.memory_):
            return unknown(len(x))
        q, others = self._probabilities(x), None if context is None else self._probabilities(self._images(context))
        if others is not None:
            q = in_context(q, others)
        s, fits = self._infer(x, q)
        return explain(s, fits, q, x, self.detector_)

    # ---------------------------------------------------------------- pieces

    def _images(self, images: Any, minimum: int = 1) -> Images:
        return as_images(images, self.config_.image_shape, minimum=minimum, device=self.device_)

    def _index(self, environment: int | None) -> int:
        if not len(self.memory_):
            raise NotFittedError("nothing has been learnt yet: call partial_fit or fit first.")
        if environment is None:
            return self.memory_.current
        return self.memory_.resolve(require_index("environment", environment, len(self.memory_)))

    def _index_or_inferred(self, environment: int | None, x: Images) -> int:
        """The given environment, else that of the batch, else the current one."""
        if environment is None and len(self.memory_):
            environment = self._infer(x)[0]
        return self._index(environment)

    def _probabilities(self, x: Images) -> Float[Tensor, "B K"]:
        """q(s|x) of each image."""
        return self._classified(encode_in_chunks(self.networks_, x)[0])

    def _classified(self, h: Tensor) -> Float[Tensor, "B K"]:
        """q(s|x) from the encoder's features; retired environments have none."""
        logits = self.networks_.classify(h, len(self.memory_))
        logits[:, self.memory_.retired()] = -torch.inf
        return logits.softmax(1)

    @torch.no_grad()
    def _infer(self, x: Images, q: Float[Tensor, "B K"] | None = None) -> tuple[int | None, Mapping[int, Fit]]:
        """The environment that a batch fits best, None if it fits none; and how it fits each."""
        if not self.config_.environments.enabled:
            return 0, {0: Fit(1.0, float("nan"), ())}
        fits = self._fits(x, q=q)
        return best_environment(fits, x, self.detector_), fits

    @torch.no_grad()
    def _fits(
        self,
        x: Images,
        environments: Sequence[int] | None = None,
        *,
        q: Float[Tensor, "B K"] | None = None,
        current: int | None = None,
        recent: Images | None = None,
        others: Sequence[Networks] = (),
    ) -> dict[int, Fit]:
        """How a batch fits environments, as the live weights see it and, if given, other ones.

        `q` is q(s|x) of each image, if it is known: with context it differs from the live classifier's. Tests that
        follow the `current` environment are asked about it only while it is being learnt; `recent` are its last images.
        """
        memory, detector = self.memory_, self.detector_
        bare = [BatchStatistics(x, {}, torch.zeros(0), len(x))]
        order, networks = memory.order(), (self.networks_, *others)
        encode = functools.cache(lambda i: encode_in_chunks(networks[i], x))
        if detector.needs_networks(current=current is not None):
            if q is None:
                q = self._classified(encode(0)[0])
            candidates = [int(s) for s in q.mean(0).argsort(descending=True, stable=True)]
            order = list(dict.fromkeys((candidates[0], memory.current, *candidates)))

        def views(record: EnvironmentRecord) -> Iterator[BatchStatistics]:
            """By all weights, and then again beside the last images: whatever is not asked for costs nothing."""
            seen = []
            for i, nets in enumerate(networks):
                seen.append(self._view(nets, x, *encode(i)[1:], record))
                yield seen[-1]
            if record.index == current and recent is not None:
                for nets, view in zip(networks, seen, strict=True):
                    yield replace(view, recent=self._view(nets, recent, *encode_in_chunks(nets, recent)[1:], record))

        def fit(s: int) -> Fit:
            looks = detector.needs_networks(current=s == current)
            return detector.fit(memory[s], views(memory[s]) if looks else bare, current=s == current)

        fits = {s: fit(s) for s in (order if environments is None else environments)}
        paper = self.config_.environments.inference == "paper" and memory.current in fits
        if paper and order[0] != memory.current and fit(order[0]).p_value >= detector.level:
            # Alg. 1 asks the classifier's candidate first.
            reason = f"the batch fits environment {order[0]}, for which the classifier takes it"
            fits[memory.current] = Fit(0.0, float("nan"), (reason,))
        return fits

    @torch.no_grad()
    def _view(
        self, nets: Networks, x: Images, mean: Tensor, log_var: Tensor, record: EnvironmentRecord
    ) -> BatchStatistics:
        """A batch and its posteriors, as some weights see it in an environment."""
        generator = torch.Generator().manual_seed(self.steps_)
        noise = torch.randn(mean.shape, generator=generator).to(self.device_)
        z = self._sample(record.active.to(self.device_), mean, log_var, noise)
        nll = self.likelihood_.nll(self._decode(nets, z, record.index), x)
        deviance = nll - self.likelihood_.floor(x)
        losses = {"reconstruction": float(nll.mean()), "deviance": float(deviance.mean())}
        return BatchStatistics(x, losses, atypicality(mean, log_var).cpu(), len(x))

    @torch.no_grad()
    def _decode(self, nets: Networks, z: Float[Tensor, "B N"], s: int) -> Images:
        return torch.cat([nets.decode(part, self._label(s, len(part))) for part in z.split(CHUNK)])

    def _mean(self, z: Float[Tensor, "B N"], s: int) -> Images:
        if self.gated_:
            z = z * self.memory_[s].active.to(self.device_)
        return self.likelihood_.mean(self._decode(self.networks_, z, s)).clamp(0, 1)

    def _sample(self, active: Tensor, mean: Tensor, log_var: Tensor, noise: Tensor) -> Float[Tensor, "B N"]:
        """z^s of Eq. 2; with gates, z^s = a^s ⊙ z of Eq. 1: what the decoder of the environment sees."""
        z = sample_posterior(mean, log_var, active, noise)
        return z * active if self.gated_ else z

    def _label(self, s: int, n: int) -> Tensor:
        return torch.full((n,), s, device=self.device_)

    def _masked(self, mask: Bool[Tensor, "N"], alpha: Float[Tensor, "N"], index: int) -> Bool[Tensor, "N"]:
        """The mask of environment `index` after a batch; without S nobody knows what other environments use."""
        protect = self.config_.mask.protect_only and self.config_.environments.enabled
        return self.memory_.updated_mask(index, mask, alpha, self.config_.mask, protect=protect)


@torch.no_grad()
def encode_in_chunks(nets: Networks, x: Images) -> tuple[Tensor, Tensor, Tensor]:
    """Features, means and log-variances of any number of images."""
    parts = [nets.encode(part) for part in x.split(CHUNK)]
    h, mean, log_var = (torch.cat(column) for column in zip(*parts, strict=True))
    return h, mean, log_var
