"""What the learner hands out: immutable records of NumPy arrays and plain numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

if TYPE_CHECKING:  # reading records of a run imports nothing heavy
    from vase.learners.change import Change


@dataclass(frozen=True, eq=False)
class Step:
    """What one call of `partial_fit` did. Losses are means over the batch and NaN when nothing was learnt."""

    step: int
    """Batches seen so far, this one included."""
    environment: int = 0
    """The current environment after this batch."""
    switched: bool = False
    """The environment changed with this batch (true for the very first batch too)."""
    is_new: bool = False
    """This batch started a new environment."""
    held: bool = False
    """The batch was set aside: it fits no environment yet and will be learnt after the verdict."""
    verdict: int = 1
    """At a switch, the number of batches that led to it, this one included: how long ago the change began."""
    dropped: int = 0
    """Held batches given up because the stream went back before a verdict."""
    retired: int | None = None
    """At a switch, the number of the environment that was just retired as a duplicate of the one entered."""
    loss: float = float("nan")
    reconstruction: float = float("nan")
    """−log p(x|z,s), the first term of Eq. 3."""
    deviance: float = float("nan")
    """The reconstruction error above its smallest possible value."""
    kl: float = float("nan")
    capacity: float = float("nan")
    """C(t), the target of the KL."""
    dream_encoder: float = float("nan")
    """Encoder proximity on dreams (Eq. 7), unweighted."""
    dream_decoder: float = float("nan")
    """Decoder proximity on dreams (Eq. 7), unweighted."""
    classifier: float = float("nan")
    """L_env (App. A.1)."""
    atypicality: Float[np.ndarray, "N"] = field(default_factory=lambda: np.zeros(0, np.float32))
    """α_n of this batch (Eq. 4)."""
    mask: Bool[np.ndarray, "N"] = field(default_factory=lambda: np.zeros(0, bool))
    """Active latents of the current environment (Eq. 5)."""
    p_value: float = float("nan")
    """The probability of a batch at least as strange in the environment that was current before it."""
    effect: float = float("nan")
    """The drift score: how far this batch is from that environment, in standard deviations of single images."""
    posterior: Float[np.ndarray, "M"] = field(default_factory=lambda: np.zeros(0, np.float32))
    """At a switch, the probability of each environment known before it and, last, of a new one."""
    change: Change | None = None
    """At a switch, what is different about the images, in words and pictures."""
    reasons: tuple[str, ...] = ()
    """Why the batch was held or the environment changed, in words."""


@dataclass(frozen=True, eq=False)
class Encoding:
    """The representation q(z|x) of a batch."""

    mean: Float[np.ndarray, "B N"]
    std: Float[np.ndarray, "B N"]
    active: Bool[np.ndarray, "N"]
    """Latents of that environment; for a batch that fits none, those of the current one that are typical on it."""
    environment: int | None
    """The environment the batch belongs to; None if it fits none."""


@dataclass(frozen=True, eq=False)
class Inference:
    """Which environment a batch belongs to, and why."""

    probabilities: Float[np.ndarray, "K"]
    """q(s|x) averaged over the batch, over the environments seen."""
    each: Float[np.ndarray, "B K"] = field(repr=False)
    """q(s|x) of each image."""
    environment: int | None
    """The environment that the batch fits best; None if it fits none, as a new one or a mixture."""
    verdict: str
    reasons: tuple[str, ...]
    posterior: Float[np.ndarray, "M"] = field(default_factory=lambda: np.ones(1, np.float32))
    """The probability of each environment and, last, of a new one."""
    p_values: Float[np.ndarray, "K"] = field(default_factory=lambda: np.zeros(0, np.float32))
    """The probability of a batch at least as strange, in each environment."""
    effects: Float[np.ndarray, "K"] = field(default_factory=lambda: np.zeros(0, np.float32))
    """How far the batch is from each environment, in standard deviations of single images."""
    environments: Int[np.ndarray, "B"] = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    """The environment of each image by itself; −1 for none of them."""
    image_posterior: Float[np.ndarray, "B M"] = field(default_factory=lambda: np.zeros((0, 1), np.float32), repr=False)
    """The same as probabilities, a new environment last."""
    shares: Mapping[int, float] = field(default_factory=dict)
    """The share of the images in each environment; more than one of a mixture; −1 for none of them."""


@dataclass(frozen=True, eq=False)
class EnvironmentView:
    """A read-only copy of what the learner knows about one environment."""

    index: int
    loss: float
    """L̃_s."""
    used: Bool[np.ndarray, "N"]
    """u^s."""
    mask: Bool[np.ndarray, "N"]
    """a^s: latents that are typical in s, or that no other environment needs protected."""
    gate: Bool[np.ndarray, "N"]
    """Latents that the decoder of s may see: all at first, u^s once it has been left."""
    age: int
    """Batches learnt in this environment."""
    duplicate_of: int | None = None
    """The environment that this one came into before it had settled. It is retired: it uses no latent."""
