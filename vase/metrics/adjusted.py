"""Disentanglement adjusted for chance: what an unrelated latent scores on a finite sample is taken off.

The measures of `vase.metrics.disentanglement` are those of the literature. Each of them gives an unrelated latent more
than nothing: mutual information about (bins - 1)(values - 1)/2B nats, a squared correlation 1/(B - 1), a forest some
importance. Here this expectation is subtracted, nothing falls below 0, and a perfect latent still scores 1. Codes that
do not vary are absent: set the latents that an environment does not see to a constant.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float, Int
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics.cluster import expected_mutual_information

from vase.metrics.disentanglement import DCI, TREES, dci_of, mig, read_alone, to_dict
from vase.metrics.factors import (
    Factor,
    Factors,
    PerFactor,
    checked_codes,
    code_bins,
    entropy,
    gap,
    halves,
    rounded,
    varies,
)
from vase.metrics.latents import axis_latent
from vase.metrics.resampling import bootstrap_error
from vase.worlds.world import position_varies

SHADOWS = 5
"""Permuted latents that a forest sees beside the real ones."""
_SHADOW_SALT, _BOOTSTRAP_SALT = 20_181_206, 20_181_207


def measure_adjusted(codes: Float[np.ndarray, "B N"], factors: Factors, *, seed: int = 0) -> dict[str, Any]:
    """All adjusted measures of one world, ready for JSON; `mig_error` is the standard error over images.

    `axes` are the position latents with |r| of the next best, for worlds that move.
    """
    known = adjusted_information(codes, factors)
    result = to_dict(known, adjusted_sap(codes, factors, seed=seed), adjusted_dci(codes, factors, seed=seed))
    result["mig_error"] = mig_error(codes, factors, seed=seed)
    axes = {}
    if position_varies(factors):
        axes = {"axes": {axis: axis_latent(np.asarray(codes, np.float64), factors[axis]) for axis in "xy"}}
    return {**rounded(result), **axes}


# ------------------------------------------------------------------------------------------------ information


def adjusted_information(codes: Float[np.ndarray, "B N"], factors: Factors) -> dict[str, Float[np.ndarray, " N"]]:
    """Information of each code on each factor, (I - E[I]) / (H - E[I]), not below 0; H is the factor's entropy.

    E[I] is the average over all permutations of the factor (Vinh et al. 2010): an unrelated code reads 0 on average
    and one that tells the factor reads 1. Bins are those of `information`.
    """
    codes, known = checked_codes(codes, factors)
    bins = [code_bins(code) for code in codes.T]
    return {
        name: np.array([_adjusted(joint, chance_information(joint)) for joint in _joints(bins, factor)])
        for name, factor in known.items()
    }


def mig_error(codes: Float[np.ndarray, "B N"], factors: Factors, *, seed: int = 0) -> float | None:
    """Standard error of the mean MIG from resampling images; the bins and E[I] stay those of all images."""
    codes, known = checked_codes(codes, factors)
    bins = [code_bins(code) for code in codes.T]
    chances = {name: [chance_information(joint) for joint in _joints(bins, factor)] for name, factor in known.items()}

    def resampled(times: Int[np.ndarray, " B"]) -> float | None:
        shares = {
            name: [_adjusted(j, e) for j, e in zip(_joints(bins, factor, times), chances[name], strict=True)]
            for name, factor in known.items()
        }
        return mig(shares).mean

    return bootstrap_error(resampled, len(codes), rng=np.random.default_rng([seed, _BOOTSTRAP_SALT]))


def chance_information(joint: Float[np.ndarray, "K V"]) -> float:
    """E[I] in nats over all permutations of one of the two variables, from their table of counts."""
    counts = joint[joint.any(1)][:, joint.any(0)].astype(np.int64)
    return float(expected_mutual_information(counts, int(counts.sum())))


def _joints(
    bins: list[Int[np.ndarray, " B"]], factor: Factor, times: Int[np.ndarray, " B"] | None = None
) -> list[Float[np.ndarray, "K V"]]:
    """The table of counts of each code with the factor; `times` is how often each image counts."""
    values = int(factor.classes.max()) + 1
    tables = []
    for code in bins:
        shape = int(code.max()) + 1, values
        counts = np.bincount(code * values + factor.classes, times, minlength=shape[0] * shape[1])
        tables.append(counts.reshape(shape).astype(np.float64))
    return tables


def _adjusted(joint: Float[np.ndarray, "K V"], chance: float) -> float:
    """(I - E[I]) / (H - E[I]) of a table of counts, within 0 and 1."""
    p = joint / joint.sum()
    whole = entropy(p.sum(0))
    shared = entropy(p.sum(1)) + whole - entropy(p.ravel())
    return float(np.clip((shared - chance) / (whole - chance), 0, 1)) if whole > chance else 0.0


# ------------------------------------------------------------------------------------------------ SAP and DCI


def adjusted_sap(codes: Float[np.ndarray, "B N"], factors: Factors, *, seed: int = 0) -> PerFactor:
    """SAP with scores that are 0 for an unrelated code and 1 for a perfect one: (score - chance) / (1 - chance).

    Chance is 1/(B - 1) for a squared correlation and 1/classes for a balanced accuracy.
    """
    codes, known = checked_codes(codes, factors)
    train, test = halves(len(codes), seed)
    gaps = {}
    for name, factor in known.items():
        chance = 1 / (len(codes) - 1) if factor.continuous else 1 / (factor.classes.max() + 1)
        scores = [read_alone(code, factor, train, test) if varies(code) else chance for code in codes.T]
        gaps[name] = gap(np.clip((np.array(scores) - chance) / (1 - chance), 0, 1), of_no_code=0.0)
    return PerFactor(gaps)


def adjusted_dci(codes: Float[np.ndarray, "B N"], factors: Factors, *, seed: int = 0) -> DCI:
    """DCI from forests that see permuted latents beside the real ones.

    The mean importance of a permuted latent is subtracted from that of each real one. What is left, as a share of the
    importance of all real latents, multiplies disentanglement and completeness: importance that cannot be told from
    chance counts as not disentangled, so that codes of noise score about 0.
    """
    codes, known = checked_codes(codes, factors)
    train, test = halves(len(codes), seed)
    moving = np.flatnonzero([varies(code) for code in codes.T])
    raw, importance = np.zeros((2, codes.shape[1], len(known)))
    accuracy = {}
    seen = np.concatenate([codes[:, moving], _shadows(codes[:, moving], seed)], 1)
    for column, (name, factor) in enumerate(known.items()):
        guess = np.full(len(test), np.bincount(factor.classes[train]).argmax())
        if len(moving):
            forest = RandomForestClassifier(
                TREES, min_samples_leaf=5, max_features=None, random_state=seed, n_jobs=1
            ).fit(seen[train], factor.classes[train])
            own, chance = np.split(forest.feature_importances_, [len(moving)])
            raw[moving, column], importance[moving, column] = own, np.maximum(own - chance.mean(), 0)
            guess = forest.predict(seen[test])
        accuracy[name] = float(np.mean(guess == factor.classes[test]))
    share = importance.sum() / raw.sum() if raw.any() else 0.0
    separate, complete = (None if value is None else value * float(share) for value in dci_of(importance))
    return DCI(separate, complete, PerFactor(accuracy))


def _shadows(codes: Float[np.ndarray, "B M"], seed: int) -> Float[np.ndarray, "B S"]:
    """Some of the codes, each with its values in a random order of its own."""
    rng = np.random.default_rng([seed, _SHADOW_SALT])
    chosen = rng.permutation(codes.shape[1])[:SHADOWS]
    return rng.permuted(codes[:, chosen], axis=0)
