"""VASE, the lifelong learner. `partial_fit` reads like the paper's Section 3."""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from rich.progress import track
from torch import Tensor

from vase.learners.change import Change, describe_change
from vase.learners.divergence import require_finite_loss
from vase.learners.estimator import array_batches, default_epochs, say_plan, warn_if_short
from vase.learners.fitting import FitCallback, FitRun
from vase.learners.records import Step
from vase.learners.representation import encode_in_chunks
from vase.learners.sharing import Shareable
from vase.method.atypicality import atypicality
from vase.method.capacity import capacity_target
from vase.method.dream_buffer import Dreams
from vase.method.environment_memory import EnvironmentRecord
from vase.method.objective import Outputs
from vase.method.shift_detector import SUSPICION, Decision, Fit, posterior
from vase.method.shift_tests import evident_loss
from vase.method.statistics import BatchStatistics
from vase.method.usage import close_gates, noise_tolerance
from vase.nn.likelihood import Images
from vase.nn.networks import Networks
from vase.worlds.adapters import as_batches
from vase.worlds.checks import require_int

_log = logging.getLogger("vase.learners")


@dataclass(frozen=True, eq=False)
class Forward:
    """One pass of the networks over a batch in the current environment, and over dreams."""

    loss: Float[Tensor, ""]
    """What is differentiated."""
    batch: BatchStatistics
    posteriors: tuple[Float[Tensor, "B N"], Float[Tensor, "B N"]]
    """Means and log-variances of the batch."""


