"""Two-sample tests between a reference window and each batch: Kolmogorov-Smirnov per feature, and MMD."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Float32
from scipy.special import kolmogorov

PERMUTATIONS = 200
_SMALLEST = 1e-300
_SUBSAMPLE = 256
"""Images of the reference from which the width of the kernel is taken."""

Reference = Float32[np.ndarray, "n d"]
Batches = Float32[np.ndarray, "T B d"]


Statistic = Callable[[Batches], Float[np.ndarray, " T"]]
"""From batches to a number for each; large if it differs from the reference."""
TwoSampleTest = Callable[[Reference], Statistic]
"""From a reference to the statistic of batches against it."""


def ks_distance(reference: Float32[np.ndarray, " n"], batches: Float32[np.ndarray, "T B"]) -> Float[np.ndarray, " T"]:
    """Largest distance between the empirical distributions of a reference and of each batch."""
    ordered, values = np.sort(reference), np.sort(batches, axis=1)
    n, m = len(ordered), values.shape[1]
    upto = np.searchsorted(ordered, values, "right") / n
    below = np.searchsorted(ordered, values, "left") / n
    ranks = np.arange(1, m + 1)
    found: Float[np.ndarray, " T"] = np.maximum((ranks / m - upto).max(1), (below - (ranks - 1) / m).max(1))
    return found


def ks_bonferroni(reference: Reference) -> Statistic:
    """−log10 of the smallest p-value of the Kolmogorov-Smirnov tests of all features, Bonferroni-corrected."""
    n, features = reference.shape

    def statistic(batches: Batches) -> Float[np.ndarray, " T"]:
        distances = np.stack([ks_distance(reference[:, i], batches[:, :, i]) for i in range(features)])
        size = n * batches.shape[1] / (n + batches.shape[1])
        p = kolmogorov(np.sqrt(size) * distances.max(0))
        return -np.log10(np.clip(features * p, _SMALLEST, 1))

    return statistic


def mmd(reference: Reference) -> Statistic:
    """Squared maximum mean discrepancy, in standard deviations of its values for permutations of the reference.

    The kernel is Gaussian, its width the median distance between images of the reference. A permutation takes as many
    images of the reference for a batch as a batch has, and the others for the reference.
    """
    rng = np.random.default_rng(0)
    some = reference[rng.permutation(len(reference))[:_SUBSAMPLE]]
    squares = _squares(some, some)
    gamma = 1 / max(float(np.median(squares[np.triu_indices(len(some), 1)])), 1e-12)
    within = np.exp(-gamma * _squares(reference, reference))
    nulls: dict[int, tuple[float, float]] = {}  # mean and standard deviation by the size of a batch

    def statistic(batches: Batches) -> Float[np.ndarray, " T"]:
        t, m, features = batches.shape
        if m not in nulls:
            permuted = _permuted(within, m, rng)
            nulls[m] = float(permuted.mean()), max(float(permuted.std()), 1e-12)
        cross = np.exp(-gamma * _squares(batches.reshape(-1, features), reference)).mean(1)
        inside = np.array([np.exp(-gamma * _squares(batch, batch)).mean() for batch in batches])
        found: Float[np.ndarray, " T"] = within.mean() - 2 * cross.reshape(t, m).mean(1) + inside
        return (found - nulls[m][0]) / nulls[m][1]

    return statistic


def _permuted(kernel: Float32[np.ndarray, "n n"], m: int, rng: np.random.Generator) -> Float[np.ndarray, " P"]:
    """MMD² of random parts of m images against the rest."""
    n = len(kernel)
    chosen = np.zeros((n, PERMUTATIONS), np.float32)
    for column in range(PERMUTATIONS):
        chosen[rng.permutation(n)[:m], column] = 1
    weight = chosen / m - (1 - chosen) / (n - m)
    found: Float[np.ndarray, " P"] = ((kernel @ weight) * weight).sum(0)
    return found


def _squares(a: Float32[np.ndarray, "n d"], b: Float32[np.ndarray, "m d"]) -> Float32[np.ndarray, "n m"]:
    """Squared distances between all pairs."""
    return np.maximum((a**2).sum(1)[:, None] + (b**2).sum(1)[None] - 2 * a @ b.T, 0)
