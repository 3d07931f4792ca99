"""Mixtures of images of two worlds, with and without context, as the trained learner sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float32

from vase.experiments.ambiguity.analysis import width
from vase.experiments.ambiguity.doubt import doubts
from vase.experiments.experiment import Analysis
from vase.images import as_bytes, as_floats
from vase.learners.protocol import Decodes, InfersEnvironments, Learner
from vase.method.context import in_context
from vase.metrics.record import Record
from vase.training.plan import Plan

WEIGHTS = np.linspace(0, 1, 21)
"""Share of the second world in a mixture of two images."""
BATCH = 64
AMBIGUOUS = tuple(range(BATCH - 1, 0, -1))
"""Ambiguous images in a batch of BATCH; the others are real ones of one world."""
REPEATS = 4
"""Batches of pairs behind every number."""
SHOWN = 6
"""Pairs of images that are shown."""


def mixtures(a: np.ndarray, b: np.ndarray, weight: float) -> Float32[np.ndarray, "..."]:
    """Linear interpolations in [0, 1]: (1 − weight)·a + weight·b."""
    one, other = (as_floats(images).astype(np.float64) for images in (a, b))  # the sum must not exceed 1 by rounding
    return ((1 - weight) * one + weight * other).astype(np.float32)


def among(
    looks: Float32[np.ndarray, "T R B K"],
    context: Float32[np.ndarray, "R B K"],
    count: int,
    environments: Sequence[int],
) -> Float[np.ndarray, " T"]:
    """Mean probability of some environments for images that come `count` at a time in a batch of real ones.

    Args:
        looks: q(s|x) of R batches of images at each of T mixing weights; each batch is cut into as many groups of
            `count` as it holds.
        context: q(s|x) of as many real images for every batch; the first of them fill up each group.
        count: images in a group.
        environments: those whose probabilities are added.
    """
    t, r, size, k = looks.shape
    n = size // count
    groups = torch.from_numpy(looks[:, :, : n * count]).reshape(t, r, n, count, k)
    rest = torch.from_numpy(context[:, : size - count]).reshape(r, 1, size - count, k).expand(t, r, n, size - count, k)
    found: Float[np.ndarray, " T"] = in_context(groups, rest)[..., list(environments)].sum(-1).mean((1, 2, 3)).numpy()
    return found


def analyse(model: Learner, plan: Plan, record: Record) -> Analysis:
    """q(s = first world) for every mixing weight and context; posteriors and reconstructions along the weight.

    An image is seen as of a world with the probability of all environments that mostly stood for that world.
    """
    if not isinstance(model, InfersEnvironments) or not isinstance(model, Decodes):
        return Analysis({})
    rng = np.random.default_rng([plan.settings.seed, 20_181_204])
    worlds = record.worlds[:2]
    home = _homes(model, record, worlds)
    stood = [s for s, world in record.world_of.items() if world == worlds[0] and s < len(model.environments)]
    first = stood or home[:1]

    def real(world: str) -> Float32[np.ndarray, "B C H W"]:
        return as_floats(plan.worlds[world][1].sample(BATCH, rng).images)

    def look(images: np.ndarray) -> Float32[np.ndarray, "B K"]:
        return model.infer_environment(images).each

    pairs = [(real(worlds[0]), real(worlds[1])) for _ in range(REPEATS)]
    context = {world: np.stack([look(real(world)) for _ in range(REPEATS)]) for world in worlds}
    looks = np.array([[look(mixtures(a, b, w)) for a, b in pairs] for w in WEIGHTS])
    single = looks[..., first].sum(-1).reshape(len(WEIGHTS), -1)
    a, b = pairs[0]
    mixed = [mixtures(a, b, w) for w in WEIGHTS]
    posterior = [model.posterior(images) for images in mixed]
    doubt = doubts(model, mixed, posterior, list(looks[:, 0]))
    return Analysis(
        {
            "worlds": list(worlds),
            "environments": home,
            "seen_as_first": first,
            "used": [model.environments[s].used.tolist() for s in home],
            "weights": [round(float(w), 4) for w in WEIGHTS],
            "batch": BATCH,
            "ambiguous": list(AMBIGUOUS),
            "alone": _rounded(single.mean(1)),
            "pairs": _pairs(single),
            "company": {
                world: [_rounded(among(looks, context[world], count, first)) for count in AMBIGUOUS] for world in worlds
            },
            "real": {world: round(float(context[world][..., first].sum(-1).mean()), 4) for world in worlds},
            "doubt": {name: _rounded(values) for name, values in doubt.items()},
            "std": [_rounded(std.mean(0)) for _, std in posterior],
            "example": {
                "mean": [_rounded(mean[0]) for mean, _ in posterior],
                "doubt": {name: _rounded(values) for name, values in doubt.items()},
                "std": [_rounded(std[0]) for _, std in posterior],
            },
        },
        _pictures(model, a[:SHOWN], b[:SHOWN], home),
    )


def _pictures(model: Decodes, a: np.ndarray, b: np.ndarray, home: Sequence[int]) -> dict[str, np.ndarray]:
    """Mixtures of some pairs, and their reconstructions in the environments of both worlds."""
    mixed = np.stack([mixtures(a, b, w) for w in WEIGHTS[::2]], 1)
    flat = mixed.reshape(-1, *mixed.shape[2:])
    decoded = {
        name: model.reconstruct(flat, environment=s).reshape(mixed.shape)
        for name, s in zip(("first", "second"), home, strict=True)
    }
    return {name: as_bytes(images) for name, images in {"mixed": mixed, **decoded}.items()}


def _homes(model: InfersEnvironments, record: Record, worlds: Sequence[str]) -> list[int]:
    """The environment of each of two worlds; the same one if the learner saw no difference."""
    found, known = record.environment_of, len(model.environments)
    missing = [world for world in worlds if found.get(world, known) >= known]
    if missing or len(worlds) < 2:
        what = f"the run never came to {missing[0]}" if missing else f"the stream has no second world after {worlds[0]}"
        raise ValueError(f"no mixtures to analyse: {what}; run the whole stream of two worlds.")
    return [found[world] for world in worlds]


def _pairs(single: Float[np.ndarray, "T P"]) -> dict[str, Any]:
    """How every pair of images by itself goes over from one world to the other."""
    widths = [w for curve in single.T if (w := width(WEIGHTS, curve)) is not None]
    return {
        "count": single.shape[1],
        "cross": len(widths),
        "width": round(float(np.median(widths)), 4) if widths else None,
    }


def _rounded(values: Any) -> list[float]:
    return [round(float(value), 4) for value in values]
