"""Which environment uses which latent: the one meaning of used, masked, shared and recruited.

A latent is *used* by an environment if reconstructions depend on it there (u^s, App. A.2). It is *shared* if several
environments use it, and *recruited* by the first environment that uses it. All of this holds at one moment, because u^s
is estimated again as long as an environment is learnt: say the moment beside the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from vase.learners.protocol import InfersEnvironments, Learner
from vase.rows import KnownEnvironment

Flags = Bool[np.ndarray, "K N"]
States = Int[np.ndarray, "K N"]  # one row per environment, one column per latent


class State(IntEnum):
    """What an environment does with a latent."""

    UNUSED = 0  # nothing: spare, or active without effect
    MASKED = 1  # masked, while another environment uses it (Eq. 1 and 5).
    USED = 2  # reconstructions depend on it (App. A.2).


def latent_states(used: Flags, mask: Flags) -> States:
    """`State` of each latent in each environment, from u^s and a^s."""
    elsewhere = used.sum(axis=0) - used > 0
    return np.where(used, State.USED, np.where(~mask & elsewhere, State.MASKED, State.UNUSED))


def learner_states(learner: Learner) -> States:
    """The states as the learner knows them now; without environments there is one, which uses every latent."""
    if not isinstance(learner, InfersEnvironments):
        return np.full((1, learner.n_latents), State.USED)
    views = learner.environments
    flags = np.array([[view.used for view in views], [view.mask for view in views]], bool)
    return latent_states(*flags.reshape(2, len(views), learner.n_latents))


def row_states(environments: Sequence[KnownEnvironment]) -> States:
    """The states as a "stage" or "end" row has them, environment by environment."""
    used = used_flags(environments)
    return latent_states(used, np.array([known["mask"] for known in environments], bool).reshape(used.shape))


def used_flags(environments: Sequence[KnownEnvironment]) -> Flags:
    """u^s of each environment of a "stage" or "end" row."""
    flags = np.array([known["used"] for known in environments], bool)
    return flags if environments else flags.reshape(0, 0)


def shared_latents(used: Flags) -> list[int]:
    """Latents that several environments use."""
    return np.flatnonzero(used.sum(axis=0) > 1).tolist()


def recruited_latents(used: Flags) -> list[list[int]]:
    """For each environment, the latents that it uses and no earlier one."""
    return [np.flatnonzero(mine & ~used[:s].any(axis=0)).tolist() for s, mine in enumerate(used)]


Information = Mapping[str, np.ndarray | Sequence[float]]  # factor -> information that each code has on it


def alignment(first: Information, second: Information) -> dict[str, dict[str, Any]]:
    """Whether two worlds keep a factor in the same codes, for each factor that both have.

    `same`: the most informative code is the same one; `cosine`: similarity of the two information vectors, None if
    one of them is zero. Read both together with the information itself: where no code is informative, both are noise.
    """
    found: dict[str, dict[str, Any]] = {}
    for name in (name for name in first if name in second):
        a, b = np.asarray(first[name], np.float64), np.asarray(second[name], np.float64)
        if a.shape != b.shape:
            raise ValueError(
                f"{name!r} has {len(a)} codes in one world and {len(b)} in the other: "
                "pass the information of the same representation twice."
            )
        norm = float(np.linalg.norm(a) * np.linalg.norm(b))
        same = norm > 0 and int(a.argmax()) == int(b.argmax())
        found[name] = {"same": same, "cosine": float(a @ b) / norm if norm > 0 else None}
    return found
