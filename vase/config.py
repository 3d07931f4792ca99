"""Configuration: one frozen dataclass per part of the method; each field names its symbol and the paper's value."""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from vase.fields import build, leaves, parse
from vase.spelling import did_you_mean

_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "positive": (lambda value: value > 0, "positive"),
    "nonnegative": (lambda value: value >= 0, "zero or more"),
    "at_least_1": (lambda value: value >= 1, "at least 1"),
    "at_most_65536": (lambda value: value <= 65_536, "at most 65536"),
    "fractions": (lambda value: 0 <= value < 1, "in [0, 1)"),
}


def _require(ok: bool, name: str, value: object, rule: str) -> None:
    if not ok:
        raise ValueError(f"{name}={value!r}: must be {rule}.")


def _validate(part: Any, prefix: str, **fields: str) -> None:
    """Give every field its declared type, and check ranges: names of fields, with spaces between, for each rule."""
    for name, hint in typing.get_type_hints(type(part)).items():
        if not dataclasses.is_dataclass(hint):
            object.__setattr__(part, name, parse(prefix + name, getattr(part, name), hint))
    for rule, names in fields.items():
        holds, words = _RULES[rule]
        for name in names.split():
            _require(holds(getattr(part, name)), prefix + name, getattr(part, name), words)


@dataclass(frozen=True)
class NetworkConfig:
    """Encoder, decoder and classifier (App. A.1, "Encoder and decoder")."""

    channels: tuple[int, ...] = (32, 32, 64, 64)
    """Filters of the 4×4, stride-2 convolutions. Paper: 64-64-128-128."""
    hidden: int = 256
    """Units of the fully connected layer. Paper: 256."""
    latents: int = 24
    """N, the number of latents. Paper: 24."""
    likelihood: Literal["bernoulli", "gaussian"] = "bernoulli"
    """p(x|z,s). Paper: Bernoulli; Gaussian of fixed variance for DM Lab."""
    gaussian_std: float = 0.1
    """Standard deviation of the Gaussian likelihood; the paper does not give it."""
    decoder: Literal["broadcast", "transposed"] = "broadcast"
    """'transposed': the paper's transposed convolutions. 'broadcast': the code at every place, with coordinates."""
    init: Literal["he", "fan-in", "torch"] = "he"
    """Initial weights: normal with std √(2/fan_in) or 1/√fan_in, or PyTorch's default. The paper does not say."""
    precision: Literal["float32", "bfloat16", "auto"] = "float32"
    """Arithmetic of the networks' passes; weights, losses and decisions are float32. 'auto': bfloat16 where it pays."""

    def __post_init__(self) -> None:
        _validate(self, "network.", positive="hidden latents gaussian_std", at_most_65536="hidden latents")
        rule, channels = "a non-empty tuple of positive numbers, each at most 4096", self.channels
        _require(bool(channels) and 0 < min(channels) <= max(channels) <= 4096, "network.channels", channels, rule)


@dataclass(frozen=True)
class CapacityConfig:
    """The MDL objective (Eq. 3) and its schedule (App. A.3)."""

    objective: Literal["square", "ceiling", "elbo"] = "ceiling"
    """'square': γ|KL−C|² (Eq. 3). 'ceiling': w·KL + γ·max(KL−C, 0)². 'elbo': KL, a standard VAE's (entangled half)."""
    kl_weight: float = 0.5
    """w: weight of the KL below C, with 'ceiling'. Below 1, the KL reaches C in a short stage. Eq. 3 pulls it there."""
    gamma: float = 5.0
    """γ. Paper: 100 (ablation, five datasets) or 200, with 'square'."""
    c_max: float = 35.0
    """C_max in nats. Paper: 35 (ablation), 20 (CelebA), 25 (DM Lab)."""
    balance: Literal["paper", "sum"] = "paper"
    """Weight of the reconstruction. 'paper': 64·64 / (height·width), as on its images. 'sum': 1, on any image."""
    ramp_steps: int = 750
    """1/δC: steps until C reaches C_max. Paper: 1/6.3e-6 = 158.7k, 1.06 stages. Here: a quarter of one."""

    def __post_init__(self) -> None:
        _validate(self, "capacity.", nonnegative="gamma c_max kl_weight", at_least_1="ramp_steps")


