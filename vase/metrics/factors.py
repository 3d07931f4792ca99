"""What measures of disentanglement share: factors and codes ready to measure, bins, entropy and gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

Factors = Mapping[str, np.ndarray]  # name -> (B,) class labels (integers) or values in [0, 1] (floats)
CODE_BINS = 20
FACTOR_BINS = 10
CONSTANT_TOL = 1e-6  # standard deviation up to which a code, and range up to which a factor, is constant


@dataclass(frozen=True)
class PerFactor:
    """A number for each factor and their mean (None without factors)."""

    factors: dict[str, float]

    @property
    def mean(self) -> float | None:
        """Average over the factors."""
        return float(np.mean(list(self.factors.values()))) if self.factors else None


def rounded(value: Any) -> Any:
    """Numbers with six significant digits, within dictionaries and lists too."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return value if value is None else float(f"{value:.6g}")


def code_bins(code: Float[np.ndarray, " B"]) -> Int[np.ndarray, " B"]:
    """The bin of each value, of 20 equal ones between the least and the greatest; 0 for a code that does not vary."""
    if not varies(code):
        return np.zeros(len(code), np.int64)
    position = (code - code.min()) / (code.max() - code.min())
    return np.minimum((position * CODE_BINS).astype(np.int64), CODE_BINS - 1)


def entropy(p: Float[np.ndarray, " K"]) -> float:
    """In nats."""
    p = p[p > 0]
    return float(-(p * np.log(p)).sum())


def gap(scores: np.ndarray | Sequence[float], of_no_code: float) -> float:
    """Best score less the next best; a lone code is compared with a code that says nothing."""
    *_, second, best = sorted(scores if len(scores) > 1 else [*scores, of_no_code])
    return float(best - second)


class Factor(NamedTuple):
    """A factor that varies: its values, and the class or bin of each example, counted from 0."""

    values: np.ndarray
    classes: np.ndarray
    continuous: bool


def checked_codes(codes: np.ndarray, factors: Factors) -> tuple[Float[np.ndarray, "B N"], dict[str, Factor]]:
    """Codes in double precision and the factors that vary, or an error that says what to do."""
    codes = np.asarray(codes, np.float64)
    if codes.ndim != 2 or codes.shape[1] == 0:
        raise ValueError(f"codes of shape {codes.shape}: pass one row per image and one column per latent, (B, N).")
    if len(codes) < 4:
        raise ValueError(f"{len(codes)} codes: at least 4 needed, and some thousands for steady numbers; encode more.")
    if not np.isfinite(codes).all():
        bad = int((~np.isfinite(codes)).any(1).sum())
        raise ValueError(f"{bad} of {len(codes)} codes contain NaN or infinity: leave these images out.")
    known = {name: _factor(name, np.asarray(values), len(codes)) for name, values in factors.items()}
    return codes, {name: factor for name, factor in known.items() if factor is not None}


def _factor(name: str, values: np.ndarray, count: int) -> Factor | None:
    """A factor ready to measure, None if it does not vary."""
    if values.shape != (count,):
        raise ValueError(f"factor {name!r} of shape {values.shape}: pass one value per code, ({count},).")
    continuous = values.dtype.kind == "f"
    if continuous:
        values = values.astype(np.float64)
        if not (values.min() >= -CONSTANT_TOL and values.max() <= 1 + CONSTANT_TOL):
            problem = f"factor {name!r} has values from {values.min():g} to {values.max():g}"
            raise ValueError(f"{problem}: scale a continuous factor to [0, 1], or pass class labels as integers.")
        if np.ptp(values) <= CONSTANT_TOL:
            return None
        # An edge belongs to the bin above it, however its value was rounded.
        bins = np.clip((values * FACTOR_BINS + 1e-5).astype(np.int64), 0, FACTOR_BINS - 1)
    elif values.dtype.kind in "iub":
        bins = values
    else:
        raise TypeError(f"factor {name!r} of dtype {values.dtype}: pass integers (classes) or floats in [0, 1].")
    found, classes = np.unique(bins, return_inverse=True)
    return Factor(values, classes, continuous) if len(found) > 1 else None


def varies(code: Float[np.ndarray, " B"]) -> bool:
    """Whether a code takes more than one value."""
    return bool(code.std() > CONSTANT_TOL)


def halves(count: int, seed: int) -> tuple[Int[np.ndarray, " H"], Int[np.ndarray, " H"]]:
    """Two random halves of the examples, which may come in any order."""
    order = np.random.default_rng(seed).permutation(count)
    return order[: count // 2], order[count // 2 :]