class VASE(Shareable):
    """Learns one disentangled representation from a stream of images whose distribution shifts without notice.

    Args:
      config: hyperparameters; `VASEConfig()` if None.
      seed: decides the weights and all noise.
      device: "auto", "cpu", "cuda", ...
      encoder: a module from images (B, C, H, W) to features (B, F), instead of the paper's convolutions.
      decoder: a module from (B, hidden) to the parameters of the likelihood (B, C, H, W).
      likelihood: p(x|z,s), instead of the one that the configuration names.
      shift_tests: tests that a batch must pass to belong to an environment, instead of those of the configuration.

    A scikit-learn estimator: the constructor only stores its arguments. The parts, with names that end in an
    underscore, are built on first use from copies of what was passed.

    >>> import numpy as np
    >>> from vase import VASEConfig
    >>> model = VASE(VASEConfig.smoke(image_shape=(1, 32, 32)), seed=0)
    >>> step = model.partial_fit(np.zeros((8, 32, 32), np.uint8))
    >>> step.environment, step.is_new
    (0, True)
    """

    # ---------------------------------------------------------------- learning

    def partial_fit(self, images: Any, y: object = None) -> Step:
        """Learn from one batch; nobody has to say which world it comes from."""
        x = self._images(images, minimum=2)
        self.workers_.require_equal_shards(len(x))
        self.steps_ += 1
        if not len(self.memory_):
            self.add_environment(self.alpha_)
            first = [self.workers_.gather(x)]
            return self._learn(first, switched=True, is_new=True, reasons=("the first environment",))
        forward = self._forward(x)
        self.alpha_ = forward.batch.atypicality
        c, record = self.config_.environments, self.memory_.record
        if not c.enabled or record.age < c.burn_in:
            return self._update(forward)
        fit = self._fit_current(forward.batch)
        decision = self.detector_.receive(self.workers_.gather(x), fit, self._judge, record)
        told: dict[str, Any] = {"p_value": fit.p_value, "effect": fit.effect, "dropped": decision.dropped}
        if decision.held:
            return self._report(None, held=True, reasons=fit.reasons, **told)
        if decision.there:
            return self._switch(decision, told)
        if not decision.here:
            return self._report(None, **told)
        if len(decision.here) == 1 and not decision.dropped:
            return self._update(forward, **told)
        return self._learn(list(decision.here), **told)

    def _switch(self, decision: Decision, told: dict[str, Any]) -> Step:
        """Leave the environment before the first foreign gradient, and learn the held batches where they belong."""
        assert decision.fits is not None
        left = self.memory_.record
        if decision.here:
            self._learn(list(decision.here))
        after = torch.cat(decision.there)
        told["posterior"] = posterior(decision.fits, self.detector_.level)
        told["change"] = self._describe(decision, after)
        self.finish_environment()
        reasons = self.detector_.leave(left, decision)
        if decision.environment is None:
            self.add_environment(self._atypicality(after))
        else:
            self.reenter_environment(decision.environment)
        what = "a new one" if decision.environment is None else "known"
        _log.info("step %d: environment %d → %d (%s)", self.steps_, left.index, self.memory_.current, what)
        return self._learn(
            list(decision.there),
            switched=True,
            is_new=decision.environment is None,
            verdict=len(decision.there),
            retired=left.index if decision.duplicate else None,
            reasons=reasons,
            **told,
        )

    def fit(
        self,
        stream: Any,
        y: object = None,
        *,
        epochs: int | None = None,
        progress: bool = False,
        callbacks: Sequence[FitCallback] = (),
    ) -> VASE:
        """Learn from an array, which is cut into batches, or from a stream: whatever `vase.worlds.as_batches` takes.

        `epochs` are passes over it: 1 unless told, but over an array as many as the configuration's `stage_steps`
        ask for. A warning says if the steps were too few. `fit` is incremental: a second call continues training.
        `callbacks`, e.g. of `vase.training.trackers`, are told of every batch; rows that they return are ignored.
        """
        if epochs is not None:
            require_int("epochs", epochs, 1)
        finite = not hasattr(stream, "__next__")
        if epochs is not None and epochs > 1 and not finite:
            raise ValueError(f"epochs={epochs}: the stream can be gone through once; pass a list, dataset or array.")
        batches = self._batches(stream, epochs)
        if progress:
            total = len(stream) if hasattr(stream, "__len__") and not hasattr(stream, "__array__") else None
            batches = iter(track(batches, description="learning", total=total))
        run = FitRun(self, callbacks, parameters={"config": self.config_.to_dict()})
        run.start()
        for images in batches:
            run.learn(images)
        run.end()
        if finite:
            warn_if_short(self.steps_, self.config_)
        return self

    def _batches(self, stream: Any, epochs: int | None) -> Iterator[Any]:
        c = self.config_
        if hasattr(stream, "__array__"):
            x = self._images(stream, minimum=2)
            times = default_epochs(len(x), c) if epochs is None else epochs
            say_plan(len(x), times, c)
            yield from array_batches(x, times, c, self.generator_, self.workers_)
        else:
            for _ in range(epochs or 1):
                yield from as_batches(stream, c.image_shape, batch_size=c.batch_size)

    def _learn(self, batches: list[Images], **report: Any) -> Step:
        """Learn held batches, oldest first; report on the last."""
        for x in batches[:-1]:
            self._update(self._forward(self.workers_.shard(x)))
        forward = self._forward(self.workers_.shard(batches[-1]))
        self.alpha_ = forward.batch.atypicality
        return self._update(forward, **report)

    def _forward(self, x: Images) -> Forward:
        """Encode, sample z^s (Eq. 2) and decode in the current environment, with dreams in the same pass; Eq. 8."""
        b, workers, memory = len(x), self.workers_, self.memory_
        dreams = self.sample_dreams(max(1, round(self.config_.dreaming.share * b)))
        active = memory.record.active.to(self.device_)
        noise = torch.randn(b * workers.size, self.n_latents, generator=self.generator_).to(self.device_)
        noise, here = workers.shard(noise), self._label(memory.current, b)
        met, s = (x, here) if dreams is None else (torch.cat([x, dreams.x]), torch.cat([here, dreams.s]))

        def sample(mean: Tensor, log_var: Tensor) -> Tensor:
            z = self._sample(active, mean[:b], log_var[:b], noise)
            return z if dreams is None else torch.cat([z, dreams.z])

        out = Outputs(*self.forward_(met, sample, s, len(memory)))
        independence, q = None, (out.mean[:b], out.log_var[:b])
        if self.config_.demands_independence:
            record = memory.record
            independence = self.independence_(*q, noise, memory.own(), record.index, record.age, workers)
        kl_warmup = self.recruiter_.kl_warmup(self.steps_)
        kl_warmup = None if kl_warmup is None else kl_warmup.to(self.device_)
        return Forward(
            *self.objective_(
                out,
                x,
                here,
                active,
                dreams,
                step=self.steps_,
                kl_warmup=kl_warmup,
                independence=independence,
                workers=workers,
            ),
            posteriors=(q[0].detach(), q[1].detach()),
        )

    def sample_dreams(self, n: int) -> Dreams | None:
        """`n` dreams of past environments by the snapshot (Eq. 7); None if there is nothing to dream of yet."""
        gates = torch.stack([e.gate if self.gated_ else torch.ones_like(e.gate) for e in self.memory_])
        gates = gates.to(self.device_, torch.float32)
        return self.dreams_.sample(n, self.memory_, gates, self.generator_, self.workers_)

    def _update(self, forward: Forward, **report: Any) -> Step:
        """One gradient step on Eq. 8 (weighted as in App. A.3) plus L_env, then the bookkeeping."""
        c, batch, record = self.config_, forward.batch, self.memory_.record
        require_finite_loss(batch.losses["loss"], self.steps_, c)
        self.optimiser_.zero_grad()
        forward.loss.backward()
        self.optimiser_.step()
        self.ema_.update_ema()
        self.independence_.update()
        seen = self._seen_by_tests(batch)
        self.detector_.update(record, seen)
        self.visit_.add(seen.images)
        record.observe(evident_loss(batch.losses, c.environments), c.environments.loss_decay)
        self.recent_.append(batch.images)
        if batch.moments is not None:
            self.marginal_.update(batch.moments)
        if self.rotator_.wants(record.index, record.age):
            self.rotator_.observe(*map(self.workers_.gather, forward.posteriors))
            self.rotate_latents()
        if c.mask.enabled and batch.tells_atypicality:
            record.mask = self._masked(record.mask, batch.atypicality, record.index)
        if record.age % c.environments.usage_every == 0:
            x = self.workers_.gather(batch.images)[: c.environments.usage_images]
            noise = self.workers_.on_main_process(lambda: self._noise_tolerance(x))
            record.used = (noise < c.environments.usage_threshold) & record.active
        if self.dreams_.is_due(self.steps_):
            self.dreams_.take_snapshot(self.networks_, self.steps_)
        return self._report(batch.losses, **report)

    def _report(self, losses: Mapping[str, Any] | None, **what: Any) -> Step:
        return Step(
            step=self.steps_,
            environment=self.memory_.current,
            capacity=capacity_target(self.steps_, self.config_.capacity),
            atypicality=self.atypicality,
            mask=self.mask,
            **(losses or {}),
            **what,
        )

    # ---------------------------------------------------------------- which environment (Eq. 6, Alg. 1)

    def _fit_current(self, batch: BatchStatistics) -> Fit:
        """How a batch fits the current environment; where it seems foreign, as all weights see it."""
        record, seen = self.memory_.record, self._seen_by_tests(batch)
        fit = self.workers_.on_main_process(lambda: self.detector_.fit(record, [seen]))
        elsewhere = self.config_.environments.inference == "paper" and batch.candidate != record.index
        if fit.p_value >= SUSPICION and not elsewhere:
            return fit
        return self._judge(seen.images, [record.index])[record.index]

    def _seen_by_tests(self, batch: BatchStatistics) -> BatchStatistics:
        """With the images of all workers, at which tests may look."""
        return batch if self.workers_.size == 1 else replace(batch, images=self.workers_.gather(batch.images))

    def _judge(self, x: Images, environments: Sequence[int] | None = None) -> Mapping[int, Fit]:
        """How a whole batch fits environments, as live and EMA weights see it; of several workers, the first decides.

        A spike of the optimiser throws off the live weights but hardly moves the EMA; where the loss is falling fast
        the EMA lags behind. Neither is a shift.
        """
        others = (self.ema_.nets,) if self.config_.environments.slow_decay > 0 else ()
        asked: dict[str, Any] = {"current": self.memory_.current, "others": others}
        if self.recent_ and self.config_.environments.inference == "calibrated":
            asked["recent"] = self.last_images()
        return self.workers_.on_main_process(lambda: self._fits(x, environments, **asked))

    def _describe(self, decision: Decision, after: Images) -> Change:
        """What is different about the batches that made the learner change its environment."""
        assert decision.fits is not None
        record, environment = self.memory_.record, decision.environment
        before = self.last_images()
        return describe_change(
            before.cpu().numpy(),
            after.cpu().numpy(),
            atypical_before=self._atypicality(before).numpy(),
            atypical_after=self._atypicality(after).numpy(),
            used=record.used.numpy(),
            step=self.steps_,
            previous=record.index,
            environment=len(self.memory_) if environment is None else environment,
            is_new=environment is None,
            distances=decision.distances(record.index),
            p_value=decision.fits[record.index].p_value,
        )

    def _atypicality(self, x: Images) -> Float[Tensor, "N"]:
        """α of a whole batch."""
        return self.workers_.on_main_process(lambda: atypicality(*encode_in_chunks(self.networks_, x)[1:]).cpu())

    def add_environment(self, alpha: Float[Tensor, "N"]) -> None:
        """A new environment: spare latents for it, and a mask over the latents of others that are atypical in it."""
        index = len(self.memory_)
        if index > 0:
            self._recruit(decoder_std=1.0)
        mask = torch.ones(self.n_latents, dtype=torch.bool)
        if self.config_.mask.enabled:
            mask = self._masked(alpha < self.config_.mask.threshold, alpha, index)
        self.memory_.add(mask)
        self.rotator_.begin(index)
        self._grow(index + 1)
        self._enter_environment(index)

    def reenter_environment(self, index: int) -> None:
        """An old environment: the latents it used, and spare ones, which start without any effect on it."""
        record = self.memory_[index]
        if self.gated_:
            spare = self._recruit(decoder_std=0.0)
            record.gate = record.used | spare
            record.mask = record.mask | record.gate
        self._enter_environment(index)

    def _enter_environment(self, index: int) -> None:
        self.memory_.current = index
        self.marginal_.restart()
        self.dreams_.clear_pool()

    def finish_environment(self) -> None:
        """Before the first foreign gradient: measure which latents the environment uses, and take the snapshot."""
        c, record, on_main = self.config_, self.memory_.record, self.workers_.on_main_process
        x = self.last_images()
        self.rotator_.end()
        if not self.dreams_.periodic:
            ema_is_better = on_main(
                lambda: self._loss(self.ema_.nets, x, record) < self._loss(self.networks_, x, record)
            )
            if ema_is_better:
                self.networks_.load_state_dict(self.ema_.nets.state_dict())
            else:
                self.ema_.copy_live()
            self.standardise_latents()
        if self.visit_.groups:
            x = torch.cat(self.visit_.groups)
        noise = on_main(lambda: self._noise_tolerance(x[:: max(1, len(x) // (4 * c.environments.usage_images))]))
        if self.gated_:
            _, mean, log_var = encode_in_chunks(self.networks_, x)

            def loss(gate: Bool[Tensor, "N"]) -> float:
                trial = copy.copy(record)
                trial.gate = gate
                return evident_loss(self._view(self.networks_, x, mean, log_var, trial).losses, c.environments)

            tolerance = c.dreaming.gate_tolerance
            record.gate, record.loss = on_main(lambda: close_gates(loss, noise, record.active, tolerance))
            record.used = record.gate.clone()
        else:
            record.used = (noise < c.environments.usage_threshold) & record.active
        self.recent_.clear()
        self.visit_.clear()
        if not self.dreams_.periodic:
            self.dreams_.take_snapshot(self.networks_, self.steps_)

    def _loss(self, nets: Networks, x: Images, record: EnvironmentRecord) -> float:
        """L_s(x) of a whole batch by some weights."""
        view = self._view(nets, x, *encode_in_chunks(nets, x)[1:], record)
        return evident_loss(view.losses, self.config_.environments)

    @torch.no_grad()
    def _noise_tolerance(self, x: Images) -> Float[Tensor, "N"]:
        record = self.memory_.record
        _, mean, _ = self.networks_.encode(x)
        active = record.active.to(self.device_)
        return noise_tolerance(
            lambda z: self._decode(self.networks_, z * active, record.index),
            mean,
            self.likelihood_,
            record.active,
            weight=self.config_.reconstruction_weight,
        ).cpu()