@dataclass(frozen=True)
class MaskConfig:
    """Atypicality and the latent mask (Eq. 4 and 5; App. A.2): the component A of the ablation."""

    enabled: bool = True
    """A: infer the mask. Off: a = 1 for every latent."""
    threshold: float = 0.6
    """λ. Paper: 0.6 (ablation), 0.7 to 2.0 elsewhere."""
    hysteresis: float = 0.2
    """λ0, λ1 = λ(1 ∓ hysteresis): between them a latent keeps its state. The paper gives no values."""
    protect_only: bool = True
    """Only a latent that another environment uses can be masked; else a drifting latent is lost for ever."""
    minimum: int = 4
    """Latents, the least atypical ones, that stay active even if all are atypical. Paper: 0."""

    def __post_init__(self) -> None:
        _validate(self, "mask.", positive="threshold", fractions="hysteresis", nonnegative="minimum")

    @property
    def low(self) -> float:
        """λ0: below it a latent is typical."""
        return self.threshold * (1 - self.hysteresis)

    @property
    def high(self) -> float:
        """λ1: above it a latent is atypical."""
        return self.threshold * (1 + self.hysteresis)


@dataclass(frozen=True)
class EnvironmentConfig:
    """Inference of the environment (Eq. 6, Alg. 1): the component S of the ablation."""

    enabled: bool = True
    """S: infer the environment. Off: one environment index for life."""
    inference: Literal["calibrated", "paper"] = "calibrated"
    """'calibrated': tests that know their own spread. 'paper': the thresholds κ and λ of Eq. 6 and Alg. 1."""
    false_alarm_every: float = 10_000.0
    """Batches between two false alarms that are expected while nothing changes. Paper: no such promise."""
    smallest_effect: float = 0.25
    """The smallest change worth an environment: distance of the means, in standard deviations of single images."""
    kappa: float = 1.5
    """κ: a batch fits s if its loss is at most κ·L̃_s. Paper: 1.5 (MNIST, Fashion), 1.1 (CelebA, DM Lab)."""
    loss: Literal["deviance", "nll"] = "deviance"
    """What κ compares: −log p minus its smallest possible value, or −log p itself, as in the paper."""
    loss_decay: float = 0.98
    """Decay of the running average L̃_s."""
    burn_in: int = 10
    """Batches during which a young environment is kept without a test. Paper: none."""
    patience: int = 0
    """Batches that are held before a verdict, and learnt afterwards. 0: as many as hold 256 images. Paper: 1."""
    abrupt: bool = True
    """A latent counts as evidence against s only if it was typical in s before: a shift is abrupt."""
    slow_decay: float = 0.95
    """Decay of the slow weights, which confirm a failed test. 0: the live weights decide alone, as in the paper."""
    usage_every: int = 50
    """Steps between two measurements of the used latents."""
    usage_images: int = 8
    """Images on which the used latents are measured."""
    usage_threshold: float = 0.4
    """T: a latent that bears noise of a larger std than this is unused (App. A.2). The paper gives no value."""

    def __post_init__(self) -> None:
        counts, zero = "kappa false_alarm_every usage_every usage_images", "burn_in patience smallest_effect"
        _validate(self, "environments.", at_least_1=counts, fractions="loss_decay slow_decay", nonnegative=zero)
        _require(self.usage_threshold > 0, "environments.usage_threshold", self.usage_threshold, "positive")


@dataclass(frozen=True)
class DreamConfig:
    """The dreaming feedback loop (Eq. 7, weighted in App. A.3): the component D of the ablation."""

    enabled: bool = True
    """D: dream. Off: no protection of the past."""
    encoder_weight: float = 320.0
    """α, weight of the encoder proximity. Paper: 1000."""
    decoder_weight: float = 1.0
    """β, weight of the decoder proximity. Paper: 20."""
    share: float = 0.5
    """Dreams per image of a batch. Paper: as many as images."""
    snapshot: Literal["leave", "every"] = "leave"
    """When (φ_old, θ_old) are synced: on leaving an environment, or every τ steps as in the paper."""
    pool: int = 8192
    """Dreams made once per snapshot, from which every step draws; each takes the memory of a float32 image.

    0: new ones at every step, as in the paper.
    """
    tau: int = 10
    """τ: steps between two syncs in the mode 'every', and without S. Paper: 500 or 5000, 1/300 or 1/30 of a stage."""
    gates: bool = True
    """The decoder of an environment sees only the latents that it uses (z^s = a^s ⊙ z, Eq. 1)."""
    standardise: bool = True
    """On leaving, the environment's own latents are rescaled to the prior's mean and spread, where dreams begin."""
    gate_tolerance: float = 0.05
    """On leaving, gates are closed as long as the loss rises by no more than this share."""

    def __post_init__(self) -> None:
        weights = "encoder_weight decoder_weight pool gate_tolerance"
        _validate(self, "dreaming.", positive="share", nonnegative=weights, at_least_1="tau")


