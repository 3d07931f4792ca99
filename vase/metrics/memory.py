"""What a learner keeps beyond its weights."""

from __future__ import annotations

from vase.learners.checks import state_bytes
from vase.learners.protocol import Caches, Learner

_WEIGHTS = ("networks", "optimiser")
"""Entries of a state that every learner with networks has: live weights, and the optimiser's moments."""


def memory_beyond_weights(learner: Learner) -> int:
    """Bytes of a learner's state without live weights and optimiser, and of what it caches beside its state.

    Frozen copies, stored images, importances of weights and the detector's references count; so does the whole state of
    a learner that does not name its weights "networks" and "optimiser".
    """
    state = learner.state_dict()
    kept = sum(state_bytes(value) for name, value in state.items() if name not in _WEIGHTS)
    return kept + (learner.cache_bytes if isinstance(learner, Caches) else 0)
