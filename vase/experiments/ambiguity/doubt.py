"""Is the learner unsure of ambiguous images? Three places where doubt can show, besides the posterior's σ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Int

from vase.experiments.common.conditions import label
from vase.experiments.results import Result, Results
from vase.experiments.tables import NONE, Entry, Table, spread
from vase.learners.protocol import Decodes

SAMPLES = 16
"""Samples of q(z|x) that are decoded for every image."""
SIGMAS = ("first", "second")
NAMES = {
    "first": "σ of faces' latents",
    "second": "σ of Fashion's latents",
    "entropy": "entropy of q(s|x) (bits)",
    "samples": "spread of decoded samples (1e-3)",
    "worlds": "disagreement of the environments (1e-3)",
}
"""What is measured, for readers."""
MEASURES = ("entropy", "samples", "worlds")
SCALES = {"samples": 1e3, "worlds": 1e3}


def entropy(q: Float[np.ndarray, "*B K"]) -> Float[np.ndarray, "*B"]:
    """−Σ_s q(s|x) log₂ q(s|x), in bits.

    >>> entropy(np.array([[0.5, 0.5], [1.0, 0.0]])).tolist()
    [1.0, 0.0]
    """
    found: Float[np.ndarray, "*B"] = -(q * np.log2(np.where(q > 0, q, 1))).sum(-1) + 0.0
    return found


def sample_spread(decoded: Float[np.ndarray, "S B C H W"]) -> float:
    """Standard deviation over decoded samples of q(z|x): mean over pixels and images."""
    return float(decoded.std(0).mean())


def world_disagreement(decoded: Float[np.ndarray, "K B C H W"], q: Float[np.ndarray, "B K"]) -> float:
    """Standard deviation over environments, drawn from q(s|x), of what an image is decoded as; mean over pixels.

    It is large only where the learner is unsure of the environment and the environments would draw different images.
    """
    weights = q.T[:, :, None, None, None]
    mean = (weights * decoded).sum(0)
    variance = (weights * (decoded - mean) ** 2).sum(0)
    return float(np.sqrt(variance).mean())


def doubts(
    model: Decodes,
    images: Sequence[Float32[np.ndarray, "B C H W"]],
    posteriors: Sequence[tuple[Float[np.ndarray, "B N"], Float[np.ndarray, "B N"]]],
    looks: Sequence[Float32[np.ndarray, "B K"]],
) -> dict[str, list[float]]:
    """All measures for each of some batches of images, with their q(z|x) and q(s|x); the same noise for every batch."""
    found: dict[str, list[float]] = {name: [] for name in MEASURES}
    for x, (mean, std), q in zip(images, posteriors, looks, strict=True):
        noise = np.random.default_rng(0).standard_normal((SAMPLES, *mean.shape))
        as_each = np.stack([model.reconstruct(x, environment=s) for s in range(q.shape[1])])
        found["entropy"].append(float(entropy(q).mean()))
        found["samples"].append(sample_spread(_decoded(model, mean + std * noise, q.argmax(1))))
        found["worlds"].append(world_disagreement(as_each, q))
    return found


def _decoded(
    model: Decodes, z: Float[np.ndarray, "S B N"], environments: Int[np.ndarray, "B"]
) -> Float[np.ndarray, "S B C H W"]:
    """Samples of each image, decoded in the environment that it is taken for."""
    found: dict[int, np.ndarray] = {}
    for s in np.unique(environments):
        mine = np.flatnonzero(environments == s)
        images = model.decode(z[:, mine].reshape(-1, z.shape[-1]), environment=int(s))
        found |= dict(
            zip(mine.tolist(), images.reshape(len(z), len(mine), *images.shape[1:]).swapaxes(0, 1), strict=True)
        )
    return np.stack([found[i] for i in range(len(environments))], 1)


def doubt(results: Results) -> Table:
    """Where along the mixing weight the learner is least sure, by each measure."""
    rows = tuple(
        (f"{label(condition.name)}: {name}" if len(results.finished) > 1 else name, len(runs), *_along(runs, key))
        for condition, runs in results.finished
        for key, name in NAMES.items()
    )
    columns = ("measure", "seeds", "faces", "middle", "Fashion", "largest at (%)", "largest in between")
    notes = (
        "Mixing weight from 0 (faces) to 100 % (inverse Fashion). σ: of q(z|x), mean over the latents that a world "
        "uses. spread of decoded samples: standard deviation of a pixel over samples of q(z|x), decoded as the world "
        "that the image is taken for. disagreement of the environments: standard deviation of a pixel over what the "
        "image is decoded as in each environment, drawn from q(s|x). largest in between: seeds in which the largest "
        "value is neither at the first nor at the last weight. Mean ± standard deviation over seeds.",
    )
    return Table("Ambiguity: where doubt shows", columns, rows, notes)


def curve(found: dict[str, Any], key: str) -> Float[np.ndarray, " T"] | None:
    """A measure along the mixing weight; None for the σ of a world that uses no latent."""
    if key in found["doubt"]:
        return SCALES.get(key, 1.0) * np.asarray(found["doubt"][key])
    used = np.flatnonzero(found["used"][SIGMAS.index(key)])
    return np.asarray(found["std"])[:, used].mean(1) if len(used) else None


def _along(runs: Sequence[Result], key: str) -> tuple[Entry, ...]:
    pairs = [(found, y) for run in runs if (found := run.analysis) and (y := curve(found, key)) is not None]
    if not pairs:
        return (NONE,) * 5
    peaks = [int(y.argmax()) for _, y in pairs]
    middle = len(pairs[0][1]) // 2
    return (
        *(spread([float(y[place]) for _, y in pairs], digits=2) for place in (0, middle, -1)),
        spread([100 * found["weights"][peak] for (found, _), peak in zip(pairs, peaks, strict=True)], digits=0),
        f"{sum(0 < peak < len(y) - 1 for (_, y), peak in zip(pairs, peaks, strict=True))} of {len(pairs)}",
    )
