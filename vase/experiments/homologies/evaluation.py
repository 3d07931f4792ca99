"""Homology scores, distance to the twins and pictures of the trained learner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, UInt8

from vase.experiments.experiment import Analysis
from vase.images import as_bytes
from vase.learners.protocol import Decodes, InfersEnvironments, Learner
from vase.metrics.homology import REGRESSORS, Codes, WorldCodes, homologies, with_headings
from vase.metrics.record import Record
from vase.training.plan import Plan
from vase.worlds import World
from vase.worlds.frames import FrameWorld
from vase.worlds.world import Batch

FIT = 4_000
"""Frames of each world that regressors are fitted on, of those that the learner has met."""
TEST = 2_000
"""Held-out frames that they are tested on."""
COMPARED = 500
"""Held-out frames whose pixels are compared with those of their twins."""
SHOWN = 8
"""Frames of each world in the figure."""
MIN_EQUAL_FACTORS = 0.9
"""Share of equal factors that makes frames at the same place twins; props may hide a ball in one world alone."""
_CHUNK = 500


def analyse(model: Learner, plan: Plan, record: Record) -> Analysis:
    """Homology of every shared factor, distance to the twins, and frames decoded as either world."""
    names, home = record.worlds[:2], record.environment_of
    rng = np.random.default_rng([plan.settings.seed, 20_181_205])
    fit, held = zip(*((_frames(world) for world in plan.worlds[name]) for name in names), strict=True)
    twins = are_twins(*held)
    places: list[int | None] = [None, None]
    used: list[np.ndarray] = []
    if isinstance(model, InfersEnvironments):
        places = [home[name] for name in names]
        used = [model.environments[home[name]].used for name in names]
    numbers: dict[str, Any] = {
        "worlds": list(names),
        "environments": places,
        "used": [flags.tolist() for flags in used],
        "shared": None,
        "scores": None,
        "twins": None,
        "note": "",
    }
    taught = _batches(fit, FIT, rng, together=are_twins(*fit))
    tested = _batches(held, TEST, rng, together=twins)
    if used and places[0] == places[1]:
        numbers["note"] = "one environment stands for both worlds: there is nothing to transfer between"
    else:
        numbers["shared"] = np.flatnonzero(used[0] & used[1]).tolist() if used else None
        numbers["scores"] = _scores(model, places, taught, tested, rng)
        if twins and isinstance(model, Decodes):
            numbers["twins"] = _compared(model, names, places, taught, tested)
        reasons = {
            "scores": "the frames have no factors in common: no score",
            "twins": "the worlds do not show the same scenes: no twins to compare with",
        }
        numbers["note"] = "; ".join(text for name, text in reasons.items() if numbers[name] is None)
    return Analysis(numbers, _pictures(model, names, places, tested) if isinstance(model, Decodes) else {})


def _scores(
    model: Learner,
    places: Sequence[int | None],
    taught: Sequence[Batch],
    tested: Sequence[Batch],
    rng: np.random.Generator,
) -> dict[str, Any] | None:
    """Regressor -> factor -> homology; None if the worlds have no factor in common."""
    first, second = [
        WorldCodes(*(Codes(sampled_codes(model, b.images, s, rng), with_headings(b.factors)) for b in pair))
        for s, *pair in zip(places, taught, tested, strict=True)
    ]
    found = {name: homologies(first, second, name) for name in REGRESSORS}
    if not any(found.values()):
        return None
    return {name: {factor: one.to_dict() for factor, one in each.items()} for name, each in found.items()}


def are_twins(first: FrameWorld, second: FrameWorld) -> bool:
    """Whether frames at the same place show the same scene, by their factors."""
    common = first.factors.keys() & second.factors.keys()
    if len(first) != len(second) or not common:
        return False
    return bool(
        np.mean([np.isclose(first.factors[name], second.factors[name]) for name in common]) >= MIN_EQUAL_FACTORS
    )


def twin_errors(
    cross: Float[np.ndarray, "B *s"],
    own: Float[np.ndarray, "B *s"],
    twin: Float[np.ndarray, "B *s"],
    mean: Float[np.ndarray, " *s"],
) -> dict[str, float]:
    """Mean squared errors of a pixel on frames of a world.

    cross: frames of the other world, decoded as this one. own: the world's own reconstructions.
    other: cross against the frame of another scene; a picture that fits every scene has the same error here as in
        `cross`, one that keeps the scene has a larger one.
    mean: the mean frame. random: the frame of another scene.
    """
    elsewhere = np.roll(twin, 1, axis=0)
    pairs = {
        "own": (own, twin),
        "cross": (cross, twin),
        "other": (cross, elsewhere),
        "mean": (mean[None], twin),
        "random": (elsewhere, twin),
    }
    return {name: round(float(np.square(a - b).mean()), 6) for name, (a, b) in pairs.items()}


def _frames(world: World) -> FrameWorld:
    if not isinstance(world, FrameWorld):
        raise TypeError(f"the world {world.name!r} does not consist of frames; homologies needs outdoors and indoors.")
    return world


def _batches(worlds: Sequence[FrameWorld], most: int, rng: np.random.Generator, *, together: bool) -> list[Batch]:
    """Different frames of each world in random order, of the same scenes if they have them together."""
    orders = [rng.permutation(len(world))[:most] for world in worlds]
    return [world.take(orders[0] if together else order) for world, order in zip(worlds, orders, strict=True)]


def sampled_codes(
    model: Learner, images: UInt8[np.ndarray, "B C H W"], environment: int | None, rng: np.random.Generator
) -> Float[np.ndarray, "B N"]:
    """z^s = a^s ⊙ z with z ~ q(z|x); z itself for a learner without environments."""
    active: Bool[np.ndarray, " N"] = np.ones(model.n_latents, bool)
    if environment is not None and isinstance(model, InfersEnvironments):
        view = model.environments[environment]
        active = view.mask & view.gate
    mean, std = np.moveaxis(_in_parts(lambda x: np.stack(model.posterior(x), 1), images), 1, 0)
    return (mean + std * rng.standard_normal(mean.shape, np.float32)) * active


def _in_parts(ask: Callable[[np.ndarray], np.ndarray], images: np.ndarray) -> np.ndarray:
    return np.concatenate([ask(images[i : i + _CHUNK]) for i in range(0, len(images), _CHUNK)])


def _decoded(
    model: Decodes, images: UInt8[np.ndarray, "B C H W"], environment: int | None
) -> Float[np.ndarray, "B C H W"]:
    return _in_parts(lambda x: model.reconstruct(x, environment=environment), images)


def _compared(
    model: Decodes, names: Sequence[str], places: Sequence[int | None], taught: Sequence[Batch], tested: Sequence[Batch]
) -> dict[str, dict[str, float]]:
    """ "A as B" -> `twin_errors` in B."""
    images = [batch.images[:COMPARED] for batch in tested]
    found = {}
    for a, b in ((0, 1), (1, 0)):
        cross, own = (_decoded(model, images[world], places[b]) for world in (a, b))
        mean = taught[b].images.mean(0, dtype=np.float32) / 255
        found[f"{names[a]} as {names[b]}"] = twin_errors(cross, own, images[b].astype(np.float32) / 255, mean)
    return found


def _pictures(
    model: Decodes, names: Sequence[str], places: Sequence[int | None], tested: Sequence[Batch]
) -> dict[str, UInt8[np.ndarray, "n C H W"]]:
    """Frames of each world, decoded as it and as the other one."""
    found = {}
    for a, b in ((0, 1), (1, 0)):
        images = tested[a].images[:SHOWN]
        found[names[a]] = images
        found[f"{names[a]} own"] = as_bytes(model.reconstruct(images, environment=places[a]))
        found[f"{names[a]} as {names[b]}"] = as_bytes(model.reconstruct(images, environment=places[b]))
    return found
