"""VASE: the only owner of weights, optimiser and memory. `partial_fit` reads like the paper's Section 3."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from sklearn.base import BaseEstimator, TransformerMixin
from torch import Tensor

from vase import checkpoint
from vase.config import VASEConfig
from vase.distributed import crew
from vase.learners.records import Step
from vase.learners.representation import TELLING, Representation
from vase.method.atypicality import atypicality
from vase.method.capacity import capacity_target, capacity_term, kl_per_latent
from vase.method.dream_buffer import Dreams, dream
from vase.method.dreaming import draw_environments, encoder_proximity
from vase.method.environments import Environment, Evidence, as_table, from_table, objections, used_by_others
from vase.method.statistics import TERMS, Facts, kl_in, pack
from vase.method.usage import bearable_noise, close_gates
from vase.nn.likelihood import Images
from vase.nn.networks import Networks
from vase.nn.optim import load_optimiser_state, optimiser_state

RECENT = 4
"""Last batches of the current environment that are kept, to measure which latents it uses when it is left."""


@dataclass(frozen=True)
class Forward:
    """One pass of the networks over a batch in the current environment, and over dreams."""

    x: Images
    loss: Float[Tensor, ""]
    """Eq. 8, weighted as in App. A.3, plus L_env: what is differentiated."""
    facts: Facts


class VASE(TransformerMixin, BaseEstimator, Representation):
    """Learns one disentangled representation from a stream of images whose distribution shifts without notice.

    >>> import numpy as np
    >>> model = VASE(VASEConfig.smoke(image_shape=(1, 32, 32)), seed=0)
    >>> step = model.partial_fit(np.zeros((8, 32, 32), np.uint8))
    >>> step.environment, step.is_new
    (0, True)
    """

    def __init__(self, config: VASEConfig | None = None, *, seed: int = 0, device: str = "auto") -> None:
        self.config = config
        self.seed = seed
        self.device = device
        Representation.__init__(self, VASEConfig() if config is None else config, seed, device)
        self._crew = crew()
        self._pass = self._crew.wrap(self._nets)
        self._old: Networks | None = None
        self._pool: Dreams | None = None
        self._pairs: tuple[list[Tensor], list[Tensor]] | None = None
        self._synced = 0
        self._optimiser = torch.optim.Adam(self._nets.parameters(), lr=self._c.learning_rate, fused=True)
        self._held: list[Images] = []
        self._recent: deque[Images] = deque(maxlen=RECENT)
        self._recruited = torch.full((self._n,), -1, dtype=torch.long)

    def set_params(self, **params: Any) -> VASE:
        """Change constructor arguments, as scikit-learn does after `clone`; only before anything is learnt."""
        known = self.get_params()
        for name in params:
            if name not in known:
                raise ValueError(f"unknown parameter {name!r}: VASE has {', '.join(known)}.")
        if self._step > 0:
            raise ValueError("set_params after learning: a life has one beginning; clone the learner and set it there.")
        VASE.__init__(self, **{**known, **params})
        return self

    # ---------------------------------------------------------------- learning

    def partial_fit(self, images: Any, y: object = None) -> Step:
        """Learn from one batch; nobody has to say which world it comes from."""
        x = self._images(images, minimum=2)
        self._crew.require_equal(len(x))
        self._step += 1
        if not self._memory:
            self._be_born(self._alpha)
            return self._learn([self._crew.whole(x)], switched=True, is_new=True, reasons=("the first environment",))
        forward = self._forward(x)
        self._alpha = forward.facts.alpha
        reasons = self._suspicion(forward)
        if not reasons:
            dropped, self._held = len(self._held), []
            return self._update(forward, dropped=dropped)
        self._held.append(self._crew.whole(x))
        if len(self._held) < self._c.environments.patience:
            return self._report(None, held=True, reasons=reasons)
        held, self._held = self._held, []
        verdict, reasons = self._judge(torch.cat(held))
        if verdict == self._current:
            return self._learn(held, reasons=reasons)
        self._leave()
        if verdict is None:
            x = torch.cat(held)
            self._be_born(self._crew.first(lambda: atypicality(*self._encode(self._nets, x)[1:]).cpu()))
        else:
            self._return_to(verdict)
        return self._learn(held, switched=True, is_new=verdict is None, reasons=reasons)

    def fit(self, stream: Any, y: object = None, *, progress: bool = False) -> VASE:
        """Learn from a stream: an iterable of batches (or of objects with `.images`), or one array, cut into batches.

        Unlike most scikit-learn estimators, a second call goes on learning: a life has one beginning.
        """
        batches = self._batches(stream)
        if progress:
            from rich.progress import track

            total = len(stream) if hasattr(stream, "__len__") and not isinstance(stream, np.ndarray | Tensor) else None
            batches = iter(track(batches, description="learning", total=total))
        for images in batches:
            self.partial_fit(images)
        return self

    def _batches(self, stream: Any) -> Iterator[Any]:
        if isinstance(stream, np.ndarray | Tensor):
            x = self._images(stream, minimum=2)
            order = torch.randperm(len(x), generator=self._generator)
            for i in range(0, max(1, len(x) - 1), self._c.batch_size):
                part, workers = order[i : i + self._c.batch_size], self._crew.size
                if len(part) >= 2 * workers and len(part) % workers == 0:
                    yield self._crew.share(x[part])
        elif isinstance(stream, Iterable):
            for batch in stream:
                yield getattr(batch, "images", batch)
        else:
            raise TypeError(f"a stream of type {type(stream).__name__}: pass an array or an iterable of batches.")

    def _learn(self, batches: list[Images], **report: Any) -> Step:
        """Learn held batches, oldest first; report on the last."""
        for x in batches[:-1]:
            self._update(self._forward(self._crew.share(x)))
        forward = self._forward(self._crew.share(batches[-1]))
        self._alpha = forward.facts.alpha
        return self._update(forward, **report)

    def _forward(self, x: Images) -> Forward:
        """Encode, sample z^s (Eq. 2) and decode in the current environment; dreams ride along in the same pass."""
        c, b, crew = self._c, len(x), self._crew
        env, dreams = self._memory[self._current], self._dreams(b)
        active = env.active.to(self._device)
        noise = crew.share(self._noise(b * crew.size))
        labels = self._label(self._current, b)
        target = x
        if dreams is not None:
            labels = torch.cat([labels, dreams.s])
            x, target = torch.cat([x, dreams.x]), torch.cat([x, dreams.target])
        past = None if dreams is None else dreams.z

        def sample(mean: Tensor, log_var: Tensor) -> Tensor:
            z = self._sample(active, mean[:b], log_var[:b], noise)
            return z if past is None else torch.cat([z, past])

        mean, log_var, y, logits = self._pass(x, sample, labels, len(self._memory))
        errors = self._p.nll(y, target)
        nll, here = errors[:b].mean(), (mean[:b], log_var[:b])
        kl = kl_per_latent(*here, active)
        classifier = F.cross_entropy(logits[:b], labels[:b])
        encoder = decoder = nll.new_zeros(())
        if dreams is not None:
            encoder = encoder_proximity(mean[b:], log_var[b:], dreams.mean, dreams.log_var, dreams.gate).mean()
            decoder = (errors[b:] - dreams.floor).mean()  # KL(p_old ‖ p_new): −log p of the target above its floor
            classifier = classifier + F.cross_entropy(logits[b:], dreams.s)
        deviance = nll.detach() - self._p.floor(target[:b]).mean()
        shared = crew.mean(pack([nll, deviance, encoder, decoder, classifier], kl, *here, logits[:b]))
        if crew.size > 1:  # the value of the whole batch with the gradient of this worker's share
            kl = kl + (kl_in(shared, self._n) - kl).detach()
        capacity = capacity_term(kl, capacity_target(self._step, c.capacity), c.capacity, self._warmup())
        loss = nll + capacity + classifier
        if dreams is not None:
            loss = loss + c.dreaming.encoder_weight * encoder + c.dreaming.decoder_weight * decoder
        return Forward(x[:b], loss, Facts.of(shared, capacity, self._n, c.dreaming))

    def _update(self, forward: Forward, **report: Any) -> Step:
        """One gradient step on Eq. 8 (weighted as in App. A.3) plus L_env, then the bookkeeping."""
        c, env, numbers = self._c, self._memory[self._current], forward.facts.numbers
        if not np.isfinite(numbers["loss"]):
            raise FloatingPointError(
                f"the loss became {numbers['loss']} at step {self._step}: load the last checkpoint and lower "
                f"learning_rate (now {c.learning_rate:g}) or capacity.gamma (now {c.capacity.gamma:g})."
            )
        self._optimiser.zero_grad()
        forward.loss.backward()
        self._optimiser.step()
        self._follow()
        telling = len(forward.x) * self._crew.size >= TELLING
        env.observe(self._evident(numbers), forward.facts.alpha if telling else env.calm, c.environments.loss_decay)
        self._recent.append(forward.x)
        if c.mask.enabled and telling:
            env.mask = self._masked(env.mask, forward.facts.alpha, self._current)
        if env.age % c.environments.usage_every == 0:
            x = self._crew.whole(forward.x)[: c.environments.usage_images]
            noise = self._crew.first(lambda: self._bearable(x))
            env.used = (noise < c.environments.usage_threshold) & env.active
        if self._every_tau() and self._step // c.dreaming.tau > self._synced // c.dreaming.tau:
            self._sync()
        return self._report(numbers, **report)

    def _evident(self, numbers: dict[str, float]) -> float:
        """What the loss test compares."""
        return numbers["deviance" if self._c.environments.loss == "deviance" else "reconstruction"]

    def _report(
        self,
        numbers: dict[str, float] | None,
        *,
        switched: bool = False,
        is_new: bool = False,
        held: bool = False,
        dropped: int = 0,
        reasons: tuple[str, ...] = (),
    ) -> Step:
        return Step(
            step=self._step,
            environment=self._current,
            switched=switched,
            is_new=is_new,
            held=held,
            dropped=dropped,
            capacity=capacity_target(self._step, self._c.capacity),
            **(numbers or dict.fromkeys(TERMS, float("nan"))),
            atypicality=self.atypicality,
            mask=self.mask,
            reasons=reasons,
        )

    # ---------------------------------------------------------------- which environment (Eq. 6, Alg. 1)

    def _suspicion(self, forward: Forward) -> tuple[str, ...]:
        """Why this batch does not come from the current environment; empty if it does, or if nobody asks."""
        c = self._c.environments
        env = self._memory[self._current]
        if not c.enabled or env.age < c.burn_in:
            return ()
        alpha = forward.facts.alpha if len(forward.x) * self._crew.size >= TELLING else env.calm
        found = objections(env, Evidence(self._evident(forward.facts.numbers), alpha), c, self._c.mask)
        if forward.facts.candidate == self._current and not found:
            return ()
        verdict, reasons = self._judge(self._crew.whole(forward.x))
        return () if verdict == self._current else reasons

    def _judge(self, x: Images) -> tuple[int | None, tuple[str, ...]]:
        """The verdict of live and slow weights, and each can acquit; of several workers, the first one's.

        A spike of the optimiser throws off the live ones but hardly moves the slow ones; where the loss is falling fast
        the slow ones lag behind. Neither is a shift.
        """
        judges = (self._nets, self._slow) if self._c.environments.slow_decay > 0 else (self._nets,)
        return self._crew.first(lambda: self._verdict(x, *judges))

    def _be_born(self, alpha: Float[Tensor, "N"]) -> None:
        """A new environment: spare latents for it, and a mask over the latents of others that it leaves untypical."""
        index = len(self._memory)
        if index > 0:
            self._recruit(decoder_std=1.0)
        ones = torch.ones(self._n, dtype=torch.bool)
        mask = ones
        if self._c.mask.enabled:
            mask = self._masked(alpha < self._c.mask.threshold, alpha, index)
        self._memory.append(Environment(index, mask=mask, gate=ones, used=~ones, calm=torch.zeros(self._n)))
        self._grow(index + 1)
        self._enter(index)

    def _grow(self, count: int) -> None:
        """Room for `count` environments in all copies of the networks; no earlier output changes."""
        new = self._nets.grow(count, self._generator)
        self._optimiser.param_groups[0]["params"].extend(new)
        if new:
            self._pass, self._pairs = self._crew.wrap(self._nets), None
        for nets in (self._slow, self._old):
            if nets is not None and new:
                nets.copy_room(self._nets)

    def _return_to(self, index: int) -> None:
        """An old environment: its own latents, and spare ones, which start without any effect on it."""
        env = self._memory[index]
        if self._gates:
            spare = self._recruit(decoder_std=0.0)
            env.gate = env.used | spare
            env.mask = env.mask | env.gate
        self._enter(index)

    def _enter(self, index: int) -> None:
        self._current = index
        self._pool = None  # it holds dreams of the environments that were past until now

    def _leave(self) -> None:
        """Before the first foreign gradient: measure which latents the environment uses, and take the snapshot."""
        c, env = self._c, self._memory[self._current]
        x = torch.cat([self._crew.whole(part) for part in self._recent])
        first = self._crew.first

        def better() -> bool:
            live, slow = (self._evidence(n, env, x, *self._encode(n, x)[1:]).loss for n in (self._nets, self._slow))
            return slow < live

        if not self._every_tau():
            best, other = (self._slow, self._nets) if first(better) else (self._nets, self._slow)
            other.load_state_dict(best.state_dict())
        _, mean, log_var = self._encode(self._nets, x)
        noise = first(lambda: self._bearable(x[:: max(1, len(x) // (4 * c.environments.usage_images))]))

        def loss(gate: Bool[Tensor, "N"]) -> float:
            trial = copy.copy(env)
            trial.gate = gate
            return self._evidence(self._nets, trial, x, mean, log_var).loss

        if self._gates:
            env.gate, env.loss = first(lambda: close_gates(loss, noise, env.active, c.dreaming.gate_tolerance))
            env.used = env.gate.clone()
        else:
            env.used = (noise < c.environments.usage_threshold) & env.active
        self._recent.clear()
        if not self._every_tau():
            self._sync()

    def _recruit(self, *, decoder_std: float) -> Bool[Tensor, "N"]:
        """Fresh weights and a KL warm-up for the latents that no environment uses (Eq. 5: spare capacity).

        Only behind gates: without them the past would see the fresh weights.
        """
        spare = ~used_by_others(self._memory, -1, self._n)
        if not (self._gates and self._c.recruiting.reseed):
            return torch.zeros_like(spare)
        latents = spare.nonzero().flatten().tolist()
        if latents:
            self._nets.reseed(latents, self._generator, decoder_std=decoder_std)
            self._forget_moments(latents)
            self._slow.load_state_dict(self._nets.state_dict())  # the same fresh weights
            self._recruited[spare] = self._step
        return spare

    def _forget_moments(self, latents: list[int]) -> None:
        spread = latents + [self._n + i for i in latents]
        for parameter, index in (
            (self._nets.from_latents.weight, (slice(None), latents)),
            (self._nets.posterior.weight, (spread,)),
            (self._nets.posterior.bias, (spread,)),
        ):
            for name in ("exp_avg", "exp_avg_sq"):
                if parameter in self._optimiser.state:
                    self._optimiser.state[parameter][name][index] = 0

    def _warmup(self) -> Float[Tensor, "N"] | None:
        steps = self._c.recruiting.warmup_steps
        if steps == 0 or int(self._recruited.max()) < 0:
            return None
        share = ((self._step - self._recruited) / steps).clamp(0, 1)
        return torch.where(self._recruited < 0, 1.0, share).to(self._device)

    # ---------------------------------------------------------------- dreaming (Eq. 7)

    def _every_tau(self) -> bool:
        # Without S no environment is ever left, so the snapshot has to follow the clock.
        c = self._c
        return c.dreaming.enabled and (c.dreaming.snapshot == "every" or not c.environments.enabled)

    def _sync(self) -> None:
        self._old = copy.deepcopy(self._nets).requires_grad_(False)
        self._synced = self._step
        self._pool = None

    def _dreams(self, n: int) -> Dreams | None:
        """Dreams of past environments by the snapshot; without S, of the only environment."""
        count, size, crew = len(self._memory), self._c.dreaming.pool, self._crew
        if self._every_tau():  # no more than are drawn until the next snapshot
            size = min(size, self._c.dreaming.tau * self._c.batch_size)
        alone = not self._c.environments.enabled
        if not self._c.dreaming.enabled or self._old is None or (count < 2 and not alone):
            return None
        if size == 0:
            return self._dream(self._old, *map(crew.share, self._wishes(n * crew.size, self._generator)))
        if self._pool is None:
            # Dreamt anew after a resume, so the random numbers depend on nothing but what is saved.
            entropy = [self.seed % 2**64, self._synced, self._current, count]
            seed = int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0] >> 1)
            self._pool = self._dream(self._old, *self._wishes(size, torch.Generator().manual_seed(seed)))
        rows = torch.randint(size, (n * crew.size,), generator=self._generator)
        return self._pool.take(crew.share(rows).to(self._device))

    def _wishes(self, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Environments to dream of, and noise to dream from."""
        alone = not self._c.environments.enabled
        s = draw_environments(n, len(self._memory), self._current, generator, include_current=alone)
        return s, torch.randn(n, self._n, generator=generator)

    def _dream(self, snapshot: Networks, s: Tensor, noise: Tensor) -> Dreams:
        gates = torch.stack([e.gate if self._gates else torch.ones_like(e.gate) for e in self._memory])
        gate = gates[s].to(self._device, torch.float32)
        return dream(snapshot, self._p, s.to(self._device), noise.to(self._device), gate)

    def _follow(self) -> None:
        """Slow weights: an average of the live ones over the last steps."""
        if self._pairs is None:
            self._pairs = list(self._slow.parameters()), list(self._nets.parameters())
        torch._foreach_lerp_(*self._pairs, 1 - self._c.environments.slow_decay)

    # ---------------------------------------------------------------- pieces

    def _noise(self, b: int) -> Float[Tensor, "B N"]:
        return torch.randn(b, self._n, generator=self._generator).to(self._device)

    @torch.no_grad()
    def _bearable(self, x: Images) -> Float[Tensor, "N"]:
        env = self._memory[self._current]
        _, mean, _ = self._nets.encode(x)
        active = env.active.to(self._device)
        return bearable_noise(
            lambda z: self._decode(self._nets, z * active, env.index), mean, self._p, env.active
        ).cpu()

    # ---------------------------------------------------------------- saving

    def save(self, folder: str | Path) -> None:
        """Save everything, the optimiser and the random state included, atomically: `load` goes on exactly here."""
        state = self.state_dict()
        if self._crew.is_first:
            checkpoint.write(folder, checkpoint.LEARNER, {"learner": state})
        self._crew.barrier()

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> VASE:
        """The learner that `save` wrote, or that of a run directory."""
        folder = Path(folder)
        if not (folder / checkpoint.MANIFEST).exists() and (folder / "checkpoint" / checkpoint.MANIFEST).exists():
            folder = folder / "checkpoint"
        state = checkpoint.read(folder, checkpoint.LEARNER)
        name = state.get("run", {}).get("learner", "vase")
        if name not in ("vase", f"{cls.__module__}:{cls.__qualname__}"):
            raise checkpoint.CheckpointError(
                f"{folder}: holds a learner of class {name}, not {cls.__name__}; use RunDirectory({str(folder)!r})"
                ".learner() with the directory of the run."
            )
        return cls.from_state_dict(state["learner"], device=device)

    def state_dict(self) -> dict[str, Any]:
        """Everything that an exact continuation needs; workers must call it together."""
        return {
            "config": self._c.to_dict(),
            "seed": self.seed,
            "step": self._step,
            "current": self._current,
            "synced": self._synced,
            "environments": len(self._memory),
            "reduced": self._nets.reduced,
            "weights": self._nets.state_dict(),
            "slow": self._slow.state_dict(),
            "snapshot": None if self._old is None else self._old.state_dict(),
            "optimiser": optimiser_state(self._optimiser, self._nets),
            "memory": as_table(self._memory, self._n),
            "generator": self._generator.get_state(),
            "recruited": self._recruited,
            "alpha": self._alpha,
            "held": {f"{i:03d}": x for i, x in enumerate(self._held)},
            "recent": {f"{i:03d}": self._crew.whole(x) for i, x in enumerate(self._recent)},
        }

    @classmethod
    def from_state_dict(cls, state: Mapping[str, Any], device: str = "auto") -> VASE:
        """Rebuild a learner from `state_dict`."""
        self = cls(VASEConfig.from_dict(state["config"]), seed=state["seed"], device=device)
        self.load_state_dict(state)
        return self

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict` of a learner with the same configuration and seed."""
        self._go_on_in(state["reduced"])
        self._grow(state["environments"])
        self._nets.load_state_dict(state["weights"])
        self._slow.load_state_dict(state["slow"])
        if state["snapshot"] is not None:
            self._sync()
            assert self._old is not None
            self._old.load_state_dict(state["snapshot"])
        load_optimiser_state(self._optimiser, self._nets, state["optimiser"])
        self._generator.set_state(state["generator"])
        self._recruited, self._alpha = state["recruited"].clone(), state["alpha"].clone()
        self._memory = from_table(state["memory"], state["environments"])
        self._held = [state["held"][k].to(self._device) for k in sorted(state["held"])]
        recent = [state["recent"][k].to(self._device) for k in sorted(state["recent"])]
        self._recent.clear()
        self._recent.extend(self._crew.share(x) for x in recent)
        self._step, self._current, self._synced = state["step"], state["current"], state["synced"]
