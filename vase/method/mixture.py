"""Single images and mixed batches: which environment each image belongs to, and whether a batch shows several."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

SMALLEST_PART = 0.1
"""A part of a batch smaller than this is not called a world of its own."""
NONE = -1
"""Stands for no known environment."""


def assign(
    log_likelihoods: Float[Tensor, "B K"], p_values: Float[Tensor, "B K"], level: float
) -> tuple[Int[np.ndarray, "B"], Float[np.ndarray, "B M"]]:
    """The environment of each image, NONE if it is too improbable in all; and the posterior, a new one last.

    Known environments are compared by their likelihood; against all of them stands a new one, whose share grows as the
    p-value of the best falls to the level.
    """
    best = log_likelihoods.argmax(1)
    p = p_values.gather(1, best[:, None])[:, 0]
    known = (p / (p + level))[:, None]
    posterior = torch.cat([log_likelihoods.softmax(1) * known, 1 - known], 1)
    environments = torch.where(p >= level, best, NONE)
    return environments.numpy(), posterior.float().numpy()


def shares(environments: Int[np.ndarray, "B"]) -> dict[int, float]:
    """The share of the images in each environment, the largest first; NONE for those of no known one."""
    values, counts = np.unique(environments, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return {int(values[i]): float(counts[i] / len(environments)) for i in order}


def parts(
    log_likelihoods: Float[Tensor, "B K"],
    strange: Bool[np.ndarray, "B"],
    fits: Callable[[Int[np.ndarray, "n"], int], bool],
) -> tuple[Int[np.ndarray, "B"], dict[int, float]] | None:
    """The environment of each image of a mixed batch, and their shares; None if it is no mixture.

    A batch is mixed if it falls into two parts or more, each of which, taken together, fits an environment of its own:
    `fits(rows, s)`. Environments whose part does not fit are given up one by one. `strange` images fit none.
    """
    candidates = list(range(log_likelihoods.shape[1]))
    while candidates:
        best = torch.tensor(candidates)[log_likelihoods[:, candidates].argmax(1)].numpy()
        environments = np.where(strange, NONE, best)
        large = {s: share for s, share in shares(environments).items() if share >= SMALLEST_PART}
        known = [s for s in large if s != NONE]
        wrong = [s for s in known if not fits(np.flatnonzero(environments == s), s)]
        if not wrong:
            return (environments, large) if known and len(large) > 1 else None
        candidates = [s for s in candidates if s in known and s != wrong[-1]]  # the smallest part that does not fit
    return None