@dataclass(frozen=True)
class RecruitConfig:
    """Giving spare latents to a new environment; not in the paper, which relies on them being unmasked."""

    reseed: bool = True
    """Re-initialise the weights of unused latents when a new environment starts."""
    warmup_steps: int = 810
    """Steps over which the KL of re-seeded latents rises from nothing to its full weight. 0: none."""

    def __post_init__(self) -> None:
        _validate(self, "recruiting.", nonnegative="warmup_steps")


@dataclass(frozen=True)
class IndependenceConfig:
    """Pressure for independence of the latents that only this environment uses; not in the paper."""

    enabled: bool = True
    """Off: the capacity alone has to disentangle, as in the paper."""
    means: float = 20.0
    """Weight of the squared covariances of posterior means: no two latents may tell the same."""
    rotate_every: int = 256
    """Batches of a new environment (S) after which its latents are rotated onto independent axes. 0: never."""
    total_correlation: float = 0.0
    """Weight of the total correlation, KL(q(z) ‖ ∏ q(z_n)): the pressure of β-TCVAE, which costs accuracy."""
    fade_from: int = 1000
    """Batches of an environment after which the weight of the total correlation begins to fall."""
    fade_to: int = 2000
    """Batches of an environment after which it is zero."""

    def __post_init__(self) -> None:
        _validate(self, "independence.", nonnegative="means rotate_every total_correlation fade_from fade_to")


