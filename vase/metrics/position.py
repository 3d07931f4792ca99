"""Position latents: the one meaning of "x is latent 7", in text, tables and figures."""

from __future__ import annotations

import numpy as np

from vase.learners.protocol import Learner
from vase.rows import AxisLatent, PositionLatents
from vase.worlds.world import World, position_varies

POSITION_IMAGES = 1_000  # held-out images on which the position latents are looked for
MIN_CORRELATION = 0.5  # size of the correlation from which a latent is called the latent of x or of y


def moves(world: World) -> bool:
    """Whether the objects of a world move."""
    return position_varies(world.sample(16, np.random.default_rng(0)).factors)


def position_latents(learner: Learner, world: World, rng: np.random.Generator) -> dict[str, AxisLatent]:
    """For x and for y, the latent whose mean is most correlated with it, in absolute value, on held-out images."""
    batch = world.sample(POSITION_IMAGES, rng)
    mean = np.asarray(learner.posterior(batch.images)[0], np.float64)
    centred = mean - mean.mean(0)
    found: dict[str, AxisLatent] = {}
    for axis in "xy":
        target = batch.factors[axis] - batch.factors[axis].mean()
        scale = np.linalg.norm(centred, axis=0) * np.linalg.norm(target)
        correlation = np.divide(target @ centred, scale, out=np.zeros(centred.shape[1]), where=scale > 0)
        latent = int(np.abs(correlation).argmax())
        found[axis] = {"latent": latent, "correlation": round(float(correlation[latent]), 4)}
    return found


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
