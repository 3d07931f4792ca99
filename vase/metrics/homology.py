"""Homology score: is a factor written in the same way in the latents of two worlds?

Regressors are fitted on the latents of one world and read, unchanged, the held-out latents of the other. The score of a
direction is the R² they reach there, as a share of the R² of regressors that were fitted there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

MIN_R_SQUARED = 0.1  # within either world: below it a factor can hardly be read, and its transfer says nothing
MIN_FRAMES = 20  # frames that a regressor is fitted on or tested on, at least
OF_A_BALL = ("ball_colour", "ball_bearing", "ball_distance")  # factors of a ball that must be seen to be read
# Linear ones, and a second opinion that needs no straight lines and never answers outside of what it was taught.
REGRESSORS: dict[str, Callable[[], Any]] = {
    "ridge": lambda: make_pipeline(StandardScaler(), Ridge(1.0)),
    "trees": lambda: ExtraTreesRegressor(50, min_samples_leaf=5, random_state=0, n_jobs=1),
}


class Codes(NamedTuple):
    """Latents of some frames of a world, and the factors of these frames."""

    z: Float[np.ndarray, "B N"]
    factors: Mapping[str, np.ndarray]


class WorldCodes(NamedTuple):
    """What regressors are fitted on, and what they are tested on."""

    fit: Codes
    test: Codes


@dataclass(frozen=True)
class Homology:
    """How one factor is read in two worlds, the first and the second."""

    within: tuple[float, float]  # R² in the first world and in the second, of regressors fitted there
    across: tuple[float, float]  # R² in the second world of regressors fitted in the first, and the other way round
    correlation: tuple[
        float, float
    ]  # of those answers with the truth: if high beside a low R², only zero or scale differ

    @property
    def directions(self) -> tuple[float, float] | None:
        """First → second and second → first: R² across / R² within the world that is read, from 0 to 1.

        None if the factor can hardly be read in one of the worlds. Worse than guessing the mean is 0, however much.
        """
        if min(self.within) < MIN_R_SQUARED:
            return None
        (first, second), (there, back) = self.within, self.across
        return float(np.clip(there / second, 0, 1)), float(np.clip(back / first, 0, 1))

    @property
    def score(self) -> float | None:
        """The mean of both directions: 1 for one common way to write the factor, 0 for none."""
        return None if self.directions is None else sum(self.directions) / 2

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, rounded."""
        pairs = {name: getattr(self, name) for name in ("within", "across", "correlation", "directions")}
        rounded = {name: None if pair is None else [round(v, 4) for v in pair] for name, pair in pairs.items()}
        return {**rounded, "score": None if self.score is None else round(self.score, 4)}


def homologies(first: WorldCodes, second: WorldCodes, regressor: str) -> dict[str, Homology]:
    """Factor -> its homology, for factors that both worlds have and that vary in both."""
    parts = (*first, *second)
    common = [name for name in first.fit.factors if all(name in codes.factors for codes in parts)]
    answers = {name: _homology(parts, name, REGRESSORS[regressor]) for name in common}
    return {name: found for name, found in answers.items() if found is not None}


def with_headings(factors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Factors, and from the heading what perspective shows of it, alike in all square rooms.

    heading_slant: (1 + sin 4h)/2, from a wall ahead that recedes to one side to one that recedes to the other.
    heading_corner: (1 − cos 4h)/2, from 0 for a wall that is faced squarely to 1 for a look into a corner.
    """
    found = dict(factors)
    if {"heading_sin", "heading_cos"} <= found.keys():
        heading = np.arctan2(2 * found["heading_sin"] - 1, 2 * found["heading_cos"] - 1)
        found |= {"heading_slant": (1 + np.sin(4 * heading)) / 2, "heading_corner": (1 - np.cos(4 * heading)) / 2}
    return found


def r_squared(truth: Float[np.ndarray, "B K"], guess: Float[np.ndarray, "B K"]) -> float:
    """1 − squared error / squared deviation from the mean, over all columns together.

    >>> r_squared(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[3.0], [2.0], [1.0], [0.0]]))
    -3.0
    """
    return float(1 - np.square(truth - guess).sum() / np.square(truth - truth.mean(0)).sum())


def correlation(truth: Float[np.ndarray, "B K"], guess: Float[np.ndarray, "B K"]) -> float:
    """Correlation over all columns together, each about its mean; 0 for a guess that never changes."""
    a, b = truth - truth.mean(0), guess - guess.mean(0)
    size = np.sqrt(np.square(a).sum() * np.square(b).sum())
    return float((a * b).sum() / size) if size > 1e-12 else 0.0


def columns_of(values: np.ndarray, classes: int) -> Float[np.ndarray, "B K"]:
    """What a regressor is to answer: the number itself, or for more than two classes one yes or no for each."""
    if values.dtype.kind == "f" or classes <= 2:
        return values.astype(np.float64)[:, None]
    return (values[:, None] == np.arange(classes)).astype(np.float64)


def _homology(parts: tuple[Codes, Codes, Codes, Codes], name: str, make: Callable[[], Any]) -> Homology | None:
    """Of one factor, from what is fitted and tested in the first world and in the second; None if it hardly varies."""
    rows = [_readable(codes, name) for codes in parts]
    values = [codes.factors[name][seen] for codes, seen in zip(parts, rows, strict=True)]
    if min(map(len, values)) < MIN_FRAMES or min(map(np.ptp, values)) < 1e-9:
        return None
    classes = int(max(part.max() for part in values)) + 1
    z = [codes.z[seen].astype(np.float64) for codes, seen in zip(parts, rows, strict=True)]
    y = [columns_of(part, classes) for part in values]
    readers = [make().fit(z[fit], y[fit].squeeze(1) if y[fit].shape[1] == 1 else y[fit]) for fit in (0, 2)]
    guess = {(a, b): readers[a].predict(z[2 * b + 1]).reshape(y[2 * b + 1].shape) for a in (0, 1) for b in (0, 1)}
    return Homology(
        within=(r_squared(y[1], guess[0, 0]), r_squared(y[3], guess[1, 1])),
        across=(r_squared(y[3], guess[0, 1]), r_squared(y[1], guess[1, 0])),
        correlation=(correlation(y[3], guess[0, 1]), correlation(y[1], guess[1, 0])),
    )


def _readable(codes: Codes, name: str) -> Bool[np.ndarray, " B"]:
    """Frames on which a factor can be seen at all."""
    if name in OF_A_BALL and "ball_visible" in codes.factors:
        return np.asarray(codes.factors["ball_visible"], bool)
    return np.ones(len(codes.z), bool)