@dataclass(frozen=True)
class VASEConfig:
    """Everything that defines a learner, apart from its seed and device."""

    image_shape: tuple[int, int, int] = (1, 32, 32)
    """Channels, height, width. Paper: 1×64×64, 1×32×32 (ambiguity), 3×64×64 (DM Lab)."""
    network: NetworkConfig = field(default_factory=NetworkConfig)
    capacity: CapacityConfig = field(default_factory=CapacityConfig)
    mask: MaskConfig = field(default_factory=MaskConfig)
    environments: EnvironmentConfig = field(default_factory=EnvironmentConfig)
    dreaming: DreamConfig = field(default_factory=DreamConfig)
    recruiting: RecruitConfig = field(default_factory=RecruitConfig)
    independence: IndependenceConfig = field(default_factory=IndependenceConfig)
    learning_rate: float = 1e-3
    """Adam's step size. Paper: 6e-4."""
    adam_beta2: float = 0.95
    """Adam's β₂: its memory of large gradients, as at a shift, fades by e in 1/(1−β₂) steps. Paper: not given."""
    batch_size: int = 64
    """Images per batch when the learner cuts an array into batches itself. Paper: 64."""
    stage_steps: int = 3000
    """Steps that a world is expected to last: presets scale by it, `fit` learns an array so long. Paper: 150k."""

    def __post_init__(self) -> None:
        _validate(self, "", positive="learning_rate", fractions="adam_beta2", at_least_1="stage_steps")
        shape_ok = len(self.image_shape) == 3 and 0 < min(self.image_shape) <= max(self.image_shape) <= 4096
        _require(shape_ok, "image_shape", self.image_shape, "(channels, height, width), positive and at most 4096")
        _require(
            (self.network.likelihood, self.environments.loss) != ("gaussian", "nll"),
            "environments.loss",
            self.environments.loss,
            "'deviance' with a Gaussian likelihood, whose −log p can be negative, so that no ratio of it has a meaning",
        )
        _require(self.batch_size >= 2, "batch_size", self.batch_size, "at least 2")

    @property
    def reconstruction_weight(self) -> float:
        """What the sum over pixels is multiplied by, so that the KL weighs as much as on the paper's 64×64 images."""
        return 64 * 64 / math.prod(self.image_shape[1:]) if self.capacity.balance == "paper" else 1.0

    @property
    def demands_independence(self) -> bool:
        """Whether independence is part of the loss: never of 'elbo', which is the loss of a standard VAE."""
        return self.independence.enabled and self.capacity.objective != "elbo"

    @classmethod
    def paper(cls, image_shape: tuple[int, int, int] = (1, 64, 64)) -> VASEConfig:
        """The values of the paper's ablation study (150k steps per stage), meant for a GPU.

        Safeguards that the paper does not have stay on; docs/paper.md marks them P.
        """
        return cls(
            image_shape=image_shape,
            network=NetworkConfig(channels=(64, 64, 128, 128), decoder="transposed", init="fan-in"),
            capacity=CapacityConfig(objective="square", gamma=100.0, c_max=35.0, ramp_steps=158_730),
            mask=MaskConfig(minimum=0),
            environments=EnvironmentConfig(inference="paper", burn_in=500, patience=4),
            dreaming=DreamConfig(
                encoder_weight=1000.0,
                decoder_weight=20.0,
                share=1.0,
                snapshot="every",
                tau=500,
                gates=False,
                pool=0,
                standardise=False,
            ),
            recruiting=RecruitConfig(reseed=False, warmup_steps=0),
            independence=IndependenceConfig(enabled=False),
            learning_rate=6e-4,
            adam_beta2=0.999,
            stage_steps=150_000,
        )

    @classmethod
    def laptop(cls, image_shape: tuple[int, int, int] = (1, 32, 32), stage_steps: int = 3000) -> VASEConfig:
        """What works best in minutes on one CPU core; the schedules follow the length of a stage."""
        return cls(
            image_shape=image_shape,
            capacity=CapacityConfig(ramp_steps=max(1, round(0.25 * stage_steps))),
            environments=EnvironmentConfig(false_alarm_every=max(10_000, 100 * stage_steps)),
            dreaming=DreamConfig(tau=max(1, round(stage_steps / 300))),
            recruiting=RecruitConfig(warmup_steps=round(0.27 * stage_steps)),
            stage_steps=stage_steps,
        )

    @classmethod
    def smoke(cls, image_shape: tuple[int, int, int] = (1, 32, 32)) -> VASEConfig:
        """Seconds, for tests: a small network, and schedules for about 120 steps per stage."""
        return cls(
            image_shape=image_shape,
            network=NetworkConfig(channels=(16, 16, 32, 32), hidden=128, latents=10),
            capacity=CapacityConfig(kl_weight=1.0, ramp_steps=30),
            environments=EnvironmentConfig(patience=3, usage_every=10),
            dreaming=DreamConfig(tau=20),
            recruiting=RecruitConfig(warmup_steps=60),
            independence=IndependenceConfig(rotate_every=50),
            learning_rate=1.5e-3,
            adam_beta2=0.999,
            batch_size=32,
            stage_steps=120,
        )

    @classmethod
    def for_data(
        cls, images: Any, *, stage_steps: int = 3000, report: Callable[[str], object] | None = print
    ) -> VASEConfig:
        """A configuration for your images: `laptop` with the size, likelihood, latents and capacity that suit them.

        `images` are some of a world, as an array or the world itself, or a list of the worlds to come. The reasons are
        printed, one line each, or handed to `report`; `vase.suggestions.suggest` has them as data, and `vase data
        suggest` prints them as options of the command line.
        """
        found = import_module("vase.suggestions").suggest(images)  # NumPy: reading a configuration does without it
        if report is not None:
            for reason in found.reasons:
                report(reason)
        return cls.laptop(stage_steps=stage_steps).with_values(found.values)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready copy; the inverse of `from_dict`."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> VASEConfig:
        """Rebuild a configuration from `to_dict` or from parsed JSON."""
        return build(cls, values, "")

    def with_values(self, values: dict[str, Any]) -> VASEConfig:
        """A copy with fields replaced by dotted name; strings are parsed by the field's type.

        >>> VASEConfig().with_values({"capacity.gamma": "7", "dreaming.enabled": "no"}).capacity.gamma
        7.0
        """
        known = dict(leaves(type(self), ""))
        tree = self.to_dict()
        for name, value in values.items():
            if name not in known:
                raise ValueError(f"unknown field {name!r}{did_you_mean(name, known)} Known fields: {', '.join(known)}.")
            *path, last = name.split(".")
            node = tree
            for part in path:
                node = node[part]
            node[last] = parse(name, value, known[name])
        return type(self).from_dict(tree)


def preset(name: str, image_shape: tuple[int, int, int] | None = None, stage_steps: int | None = None) -> VASEConfig:
    """The configuration of a preset by its name: 'paper', 'laptop' or 'smoke'.

    `stage_steps`, the length of the stages to come, shapes the schedules of 'laptop'; the others have their own.
    """
    makers = {"paper": VASEConfig.paper, "laptop": VASEConfig.laptop, "smoke": VASEConfig.smoke}
    if name not in makers:
        raise ValueError(f"unknown preset {name!r}{did_you_mean(name, makers)} Presets: {', '.join(makers)}.")
    given: dict[str, Any] = {} if image_shape is None else {"image_shape": image_shape}
    if name == "laptop" and stage_steps is not None:
        given["stage_steps"] = stage_steps
    return makers[name](**given)
