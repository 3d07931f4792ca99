"""What changed at a switch of environment, in numbers, words and example images."""

from __future__ import annotations

import base64
import binascii
import math
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, cast

import numpy as np
from jaxtyping import Bool, Float, UInt8

from vase.images import as_bytes, as_floats
from vase.learners.appearance import FEW_IMAGES
from vase.learners.appearance_change import MIN_SCORE, compare_appearance
from vase.method.mixture import NONE
from vase.rows import ChangeRow, PackedImages

EXAMPLES = 4
"""Example images before and after, at most."""
MIN_ATYPICALITY_CHANGE = 0.1
"""Smallest change of α, in nats, that counts."""
_CROSSING = 3.0  # α that grew or fell by this factor became atypical or typical
_LISTED = 4  # latents named in the sentence


@dataclass(frozen=True)
class LatentChange:
    """Atypicality of one latent before and after."""

    latent: int
    before: float
    after: float


@dataclass(frozen=True)
class Nearest:
    """The known environment most like the new batches, apart from the one they belong to."""

    environment: int
    distance: float


@dataclass(frozen=True, eq=False)
class Change:
    """What changed when the environment switched. Relative changes: −0.65 is 65 % less, 1 is twice as much."""

    step: int
    """Batches seen at the switch."""
    previous: int
    """The environment before."""
    environment: int
    """The environment after."""
    is_new: bool
    """The environment was seen for the first time."""
    brightness: float
    """Relative change of the mean."""
    contrast: float
    """Relative change of the standard deviation within an image."""
    colour: tuple[float, float, float] | None
    """Change of red, green and blue, each relative to grey; None for grey images."""
    saturation: float | None
    """Relative change of the saturation; None for grey images."""
    sharpness: float
    """Relative change of the share of energy in the finest scale, without noise."""
    noise: float
    """Change of the noise's standard deviation, of values in [0, 1]."""
    place: str | None
    """The region that changed most; None if none did, or if the change is spread over the picture."""
    latents: tuple[LatentChange, ...]
    """Used latents whose atypicality changed beyond noise, the largest change first."""
    nearest: Nearest | None
    """The nearest other known environment."""
    p_value: float | None
    """Probability of batches as foreign as these in the previous environment."""
    findings: tuple[str, ...]
    """Changes of appearance beyond noise, in words."""
    image_counts: tuple[int, int]
    """Number of images before and after."""
    before: UInt8[np.ndarray, "n C H W"] = field(repr=False)
    """Example images of the last batches before the switch."""
    after: UInt8[np.ndarray, "n C H W"] = field(repr=False)
    """Example images of the batches that caused it."""

    @property
    def heading(self) -> str:
        """When and between which environments."""
        return f"step {self.step:,}: {self.way}"

    @property
    def way(self) -> str:
        """From which environment to which; a frozen learner may know neither."""
        if self.environment == NONE:
            return f"environment {self.previous} → unknown"
        before = "unknown → environment" if self.previous == NONE else f"environment {self.previous} →"
        return f"{before} {self.environment} ({'new' if self.is_new else 'known'})"

    def __str__(self) -> str:
        return f"{self.heading}: {self.sentence}"

    @property
    def sentence(self) -> str:
        """What changed: appearance, latents and the nearest known environment."""
        parts = [", ".join(self.findings) or self._unchanged(), *_latent_phrases(self.latents)]
        if self.nearest is not None:
            kind, near = "known" if self.is_new else "other", self.nearest
            parts.append(f"nearest {kind} environment: {near.environment}, distance {near.distance:.2f}")
        return "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """The record without its images, ready for JSON."""
        numbers = ("brightness", "contrast", "saturation", "sharpness", "noise", "p_value")
        return {
            "step": self.step,
            "previous": self.previous,
            "environment": self.environment,
            "is_new": self.is_new,
            **{name: _finite(getattr(self, name)) for name in numbers},
            "colour": None if self.colour is None else list(self.colour),
            "place": self.place,
            "latents": [
                {"latent": moved.latent, "before": _finite(moved.before), "after": _finite(moved.after)}
                for moved in self.latents
            ],
            "nearest": None if self.nearest is None else asdict(self.nearest),
            "image_counts": list(self.image_counts),
            "sentence": self.sentence,
        }

    def to_row(self) -> ChangeRow:
        """The record with its images, ready for JSON; the inverse of `from_row`."""
        images = {"before": _pack(self.before), "after": _pack(self.after)}
        return cast(ChangeRow, {**self.to_dict(), "findings": list(self.findings), **images})

    @classmethod
    def from_row(cls, row: ChangeRow | Mapping[str, Any]) -> Change:
        """Rebuild a record from `to_row` or from parsed JSON."""
        values: dict[str, Any] = {name: value for name, value in row.items() if name != "sentence"}
        nearest, colour = values["nearest"], values["colour"]
        numbers = ("brightness", "contrast", "sharpness", "noise")
        return cls(
            **values
            | {name: math.nan if values[name] is None else values[name] for name in numbers}
            | {
                "colour": None if colour is None else tuple(colour),
                "latents": tuple(_moved_latent(**moved) for moved in values["latents"]),
                "nearest": None if nearest is None else Nearest(**nearest),
                "findings": tuple(values["findings"]),
                "image_counts": tuple(values["image_counts"]),
                "before": _unpack(values["before"]),
                "after": _unpack(values["after"]),
            }
        )

    def _unchanged(self) -> str:
        what = f"brightness, {'colour, ' * (self.colour is not None)}sharpness or place"
        fewest = min(self.image_counts)
        if fewest < FEW_IMAGES:
            return f"{fewest} image{'s are' if fewest > 1 else ' is'} too few to tell a change in {what}"
        return f"no change in {what}"


def describe_change(
    before: np.ndarray,
    after: np.ndarray,
    *,
    atypical_before: Float[np.ndarray, " N"],
    atypical_after: Float[np.ndarray, " N"],
    used: Bool[np.ndarray, " N"],
    step: int,
    previous: int,
    environment: int,
    is_new: bool,
    distances: Mapping[int, float],
    p_value: float | None = None,
) -> Change:
    """Describe a switch from the images before and after it, (B, C, H, W), uint8 or floats in [0, 1].

    `atypical_before` and `atypical_after` are α of each latent on these images, `used` flags the latents that the
    previous environment uses, and `distances` are those of the images after to every known environment. The images
    count as independent.
    """
    pair = _checked(before, "before"), _checked(after, "after")
    if before.shape[1:] != after.shape[1:]:
        raise ValueError(
            f"images of shape {before.shape[1:]} before and {after.shape[1:]} after: must be alike; resize them."
        )
    found = compare_appearance(*pair)
    others = {int(s): float(d) for s, d in distances.items() if s != environment and math.isfinite(d)}
    nearest = min(others, key=lambda s: (others[s], s), default=None)
    return Change(
        step=int(step),
        previous=int(previous),
        environment=int(environment),
        is_new=bool(is_new),
        brightness=found.brightness,
        contrast=found.contrast,
        colour=found.colour,
        saturation=found.saturation,
        sharpness=found.sharpness,
        noise=found.noise,
        place=found.place,
        latents=_moved_latents(atypical_before, atypical_after, used, (len(before), len(after))),
        nearest=None if nearest is None else Nearest(nearest, others[nearest]),
        p_value=None if p_value is None else _finite(float(p_value)),
        findings=found.phrases,
        image_counts=(len(before), len(after)),
        before=_examples(before),
        after=_examples(after),
    )


def _checked(images: np.ndarray, name: str) -> Float[np.ndarray, "B C H W"]:
    if images.ndim != 4 or len(images) == 0:
        raise ValueError(f"images of shape {images.shape} {name} the change: must be (B, C, H, W) with B ≥ 1.")
    values = as_floats(images)
    low, high = float(values.min()), float(values.max())
    if not (low >= 0 and high <= 1):  # NaN compares false
        raise ValueError(
            f"image values from {low:g} to {high:g} {name} the change: must lie in [0, 1]; rescale them or pass uint8."
        )
    return values


def _examples(images: np.ndarray) -> UInt8[np.ndarray, "n C H W"]:
    """A few images, evenly spaced over the batch."""
    chosen = np.linspace(0, len(images) - 1, min(EXAMPLES, len(images))).astype(int)
    return as_bytes(images[chosen])


def _moved_latents(
    before: Float[np.ndarray, " N"],
    after: Float[np.ndarray, " N"],
    used: Bool[np.ndarray, " N"],
    images: tuple[int, int],
) -> tuple[LatentChange, ...]:
    """Used latents whose α changed beyond noise, the largest change first.

    √α is compared: over B images its standard error is about 1/√(2B), whatever α is.
    """
    before, after = np.asarray(before, np.float64), np.asarray(after, np.float64)
    if not before.shape == after.shape == np.shape(used):
        raise ValueError(
            f"α of shape {before.shape} before and {after.shape} after, used latents of shape {np.shape(used)}: "
            "must be one number per latent each."
        )
    error = math.sqrt(sum(1 / (2 * count) for count in images))
    change = np.abs(after - before)
    score = np.abs(np.sqrt(np.maximum(after, 0)) - np.sqrt(np.maximum(before, 0))) / error
    moved = np.asarray(used, bool) & (change >= MIN_ATYPICALITY_CHANGE) & (score >= MIN_SCORE)
    order = sorted(np.flatnonzero(moved).tolist(), key=lambda n: (-change[n], n))
    return tuple(LatentChange(n, float(before[n]), float(after[n])) for n in order)


def _latent_phrases(latents: tuple[LatentChange, ...]) -> list[str]:
    """Latents by the direction in which their atypicality moved."""
    groups: dict[str, list[int]] = {}
    for moved in latents:
        more = moved.after > moved.before
        crossed = max(moved.before, moved.after) >= _CROSSING * min(moved.before, moved.after)
        word = ("atypical" if more else "typical") if crossed else ("more atypical" if more else "less atypical")
        groups.setdefault(word, []).append(moved.latent)
    return [f"{_named(numbers)} became {word}" for word, numbers in groups.items()]


def _named(latents: list[int]) -> str:
    """Latents in a sentence: a few by their numbers, the others counted."""
    rest = len(latents) - _LISTED
    words = [str(n) for n in sorted(latents[:_LISTED])] if rest != 1 else [str(n) for n in sorted(latents)]
    if rest > 1:
        words.append(f"{rest} others")
    text = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
    return f"latent{'s' * (len(latents) > 1)} {text}"


def _moved_latent(latent: int, before: float | None, after: float | None) -> LatentChange:
    """From a row, which has None for an infinite α; NaN never counts as moved."""
    return LatentChange(latent, *(math.inf if alpha is None else alpha for alpha in (before, after)))


def _pack(images: UInt8[np.ndarray, "n C H W"]) -> PackedImages:
    packed = zlib.compress(images.tobytes(), 9)
    return {"shape": list(images.shape), "zlib": base64.b64encode(packed).decode()}


def _unpack(packed: PackedImages) -> UInt8[np.ndarray, "n C H W"]:
    try:
        values = np.frombuffer(zlib.decompress(base64.b64decode(packed["zlib"], validate=True)), np.uint8)
        return values.reshape(packed["shape"]).copy()
    except (binascii.Error, zlib.error, ValueError) as error:
        raise ValueError(f"example images of a change are damaged ({error}); use another copy of the row.") from error


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value
