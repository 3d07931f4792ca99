"""The parts of a VASE learner: built together on first use, saved and loaded together."""

from __future__ import annotations

import copy
import dataclasses
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from vase import checkpoint
from vase.config import VASEConfig
from vase.distributed import Distributed, get_distributed
from vase.generations import load_learner
from vase.learners.divergence import require_finite_weights
from vase.learners.estimator import Estimator
from vase.learners.representation import Representation
from vase.learners.saved_state import damage_explained, require_fitting_weights, saved_config
from vase.machine import resolve_device, use_half_precision, works
from vase.method.atypicality import RunningMarginal, marginal
from vase.method.dream_buffer import DreamBuffer
from vase.method.environment_memory import EnvironmentMemory
from vase.method.fingerprint_test import FingerprintTest
from vase.method.independence import Independence
from vase.method.learnt_tests import LatentSpreadTest, LossSpreadTest
from vase.method.objective import Objective
from vase.method.recruiting import LatentRecruiter
from vase.method.rotation import LatentRotator
from vase.method.shift_detector import ShiftDetector
from vase.method.shift_tests import LossTest, MaskTest, ShiftTest
from vase.method.visit_sample import VisitSample
from vase.nn.ema import EMANetworks
from vase.nn.likelihood import Images, Likelihood, make_likelihood
from vase.nn.networks import Networks
from vase.nn.optim import adam, forget_moments, load_optimiser_state, optimiser_state, rotate_moments
from vase.nn.size import warn_if_huge
from vase.worlds.checks import require_seed

_log = logging.getLogger("vase.learners")
RECENT = 4
"""Last batches of the current environment that are kept: what the world is like now."""
CUSTOM = ("encoder", "decoder", "likelihood", "shift_tests")
"""Constructor arguments that a checkpoint does not hold: they must be passed to `load` again."""


