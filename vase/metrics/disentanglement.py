"""Disentanglement: how well a representation separates known factors.

Codes are means or samples of q(z|x), (B, N). Factors are what the images were made of: class labels (integers) or
continuous values in [0, 1] (floats), which are cut into 10 equal bins of [0, 1] where a measure needs discrete values.
A factor that does not vary (the position of objects that never move) is left out, and a code that does not vary carries
no information. Everything is deterministic and runs in one thread. The conventions are those of disentanglement_lib
(Locatello et al. 2019) unless a function says otherwise; an undefined number is None.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from sklearn.ensemble import RandomForestClassifier

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
from vase.metrics.latents import Information

COLLAPSED = 0.05  # standard deviation, in units of the prior's, below which the FactorVAE score ignores a code
TREES = 20


class DCI(NamedTuple):
    """Disentanglement, completeness and informativeness."""

    disentanglement: float | None  # needs two factors
    completeness: float | None  # needs two codes
    informativeness: PerFactor


def measure(codes: Float[np.ndarray, "B N"], factors: Factors, *, seed: int = 0) -> dict[str, Any]:
    """All measures of one world, ready for JSON, with six significant digits and None for what is undefined.

    A static world has one factor, its label: no FactorVAE score and no disentanglement, but all the rest.
    """
    known = information(codes, factors)
    result = to_dict(known, sap(codes, factors, seed=seed), dci(codes, factors, seed=seed))
    result["factor_vae"] = factor_vae_score(codes, factors, rng=np.random.default_rng(seed))
    return rounded(result)


def to_dict(known: dict[str, Float[np.ndarray, " N"]], separated: PerFactor, found: DCI) -> dict[str, Any]:
    """Information with its MIG, SAP and DCI under the names of a row of measures."""
    gaps = mig(known)
    return {
        "information": {name: values.tolist() for name, values in known.items()},
        "mig": gaps.mean,
        "mig_per_factor": gaps.factors,
        "sap": separated.mean,
        "sap_per_factor": separated.factors,
        "dci": {
            "disentanglement": found.disentanglement,
            "completeness": found.completeness,
            "informativeness": found.informativeness.mean,
            "informativeness_per_factor": found.informativeness.factors,
        },
    }


def information(codes: Float[np.ndarray, "B N"], factors: Factors) -> dict[str, Float[np.ndarray, " N"]]:
    """Mutual information of each code with each factor, as a share of the factor's entropy (0 to 1).

    Each code is cut into 20 equal bins between its least and its greatest value, as disentanglement_lib does. The
    estimate is not corrected: an unrelated code reads about (20 - 1)(values - 1) / 2B nats, not 0.
    """
    codes, known = checked_codes(codes, factors)
    bins = [code_bins(code) for code in codes.T]
    return {name: np.array([_share(code, factor.classes) for code in bins]) for name, factor in known.items()}


def mig(information: Information) -> PerFactor:
    """Mutual Information Gap (Chen et al. 2018): information of the best code less that of the next, per factor."""
    return PerFactor({name: gap(values, of_no_code=0.0) for name, values in information.items()})


def _share(code: Int[np.ndarray, " B"], factor: Int[np.ndarray, " B"]) -> float:
    """I(code; factor) / H(factor)."""
    joint = np.zeros((code.max() + 1, factor.max() + 1))
    np.add.at(joint, (code, factor), 1 / len(code))
    whole = entropy(joint.sum(0))
    shared = entropy(joint.sum(1)) + whole - entropy(joint.ravel())
    return float(np.clip(shared / whole, 0, 1))


def sap(codes: Float[np.ndarray, "B N"], factors: Factors, *, seed: int = 0) -> PerFactor:
    """SAP (Kumar et al. 2018): how much better the best code predicts a factor by itself than the next, per factor.

    Continuous factors: the squared correlation. Labels: thresholds halfway between the class means of one half of the
    examples, and balanced accuracy on the other half, in the spirit of Kumar et al., who choose thresholds of least
    balanced error. disentanglement_lib's LinearSVC(C=0.01) is not used: it reads ten classes from a code that equals
    their label with an accuracy of 0.18. Chance is 1/classes, so the best SAP of a label is 1 - 1/classes.
    """
    codes, known = checked_codes(codes, factors)
    train, test = halves(len(codes), seed)
    gaps = {}
    for name, factor in known.items():
        chance = 0.0 if factor.continuous else 1 / (factor.classes.max() + 1)
        scores = [read_alone(code, factor, train, test) if varies(code) else chance for code in codes.T]
        gaps[name] = gap(scores, of_no_code=chance)
    return PerFactor(gaps)


def read_alone(code: Float[np.ndarray, " B"], factor: Factor, train: np.ndarray, test: np.ndarray) -> float:
    """Squared correlation, or for classes the balanced accuracy on `test` of the nearest class mean of `train`."""
    if factor.continuous:
        return float(np.corrcoef(code, factor.values)[0, 1] ** 2)
    classes = factor.classes
    seen = np.unique(classes[train])
    means = np.array([code[train][classes[train] == value].mean() for value in seen])
    right = seen[np.abs(code[test, None] - means).argmin(1)] == classes[test]
    return float(np.mean([right[classes[test] == value].mean() for value in np.unique(classes[test])]))


def dci(codes: Float[np.ndarray, "B N"], factors: Factors, *, seed: int = 0) -> DCI:
    """DCI (Eastwood & Williams 2018), from a random forest per factor that sees one half of the examples.

    Importance is the forest's decrease of impurity, and informativeness its accuracy on the other half (continuous
    factors in bins). Every split may use every code: with a random choice of codes, useless ones would gain importance.
    disentanglement_lib boosts trees instead, which takes thirty times as long and gave disentanglement and completeness
    within 0.03 of these on noisy codes of three factors. As with those trees, noise at the edges of bins costs points.
    """
    codes, known = checked_codes(codes, factors)
    train, test = halves(len(codes), seed)
    importance = np.zeros((codes.shape[1], len(known)))
    moving = np.flatnonzero([varies(code) for code in codes.T])
    accuracy = {}
    for column, (name, factor) in enumerate(known.items()):
        if len(moving):
            forest = RandomForestClassifier(
                TREES, min_samples_leaf=5, max_features=None, random_state=seed, n_jobs=1
            ).fit(codes[np.ix_(train, moving)], factor.classes[train])
            importance[moving, column] = forest.feature_importances_
            guess = forest.predict(codes[np.ix_(test, moving)])
        else:
            guess = np.full(len(test), np.bincount(factor.classes[train]).argmax())
        accuracy[name] = float(np.mean(guess == factor.classes[test]))
    return DCI(*dci_of(importance), PerFactor(accuracy))


def dci_of(importance: Float[np.ndarray, "N K"]) -> tuple[float | None, float | None]:
    """Disentanglement and completeness of an importance matrix, codes by factors.

    Disentanglement of a code is 1 - H(its row) with logarithms to base K; completeness of a factor is 1 - H(its column)
    to base N; both are averaged with weights proportional to importance. Without any importance both are 0. With one
    factor (one code) disentanglement (completeness) is None.
    """
    matrix = np.asarray(importance, np.float64)
    if matrix.ndim != 2 or not np.isfinite(matrix).all() or (matrix < 0).any():
        rule = "pass one row per code and one column per factor, finite and not negative (np.abs of weights)"
        raise ValueError(f"importance of shape {matrix.shape}: {rule}.")
    return _concentration(matrix), _concentration(matrix.T)


def _concentration(rows: Float[np.ndarray, "R C"]) -> float | None:
    """Weighted mean over the rows of 1 - H(row) / log C."""
    total, width = rows.sum(), rows.shape[1]
    if width < 2 or len(rows) == 0:
        return None
    if total == 0:
        return 0.0
    weights = rows.sum(1)
    parts = [w / total * (1 - entropy(row / w) / np.log(width)) for row, w in zip(rows, weights, strict=True) if w]
    return float(sum(parts))


def factor_vae_score(
    codes: Float[np.ndarray, "B N"], factors: Factors, *, rng: np.random.Generator, votes: int = 1_000, group: int = 64
) -> float | None:
    """FactorVAE score (Kim & Mnih 2018): accuracy of naming the fixed factor from the code that varies least.

    A vote draws, with replacement, `group` of the given examples that agree in one factor (same class or bin) and names
    the code of least variance, relative to its variance over all examples; codes with a standard deviation below 0.05
    are collapsed and have no say (0 if no code is left). Half of the votes teach a majority rule from codes to
    factors, and the score is its accuracy on the others; chance is 1/factors. Values with fewer than group/4 examples
    are passed over. None if fewer than two factors vary.
    """
    codes, known = checked_codes(codes, factors)
    alike = [[np.flatnonzero(f.classes == value) for value in range(f.classes.max() + 1)] for f in known.values()]
    pools = [[examples for examples in pool if len(examples) >= group / 4] for pool in alike]
    pools = [pool for pool in pools if pool]
    if len(pools) < 2:
        return None
    spread = codes.std(0)
    active = codes[:, spread >= COLLAPSED] / spread[spread >= COLLAPSED]
    if active.shape[1] == 0:
        return 0.0
    fixed = rng.integers(len(pools), size=votes)
    least = np.empty(votes, np.int64)
    for vote, factor_index in enumerate(fixed):
        pool = pools[factor_index]
        least[vote] = active[rng.choice(pool[rng.integers(len(pool))], group)].var(0).argmin()
    half = votes // 2
    table = np.zeros((active.shape[1], len(pools)))
    np.add.at(table, (least[:half], fixed[:half]), 1)
    return float(np.mean(table.argmax(1)[least[half:]] == fixed[half:]))
