"""What a learner is: the protocol that trainer, probes, measures and experiments rely on, and optional capabilities.

A learner is built as `Class(config, seed=..., device=..., **options)`. `partial_fit`, `posterior` and the state are
enough to be trained, probed, saved and compared. What a learner can do beyond that is told by the protocols below:
callers ask with `isinstance`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from vase.learners.records import EnvironmentView, Inference, Step


@runtime_checkable
class Learner(Protocol):
    """Learns a representation from a stream of batches. Nothing else is needed to be trained and measured."""

    @property
    def n_latents(self) -> int:
        """N, the size of a code."""

    @property
    def steps(self) -> int:
        """Batches seen so far."""

    def partial_fit(self, images: Any) -> Step:
        """Learn from one batch. Bad input raises and leaves the state unchanged."""

    def posterior(self, images: Any) -> tuple[Float[np.ndarray, "B N"], Float[np.ndarray, "B N"]]:
        """Mean and standard deviation of q(z|x). Learns nothing."""

    def state_dict(self) -> dict[str, Any]:
        """Everything that an exact continuation needs: nested dictionaries of tensors and JSON-ready values."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()` of a learner that was built with the same arguments."""


@runtime_checkable
class InfersEnvironments(Protocol):
    """A learner that infers which environment its batches come from."""

    @property
    def environment(self) -> int:
        """The current environment."""

    @property
    def environments(self) -> tuple[EnvironmentView, ...]:
        """What is known of every environment so far."""

    def infer_environment(self, images: Any) -> Inference:
        """The environment that a batch belongs to."""


def count_environments(learner: object) -> int:
    """Environments that a learner knows, without those that were retired; 0 for a learner without environments."""
    if not isinstance(learner, InfersEnvironments):
        return 0
    return sum(view.duplicate_of is None for view in learner.environments)


@runtime_checkable
class Decodes(Protocol):
    """A learner with a decoder."""

    def decode(self, z: Any, environment: int | None = None) -> Float[np.ndarray, "B C H W"]:
        """E[x|z], in an environment if the learner has any."""

    def reconstruct(self, images: Any, environment: int | None = None) -> Float[np.ndarray, "B C H W"]:
        """Decode the means of q(z|x)."""


@runtime_checkable
class Dreams(Protocol):
    """A learner that can sample images of what it has learnt."""

    def dream(self, n: int, environment: int | None = None, *, seed: int | None = None) -> Float[np.ndarray, "n C H W"]:
        """Images decoded from prior samples."""


@runtime_checkable
class WantsBoundaries(Protocol):
    """A learner that may have to be told when the world changes; VASE never is."""

    @property
    def wants_boundaries(self) -> bool:
        """Whether it is to be told."""

    def begin_world(self) -> None:
        """The next batch comes from another world than the last one did. Which world that is, nobody says."""


@runtime_checkable
class Caches(Protocol):
    """A learner with memory beyond its state, which it makes again after a resume."""

    @property
    def cache_bytes(self) -> int:
        """Bytes of it."""


@runtime_checkable
class Reconfigures(Protocol):
    """A learner that can continue with another configuration than the one it was saved with."""

    def load_reconfigured(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()` of a learner with other hyperparameters, whose state has the same shape."""