class Composition(Estimator):
    """A scikit-learn estimator that owns all parts of the method, but does not learn yet: see `VASE`."""

    supports_workers = True
    """Several processes can train one learner together, each with a shard of every batch."""

    ema_: EMANetworks
    optimiser_: torch.optim.Adam
    recruiter_: LatentRecruiter
    independence_: Independence
    rotator_: LatentRotator
    marginal_: RunningMarginal
    objective_: Objective
    generator_: torch.Generator
    recent_: deque[Images]
    visit_: VisitSample
    workers_: Distributed
    forward_: nn.Module
    """The networks, with gradients averaged over workers if there are several."""

    def __init__(
        self,
        config: VASEConfig | None = None,
        *,
        seed: int = 0,
        device: str = "auto",
        encoder: nn.Module | None = None,
        decoder: nn.Module | None = None,
        likelihood: Likelihood | None = None,
        shift_tests: Sequence[ShiftTest] | None = None,
    ) -> None:
        self.config = config
        self.seed = seed
        self.device = device
        self.encoder = encoder
        self.decoder = decoder
        self.likelihood = likelihood
        self.shift_tests = shift_tests

    def __getattr__(self, name: str) -> Any:
        """Build the parts when one of them is first asked for."""
        if name in _PARTS and "config_" not in self.__dict__:
            try:
                self._build()
            except AttributeError as error:
                raise RuntimeError(f"the learner could not be built: {error}") from error
            return getattr(self, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _build(self) -> None:
        config = VASEConfig() if self.config is None else self.config
        if not isinstance(config, VASEConfig):
            raise TypeError(f"config of type {type(config).__name__}: pass a VASEConfig, e.g. VASEConfig.laptop().")
        net, environments, n = config.network, config.environments, config.network.latents
        device, seed = resolve_device(self.device), require_seed(self.seed)
        likelihood = make_likelihood(net.likelihood, net.gaussian_std) if self.likelihood is None else self.likelihood
        if not isinstance(likelihood, Likelihood) or isinstance(likelihood, type | nn.Module):
            raise TypeError(f"likelihood={likelihood!r}: pass an object with mean, nll, floor and curvature.")
        if self.encoder is None and self.decoder is None:
            warn_if_huge(config)
        self.generator_ = torch.Generator().manual_seed(seed)
        networks = Networks(config, self.generator_, self.encoder, self.decoder).to(device)
        self.workers_ = get_distributed()
        networks.reduced = use_half_precision(net.precision, device, self.workers_.size)
        self.networks_, self.forward_ = networks, self.workers_.wrap(networks)
        self.ema_ = EMANetworks(networks, environments.slow_decay)
        self.optimiser_ = adam(networks.parameters(), config)
        self.memory_ = EnvironmentMemory(n)
        self.detector_ = ShiftDetector(self._make_tests(config), environments)
        self.dreams_ = DreamBuffer(config, likelihood, seed)
        self.recruiter_ = LatentRecruiter(config.recruiting, n)
        self.independence_ = Independence(config.independence)
        rotates = config.demands_independence and environments.enabled
        self.rotator_ = LatentRotator(config.independence.rotate_every if rotates else 0, n)
        self.marginal_ = RunningMarginal(n)
        self.objective_ = Objective(config, likelihood)
        self.likelihood_, self.device_ = likelihood, device
        self.gated_ = config.mask.enabled and config.dreaming.enabled and config.dreaming.gates
        self.recent_, self.visit_ = deque(maxlen=RECENT), VisitSample()
        self.alpha_ = torch.zeros(n)
        self.steps_ = 0
        self.config_ = config

    def _make_tests(self, config: VASEConfig) -> list[ShiftTest]:
        """Copies of the tests that were passed, or those that the configuration asks for."""
        environments = config.environments
        if self.shift_tests is None and environments.inference == "calibrated":
            fingerprint = FingerprintTest(config.image_shape, environments.smallest_effect)
            return [fingerprint, LossSpreadTest(), LatentSpreadTest()]
        if self.shift_tests is None:
            mask = [MaskTest(config.mask, abrupt=environments.abrupt)] if config.mask.enabled else []
            return [LossTest(environments), *mask]
        tests = list(self.shift_tests) if isinstance(self.shift_tests, list | tuple) else []
        if not tests or not all(isinstance(test, ShiftTest) for test in tests):
            raise TypeError(
                f"shift_tests={self.shift_tests!r}: pass a list of one or more ShiftTest objects; to infer no "
                "environments, set environments.enabled=no."
            )
        return copy.deepcopy(tests)

    def __getstate__(self) -> dict[str, Any]:
        """Arguments and state, as for a checkpoint: copies and pickles continue exactly like the original."""
        state = self.state_dict() if "config_" in self.__dict__ else None
        return {"arguments": self.get_params(deep=False), "state": state}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state["arguments"].items():
            setattr(self, name, value)
        if state["state"] is not None:
            self.load_state_dict(state["state"])

    def set_params(self, **params: Any) -> Self:
        """Change constructor arguments, or fields of the configuration, before anything is learnt."""
        if params and "config_" in self.__dict__:
            if self.steps_ > 0:
                raise ValueError("set_params after learning has no effect on what was learnt: clone the learner first.")
            for name in [name for name in self.__dict__ if name in _PARTS]:
                del self.__dict__[name]
        super().set_params(**params)
        return self

    def save(self, folder: str | Path) -> None:
        """Save everything, the optimiser and the random state included, atomically: `load` continues exactly here."""
        state = self.state_dict()
        if self.workers_.is_main_process:
            checkpoint.write(folder, checkpoint.LEARNER, {"learner": state})
        self.workers_.barrier()

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto", *, config: VASEConfig | None = None, **custom: Any) -> Self:
        """The learner that `save` wrote, or the newest one of a run directory.

        With `config` it continues with other hyperparameters, e.g. a lower learning rate. An own encoder, decoder,
        likelihood or shift tests are not part of a checkpoint: pass them again.
        """
        folder = Path(folder)
        state = load_learner(folder)
        name = state.get("run", {}).get("learner", "vase")
        if name not in ("vase", f"{cls.__module__}:{cls.__qualname__}"):
            raise checkpoint.CheckpointError(
                f"{folder}: holds a learner of class {name}, not {cls.__name__}; use RunDirectory(run).learner()."
            )
        return cls.from_state_dict(state.get("learner", {}), device=device, config=config, **custom)

    @classmethod
    def from_state_dict(
        cls, state: Mapping[str, Any], device: str = "auto", *, config: VASEConfig | None = None, **custom: Any
    ) -> Self:
        """Rebuild a learner from `state_dict`, with another configuration if one is given."""
        saved = saved_config(state)
        self = cls(saved if config is None else config, seed=state["seed"], device=device, **custom)
        self.load_reconfigured(state)
        return self

    def state_dict(self) -> dict[str, Any]:
        """Everything that an exact continuation needs; workers must call it together.

        Raises:
            FloatingPointError: the weights are not finite, so that nothing could be continued from them.
        """
        require_finite_weights(self.networks_, self.steps_, self.config_)
        return {
            "config": self.config_.to_dict(),
            "seed": int(self.seed),
            "custom": {name: _kind(getattr(self, name)) for name in CUSTOM if getattr(self, name) is not None},
            "step": self.steps_,
            "reduced": self.networks_.reduced,
            "environments": len(self.memory_),
            "networks": self.networks_.state_dict(),
            "ema": self.ema_.state_dict(),
            "optimiser": optimiser_state(self.optimiser_, self.networks_),
            "memory": self.memory_.state_dict(),
            "detector": self.detector_.state_dict(),
            "dreams": self.dreams_.state_dict(),
            "recruiter": self.recruiter_.state_dict(),
            "independence": self.independence_.state_dict(),
            "rotator": self.rotator_.state_dict(),
            "marginal": self.marginal_.state_dict(),
            "generator": {"state": self.generator_.get_state()},
            "last": {"alpha": self.alpha_},
            "recent": {f"{i:03d}": self.workers_.gather(x) for i, x in enumerate(self.recent_)},
            "visit": self.visit_.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict` of a learner with the same configuration, seed and custom parts."""
        if saved_config(state) != (VASEConfig() if self.config is None else self.config):
            raise ValueError("the saved learner has another configuration: open it with VASE.load.")
        self.load_reconfigured(state)

    def load_reconfigured(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict` of a learner that differs in hyperparameters, but not in the shape of its state.

        Whatever was learnt before is gone.
        """
        config = saved_config(state)
        with damage_explained():
            self._check_same(state)
        require_fitting_weights(state, config, own_encoder=self.encoder is not None)
        self._build()
        with damage_explained():
            self._restore(state)

    def _restore(self, state: Mapping[str, Any]) -> None:
        self.networks_.reduced = self.ema_.nets.reduced = state["reduced"] and works(self.device_)
        self._grow(state["environments"])
        self.networks_.load_state_dict(state["networks"])
        if state["ema"] is None:  # of a learner that was saved for others
            self.ema_.copy_live()
        else:
            self.ema_.load_state_dict(state["ema"])
        self.dreams_.load_state_dict(state["dreams"], self.networks_)
        load_optimiser_state(self.optimiser_, self.networks_, state["optimiser"])
        self.memory_.load_state_dict(state["memory"])
        self.detector_.load_state_dict(state["detector"], self.device_)
        self.recruiter_.load_state_dict(state["recruiter"])
        self.independence_.load_state_dict(state["independence"])
        self.rotator_.load_state_dict(state["rotator"])
        self.marginal_.load_state_dict(state["marginal"])
        self.generator_.set_state(state["generator"]["state"])
        self.alpha_ = state["last"]["alpha"].clone()
        recent = [state["recent"][key].to(self.device_) for key in sorted(state["recent"])]
        self.recent_ = deque((self.workers_.shard(x) for x in recent), maxlen=RECENT)
        self.visit_.load_state_dict(state["visit"], self.device_)
        self.steps_ = state["step"]

    def _check_same(self, state: Mapping[str, Any]) -> None:
        """Refuse a state of a learner with other parts or another seed, and say what must be passed."""
        for name in CUSTOM:
            mine, saved = getattr(self, name), state["custom"].get(name)
            if saved is not None and mine is None:
                raise ValueError(f"the saved learner has {name}={saved}: pass it again, VASE.load(..., {name}=...).")
            if mine is not None and saved is None:
                raise ValueError(f"{name}={_kind(mine)}: the saved learner has the default one; leave {name} out.")
            if mine is not None and _kind(mine) != saved:
                raise ValueError(f"{name}={_kind(mine)}: the saved learner has {saved}; pass that one.")
        if state["seed"] != self.seed:
            raise ValueError(f"seed={self.seed!r}: the saved learner has seed {state['seed']!r}; use VASE.load.")

    def _grow(self, count: int) -> None:
        """Room for `count` environments in all copies of the networks; no earlier output changes."""
        new = self.networks_.grow(count, self.generator_)
        if not new:
            return
        self.optimiser_.param_groups[0]["params"].extend(new)
        self.forward_ = self.workers_.wrap(self.networks_)
        self.ema_.copy_room()
        if self.dreams_.snapshot is not None:
            self.dreams_.snapshot.copy_room(self.networks_)

    def _recruit(self, *, decoder_std: float) -> Bool[Tensor, "N"]:
        """Fresh weights and a KL warm-up for the latents that no environment uses (Eq. 5: spare capacity).

        Only behind gates: without them the past would see the fresh weights.
        """
        spare = self.memory_.spare()
        if not (self.gated_ and self.config_.recruiting.reseed):
            return torch.zeros_like(spare)
        latents = spare.nonzero().flatten().tolist()
        if latents:
            self.networks_.reseed(latents, self.generator_, decoder_std=decoder_std)
            forget_moments(self.optimiser_, self.networks_, latents)
            self.ema_.copy_live()  # the same fresh weights
            self.recruiter_.recruit(spare, self.steps_)
        return spare

    def rotate_latents(self) -> None:
        """Rotate the current environment's own latents onto independent axes, if it is time.

        Only behind gates, or while there is no past: without them dreams see all latents.
        """
        record, allowed = self.memory_.record, self.gated_ or self.dreams_.snapshot is None
        if not self.rotator_.is_due(record.age):
            return
        found = None
        if allowed:
            found = self.workers_.on_main_process(lambda: self.rotator_.rotation(self.memory_.own()))
        self.rotator_.begin(record.index)
        if found is None:
            return
        for nets in (self.networks_, self.ema_.nets):
            nets.rotate(*found)
        rotate_moments(self.optimiser_, self.networks_, *found)
        self._forget_latents()
        latents = ", ".join(map(str, found.latents.tolist()))
        _log.info("step %d: latents %s rotated by up to %.0f degrees", self.steps_, latents, found.angle)

    def standardise_latents(self) -> None:
        """Give the current environment's own latents the prior's mean and spread over its last batches.

        Reconstructions stay as they are, the marginal KL of Eq. 4 falls to nothing, and dreams, which begin with the
        prior, begin where codes are. Only behind gates: without them other environments would see the change.
        """
        own = self.memory_.own().nonzero().flatten()
        if not (self.config_.dreaming.standardise and self.gated_ and self.marginal_.count and len(own)):
            return
        mean, variance = marginal(self.marginal_.statistics[:, own])
        for nets in (self.networks_, self.ema_.nets):
            nets.standardise(own, mean, variance.sqrt(), self.memory_.current)
        forget_moments(self.optimiser_, self.networks_, own.tolist())
        self._forget_latents()

    def _forget_latents(self) -> None:
        """What is known of single latents of the current environment holds no longer."""
        self.independence_.forget()
        self.detector_.forget_latents(self.memory_.record)
        self.marginal_.restart()


def _kind(custom: Any) -> str:
    """What a checkpoint remembers of a custom part: its class, and the values of a dataclass."""
    if isinstance(custom, list | tuple):
        return f"[{', '.join(map(_kind, custom))}]"
    return repr(custom) if dataclasses.is_dataclass(custom) else type(custom).__name__


_PARTS = frozenset(Composition.__annotations__) | frozenset(Representation.__annotations__)
