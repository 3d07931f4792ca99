"""What the learner hands out: immutable records of NumPy arrays and plain numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float


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
    dropped: int = 0
    """Held batches given up because the stream went back before a verdict."""
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
    each: Float[np.ndarray, "B K"]
    """q(s|x) of each image."""
    environment: int | None
    """The verdict of Eq. 6; None for a new environment."""
    verdict: str
    reasons: tuple[str, ...]


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
