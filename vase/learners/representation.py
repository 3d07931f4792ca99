"""What the learner knows: networks, environments, and every question one can ask without learning."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from sklearn.exceptions import NotFittedError
from torch import Tensor

from vase.config import VASEConfig
from vase.distributed import crew
from vase.images import as_images
from vase.learners.records import Encoding, EnvironmentView, Inference
from vase.machine import half_on, half_precision, works
from vase.method.atypicality import atypicality, update_mask
from vase.method.capacity import sample_posterior
from vase.method.environments import Environment, Evidence, in_context, objections, used_by_others
from vase.nn.likelihood import Images, likelihood
from vase.nn.networks import Networks

CHUNK = 256
"""Images that pass through the networks at once when nothing is learnt."""
TELLING = 16
"""Images a batch must have for its atypicality to count: in smaller ones typical latents look atypical by chance."""


class Representation:
    """Encoder, decoder and classifier with the memory of environments (Eq. 1, 2 and 6)."""

    def __init__(self, config: VASEConfig, seed: int, device: str) -> None:
        if not isinstance(config, VASEConfig):
            raise TypeError(f"config of type {type(config).__name__}: pass a VASEConfig, e.g. VASEConfig.laptop().")
        self._c = config
        self._device = _device(device)
        # z^s = a^s ⊙ z (Eq. 1) needs a mask, and dreams under it.
        self._gates = config.mask.enabled and config.dreaming.enabled and config.dreaming.gates
        self._n = config.network.latents
        self._p = likelihood(config.network.likelihood, config.network.gaussian_std)
        self._generator = torch.Generator().manual_seed(seed)
        self._nets = Networks(config, self._generator).to(self._device)
        self._nets.reduced = _half(config.network.precision, self._device)
        self._slow = copy.deepcopy(self._nets).requires_grad_(False)
        self._memory: list[Environment] = []
        self._current = 0
        self._step = 0
        self._alpha = torch.zeros(self._n)

    @property
    def n_latents(self) -> int:
        """N."""
        return self._n

    @property
    def steps(self) -> int:
        """Batches seen so far."""
        return self._step

    @property
    def environment(self) -> int:
        """The current environment."""
        return self._current

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
            )
            for e in self._memory
        )

    @property
    def mask(self) -> Bool[np.ndarray, "N"]:
        """Active latents of the current environment (Eq. 5)."""
        return self._memory[self._current].active.numpy().copy() if self._memory else np.ones(self._n, bool)

    @property
    def used(self) -> Bool[np.ndarray, "K N"]:
        """u^s of every environment (App. A.2)."""
        return np.array([e.used.numpy() for e in self._memory], dtype=bool).reshape(-1, self._n)

    @property
    def atypicality(self) -> Float[np.ndarray, "N"]:
        """α_n of the last batch (Eq. 4)."""
        return self._alpha.numpy().copy()

    # ---------------------------------------------------------------- questions

    @torch.no_grad()
    def encode(self, images: Any) -> Encoding:
        """Mean and standard deviation of q(z|x), the active latents, and the environment of the batch."""
        x = self._images(images)
        _, mean, log_var = self._encode(self._nets, x)
        s = self._verdict(x, self._nets)[0] if self._memory else None
        active = self._memory[self._current if s is None else s].active if self._memory else torch.ones(self._n) > 0
        if s is None and self._memory and self._c.mask.enabled and len(x) >= TELLING:
            alpha = atypicality(mean, log_var).cpu()
            active = self._masked(active, alpha, -1)
        return Encoding(
            mean.cpu().numpy(), torch.exp(0.5 * log_var).cpu().numpy(), active.numpy().copy(), environment=s
        )

    def posterior(self, images: Any) -> tuple[Float[np.ndarray, "B N"], Float[np.ndarray, "B N"]]:
        """Mean and standard deviation of q(z|x), without asking which environment the images come from."""
        _, mean, log_var = self._encode(self._nets, self._images(images))
        return mean.cpu().numpy(), torch.exp(0.5 * log_var).cpu().numpy()

    @torch.no_grad()
    def transform(self, images: Any) -> Float[np.ndarray, "B N"]:
        """The means of q(z|x), one row per image."""
        self._index(None)
        return self._encode(self._nets, self._images(images))[1].cpu().numpy()

    @torch.no_grad()
    def decode(self, z: Any, environment: int | None = None) -> Float[np.ndarray, "B C H W"]:
        """E[x|z,s]; an environment sees only the latents that are its own."""
        s = self._index(environment)
        values = torch.as_tensor(np.asarray(z, dtype=np.float32))
        if values.ndim != 2 or values.shape[1] != self._n:
            raise ValueError(f"z of shape {tuple(values.shape)}: must be (B, {self._n}), one column per latent.")
        if not bool(torch.isfinite(values).all()):
            raise ValueError("z contains NaN or infinity: pass finite latents.")
        return self._mean(values.to(self._device), s).cpu().numpy()

    @torch.no_grad()
    def reconstruct(self, images: Any, environment: int | None = None) -> Float[np.ndarray, "B C H W"]:
        """Decode the means of q(z|x), in the environment of the batch or in any other (cross-domain)."""
        x = self._images(images)
        if environment is None:
            environment = self._verdict(x, self._nets)[0] if self._memory else None
        s = self._index(environment)
        return self._mean(self._encode(self._nets, x)[1], s).cpu().numpy()

    @torch.no_grad()
    def dream(self, n: int, environment: int | None = None, *, seed: int | None = None) -> Float[np.ndarray, "n C H W"]:
        """Images of an environment from the prior (Eq. 1); the same `seed` gives the same dreams."""
        s = self._index(environment)
        if n < 1:
            raise ValueError(f"n={n}: ask for at least one dream.")
        generator = torch.Generator()
        _ = generator.seed() if seed is None else generator.manual_seed(seed)
        z = torch.randn(n, self._n, generator=generator).to(self._device)
        return self._mean(z, s).cpu().numpy()

    @torch.no_grad()
    def traverse(
        self,
        images: Any,
        latents: list[int] | None = None,
        span: float = 2.0,
        points: int = 9,
        environment: int | None = None,
    ) -> Float[np.ndarray, "B L points C H W"]:
        """Reconstructions while one latent at a time moves from −span to span (Fig. 2)."""
        x = self._images(images)
        if environment is None:
            environment = self._verdict(x, self._nets)[0] if self._memory else None
        s = self._index(environment)
        rows = list(range(self._n)) if latents is None else [int(n) for n in latents]
        for n in rows:
            if not 0 <= n < self._n:
                raise ValueError(f"latent {n}: the learner has latents 0 to {self._n - 1}.")
        z = self._encode(self._nets, x)[1][:, None, None].repeat(1, len(rows), points, 1)
        values = torch.linspace(-span, span, points, device=self._device)
        for i, n in enumerate(rows):
            z[:, i, :, n] = values
        images_out = self._mean(z.flatten(0, 2), s)
        return images_out.unflatten(0, (len(x), len(rows), points)).cpu().numpy()

    @torch.no_grad()
    def infer_environment(self, images: Any, context: Any = None) -> Inference:
        """Which environment a batch belongs to (Eq. 6, Alg. 1), with the reasons in words.

        Ambiguous images mean what their surroundings suggest: with `context`, other images that were met together with
        them, q(s|x) is weighed by the share of the whole company that is taken for s, and normalised.
        """
        x = self._images(images)
        if not self._memory:
            none = np.zeros((len(x), 0), np.float32)
            return Inference(none.sum(0), none, None, "new environment", ("nothing has been learnt yet",))
        q, others = self._probabilities(x), None if context is None else self._probabilities(self._images(context))
        if others is not None:
            q = in_context(q, others)
        s, reasons = self._verdict(x, self._nets, q=q)
        said = "new environment" if s is None else f"environment {s}"
        return Inference(q.mean(0).cpu().numpy(), q.cpu().numpy(), s, said, reasons)

    # ---------------------------------------------------------------- pieces

    def _go_on_in(self, reduced: bool) -> None:
        """Keep to the arithmetic that was chosen before, where this machine has it."""
        self._nets.reduced = self._slow.reduced = reduced and works(self._device)

    def _images(self, images: Any, minimum: int = 1) -> Images:
        return as_images(images, self._c.image_shape, minimum=minimum, device=self._device)

    def _index(self, environment: int | None) -> int:
        if not self._memory:
            raise NotFittedError("nothing has been learnt yet: call partial_fit or fit first.")
        s = self._current if environment is None else int(environment)
        if not 0 <= s < len(self._memory):
            raise ValueError(f"environment {s}: the learner knows environments 0 to {len(self._memory) - 1}.")
        return s

    def _probabilities(self, x: Images) -> Float[Tensor, "B K"]:
        """q(s|x) of each image."""
        return self._nets.classify(self._encode(self._nets, x)[0], len(self._memory)).softmax(1)

    def _verdict(
        self, x: Images, *judges: Networks, q: Float[Tensor, "B K"] | None = None
    ) -> tuple[int | None, tuple[str, ...]]:
        """The environment of a batch, None for a new one, with the reasons (Alg. 1).

        The classifier's candidate is tested first, then the current environment, then the others by falling
        probability: new is what fits none. A batch fits an environment if one of the judges finds that it does.
        `q` is q(s|x) of each image, if it is known: in company it is another than the first judge's.
        """
        if not self._c.environments.enabled:
            return 0, ("environments are not inferred (S is off)",)
        encoded = [self._encode(nets, x) for nets in judges]
        if q is None:
            q = judges[0].classify(encoded[0][0], len(self._memory)).softmax(1)
        candidate, *rest = (int(s) for s in q.mean(0).argsort(descending=True, stable=True))
        reasons: tuple[str, ...] = ()
        for s in dict.fromkeys((candidate, self._current, *rest)):
            env = self._memory[s]
            found: tuple[str, ...] = ()
            for nets, (_, mean, log_var) in zip(judges, encoded, strict=True):
                evidence = self._evidence(nets, env, x, mean, log_var)
                found = objections(env, evidence, self._c.environments, self._c.mask)
                if not found:
                    return s, (*reasons, f"the batch fits environment {s}")
            if s in (candidate, self._current):
                reasons += found
        return None, reasons

    @torch.no_grad()
    def _evidence(self, nets: Networks, env: Environment, x: Images, mean: Tensor, log_var: Tensor) -> Evidence:
        """L_s(x) and α(x); a few images have no batch statistics, so only their loss speaks."""
        generator = torch.Generator().manual_seed(self._step)
        z = self._sample(
            env.active.to(self._device), mean, log_var, torch.randn(mean.shape, generator=generator).to(self._device)
        )
        loss = self._p.nll(self._decode(nets, z, env.index), x)
        if self._c.environments.loss == "deviance":
            loss = loss - self._p.floor(x)
        return Evidence(float(loss.mean()), atypicality(mean, log_var).cpu() if len(x) >= TELLING else env.calm)

    @torch.no_grad()
    def _encode(self, nets: Networks, x: Images) -> tuple[Tensor, Tensor, Tensor]:
        parts = [nets.encode(part) for part in x.split(CHUNK)]
        h, mean, log_var = (torch.cat(column) for column in zip(*parts, strict=True))
        return h, mean, log_var

    @torch.no_grad()
    def _decode(self, nets: Networks, z: Float[Tensor, "B N"], s: int) -> Images:
        return torch.cat([nets.decode(part, self._label(s, len(part))) for part in z.split(CHUNK)])

    def _mean(self, z: Float[Tensor, "B N"], s: int) -> Images:
        if self._gates:
            z = z * self._memory[s].active.to(self._device)
        return self._p.mean(self._decode(self._nets, z, s)).clamp(0, 1)

    def _sample(self, active: Tensor, mean: Tensor, log_var: Tensor, noise: Tensor) -> Float[Tensor, "B N"]:
        """z^s of Eq. 2; with gates, z^s = a^s ⊙ z of Eq. 1: what the decoder of the environment sees."""
        z = sample_posterior(mean, log_var, active, noise)
        return z * active if self._gates else z

    def _label(self, s: int, n: int) -> Tensor:
        return torch.full((n,), s, device=self._device)

    def _masked(self, mask: Bool[Tensor, "N"], alpha: Float[Tensor, "N"], index: int) -> Bool[Tensor, "N"]:
        """The mask of environment `index` after a batch (Eq. 5).

        Only what another environment uses needs protection; masking more than that can starve a latent for ever.
        Without S nobody knows what others use, so that A masks whatever is atypical, as in the paper.
        """
        c = self._c.mask
        protect = c.protect_only and self._c.environments.enabled
        if protect and all(e.index == index for e in self._memory):  # nobody to protect
            return torch.ones_like(mask)
        maskable = used_by_others(self._memory, index, self._n) if protect else torch.ones(self._n) > 0
        return update_mask(mask, alpha, c.low, c.high, maskable, min(c.minimum, self._n))


def _device(name: str) -> torch.device:
    """A device that works, or an error that says which do."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros((), device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"device={name!r}: not usable here ({reason}); use 'auto', 'cpu' or another device."
        ) from error
    return device


def _half(precision: str, device: torch.device) -> bool:
    """Whether the networks compute in bfloat16. Workers on CPUs, each of which would time it for itself, do not."""
    if precision == "bfloat16" and not works(device):
        reason = half_precision().reason
        raise ValueError(f"network.precision='bfloat16': not usable here ({reason}); use 'float32' or 'auto'.")
    return precision == "bfloat16" or (precision == "auto" and crew().size == 1 and half_on(device))
