"""What latents stand for: the one meaning of used, masked, shared and recruited, and of "x is latent 7".

A latent is *used* by an environment if reconstructions depend on it there (u^s, App. A.2). It is *shared* if several
environments use it, and *recruited* by the first environment that uses it. All of this holds at one moment, because u^s
is estimated again as long as an environment is learnt: say the moment beside the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from vase.learners.protocol import InfersEnvironments, Learner
from vase.rows import AxisLatent, KnownEnvironment, PositionLatents
from vase.worlds.world import World, position_varies

Flags = Bool[np.ndarray, "K N"]
States = Int[np.ndarray, "K N"]  # one row per environment, one column per latent
Information = Mapping[str, np.ndarray | Sequence[float]]  # factor -> information that each code has on it, 0 to 1
POSITION_IMAGES = 1_000  # held-out images on which the position latents are looked for
MIN_CORRELATION = 0.5  # size of the correlation from which a latent is called the latent of x or of y


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


def alignment(first: Information, second: Information) -> dict[str, dict[str, Any]]:
    """Whether two worlds keep a factor in the same codes, for each factor that both have.

    `same`: the most informative code is the same one; `cosine`: similarity of the two information vectors, None if
    one of them is zero. Read both together with the information itself: where no code is informative, both are noise.
    """
    found: dict[str, dict[str, Any]] = {}
    for name in (name for name in first if name in second):
        a, b = np.asarray(first[name], np.float64), np.asarray(second[name], np.float64)
        if a.shape != b.shape:
            problem = f"{name!r} has {len(a)} codes in one world and {len(b)} in the other"
            raise ValueError(f"{problem}: pass the information of the same representation twice.")
        norm = float(np.linalg.norm(a) * np.linalg.norm(b))
        same = norm > 0 and int(a.argmax()) == int(b.argmax())
        found[name] = {"same": same, "cosine": float(a @ b) / norm if norm > 0 else None}
    return found


def moves(world: World) -> bool:
    """Whether the objects of a world move."""
    return position_varies(world.sample(16, np.random.default_rng(0)).factors)


def position_latents(learner: Learner, world: World, rng: np.random.Generator) -> dict[str, AxisLatent]:
    """For x and for y, the latent whose mean is most correlated with it, in absolute value, on held-out images."""
    batch = world.sample(POSITION_IMAGES, rng)
    mean = np.asarray(learner.posterior(batch.images)[0], np.float64)
    return {axis: axis_latent(mean, batch.factors[axis]) for axis in "xy"}


def axis_latent(codes: Float[np.ndarray, "B N"], values: Float[np.ndarray, " B"]) -> AxisLatent:
    """The latent that is most correlated with one coordinate, its r, and |r| of the next best latent.

    |r| = 1 and a second of 0: the latent is the axis, and the only one. 0.7 and 0.7: the axis is split evenly.
    """
    centred, target = codes - codes.mean(0), values - values.mean()
    scale = np.linalg.norm(centred, axis=0) * np.linalg.norm(target)
    correlation = np.divide(target @ centred, scale, out=np.zeros(centred.shape[1]), where=scale > 0)
    latent = int(np.abs(correlation).argmax())
    others = np.delete(np.abs(correlation), latent)
    second = round(float(others.max(initial=0.0)), 4)
    return {"latent": latent, "correlation": round(float(correlation[latent]), 4), "second": second}


def seen_latents(learner: Learner, environment: int | None) -> Bool[np.ndarray, " N"] | None:
    """Latents that the decoder of an environment sees: neither masked (Eq. 1) nor behind a closed gate.

    None, which stands for all of them, if the learner has no such environment.
    """
    views = learner.environments if isinstance(learner, InfersEnvironments) else ()
    return next((view.mask & view.gate for view in views if view.index == environment), None)


def axis_names(position: PositionLatents) -> dict[int, str]:
    """Latent -> "x", "y" or "xy", for the axes that a latent follows."""
    names: dict[int, str] = {}
    for axis, found in _axes(position):
        if abs(found["correlation"]) >= MIN_CORRELATION:
            names[found["latent"]] = names.get(found["latent"], "") + axis
    return names


def position_sentence(position: PositionLatents) -> str:
    """Which latent is x and which is y, with their correlations."""
    names = axis_names(position)
    return ", ".join(
        f"{axis} is latent {found['latent']} (correlation {found['correlation']:+.2f})"
        if axis in names.get(found["latent"], "")
        else f"no latent is {axis} (best: {found['latent']}, correlation {found['correlation']:+.2f})"
        for axis, found in _axes(position)
    )


def _axes(position: PositionLatents) -> tuple[tuple[str, AxisLatent], ...]:
    return ("x", position["x"]), ("y", position["y"])
