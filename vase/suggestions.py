"""Which configuration suits some images, with the reasons in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from vase.resize import SIDE, fit_images, suggested_sides

LOOK_AT = 512
"""Images that are looked at."""
GRID = 24
"""Longer side, in pixels, of the images whose variance is analysed."""
EXTREME = 0.1
"""Pixels nearer than this to black or white count as one of them."""
C_MAX = (20.0, 60.0)
LATENTS = (16, 32)
"""What C_max and the number of latents are kept between: the paper has 20 to 35 nats and 24 latents."""


@dataclass(frozen=True)
class Suggestion:
    """Values of fields of a `VASEConfig`, and why."""

    values: dict[str, Any]
    reasons: tuple[str, ...]


def suggest(images: Any, *, resize: bool = True) -> Suggestion:
    """Size, likelihood, latents and capacity for some images of each world that a learner is going to see.

    Args:
      images: (N,H,W), (N,C,H,W) or (N,H,W,C), uint8 or floats in [0, 1]; or a world, or anything that has `.images`.
        Of a list of worlds, the one whose images vary most decides latents and capacity: a code need not tell worlds
        apart.
      resize: also suggest a size; False if it is settled.
    """
    worlds = _by_world(images)
    x = np.concatenate(worlds)
    parts = (*([_size(x)] if resize else []), _likelihood(x), _capacity(worlds), _detection(len(x)))
    values: dict[str, Any] = {}
    for part in parts:
        values |= part.values
    return Suggestion(values, tuple(reason for part in parts for reason in part.reasons))


def code_size(images: Float[np.ndarray, "N C H W"], keep: float) -> tuple[float, int]:
    """Nats and directions of the shortest linear code that keeps a share of the variance of images.

    Reverse water-filling: with noise θ in every direction of variance λ > θ, the rate is Σ ½ log(λ/θ).
    """
    flat = images.reshape(len(images), -1).astype(np.float64)
    spread = np.linalg.svd(flat - flat.mean(0), compute_uv=False) ** 2 / len(flat)
    spread = spread[spread > 1e-12 * max(1.0, spread[0])]
    if not len(spread):
        return 0.0, 0
    low, high = 0.0, float(spread[0])
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if np.minimum(spread, middle).sum() > (1 - keep) * spread.sum() else (middle, high)
    coded = spread[spread > high]
    return float(0.5 * np.log(coded / high).sum()), len(coded)


def _size(x: Float[np.ndarray, "N C H W"]) -> Suggestion:
    c, height, width = x.shape[1:]
    rows, columns = suggested_sides(height, width)
    if (rows, columns) == (height, width):
        why = f"they are {height}×{width}, small enough to be learnt as they are"
    else:
        times = height * width / (rows * columns)
        why = f"{height}×{width} would cost {times:.0f} times as much, and shapes can be told from {SIDE} pixels"
    return Suggestion({"image_shape": (c, rows, columns)}, (f"image_shape = {c}×{rows}×{columns}: {why}.",))


def _likelihood(x: Float[np.ndarray, "N C H W"]) -> Suggestion:
    extreme = float(np.mean((x < EXTREME) | (x > 1 - EXTREME)))
    name = "bernoulli" if extreme > 0.5 else "gaussian"
    kind = "drawings, for which" if extreme > 0.5 else "shades, for which"
    rule = "each pixel is nearly on or off" if extreme > 0.5 else "the squared error is the better measure"
    why = f"{100 * extreme:.0f} % of the values are nearly black or white: {kind} {rule}"
    return Suggestion({"network.likelihood": name}, (f"network.likelihood = {name}: {why}.",))


def _capacity(worlds: Sequence[Float[np.ndarray, "N C H W"]]) -> Suggestion:
    small = [_shrunk(x) for x in worlds]
    nats = max(code_size(x, 0.95)[0] for x in small)
    directions = max(code_size(x, 0.8)[1] for x in small)
    c_max = round(float(np.clip(nats, *C_MAX)))
    latents = int(np.clip(directions, *LATENTS))
    return Suggestion(
        {"capacity.c_max": float(c_max), "network.latents": latents},
        (
            f"capacity.c_max = {c_max}: a linear code of 95 % of their variance takes {nats:.0f} nats "
            f"(kept between {C_MAX[0]:.0f} and {C_MAX[1]:.0f}; a network needs fewer).",
            f"network.latents = {latents}: 80 % of the variance has {directions} direction{'s' * (directions != 1)} "
            f"(kept between {LATENTS[0]} and {LATENTS[1]}; worlds to come need spare ones).",
        ),
    )


def _shrunk(x: Float[np.ndarray, "N C H W"]) -> Float[np.ndarray, "N C h w"]:
    scale = GRID / max(x.shape[2:])
    return fit_images(x, (max(1, round(scale * x.shape[2])), max(1, round(scale * x.shape[3])))) if scale < 1 else x


def _detection(n: int) -> Suggestion:
    values = {"environments.inference": "calibrated"}
    reasons = [
        "environments.inference = calibrated: the tests measure their own spread, so that no κ has to be found; "
        "environments.false_alarm_every is the only number to choose."
    ]
    if n < LOOK_AT // 4:
        reasons.append(f"Only {n} images were seen: show a few hundred for a better guess.")
    return Suggestion(values, tuple(reasons))


def _by_world(images: Any) -> list[Float[np.ndarray, "N C H W"]]:
    """Some images of each world, none twice where a world can tell; what is no world counts as one."""
    worlds = images if isinstance(images, list | tuple) else [images]
    if not worlds or not all(hasattr(world, "sample") and hasattr(world, "image_shape") for world in worlds):
        return [_floats(images)]
    if len(shapes := {tuple(world.image_shape) for world in worlds}) > 1:
        raise ValueError(f"worlds with images of shapes {sorted(shapes)}: one learner needs one shape; resize them.")
    each, rng = math.ceil(LOOK_AT / len(worlds)), np.random.default_rng(0)
    return [_floats(getattr(world, "sample_distinct", world.sample)(each, rng)) for world in worlds]


def _floats(images: Any) -> Float[np.ndarray, "N C H W"]:
    """Some of the images, in [0, 1] with channels first."""
    array = np.asarray(getattr(images, "images", images))
    if array.ndim == 3:
        array = array[:, None]
    elif array.ndim == 4 and array.shape[1] > 4:
        array = np.moveaxis(array, 3, 1)
    if array.ndim != 4 or 0 in array.shape or array.shape[1] > 4 or array.dtype.kind not in "uf":
        found = f"images of shape {array.shape} and dtype {array.dtype}"
        raise ValueError(f"{found}: pass (N,H,W), (N,C,H,W) or (N,H,W,C), uint8 or floats in [0, 1].")
    chosen = array[np.random.default_rng(0).permutation(len(array))[:LOOK_AT]]
    x = (chosen / 255 if array.dtype == np.uint8 else chosen).astype(np.float32)
    if not bool(((x >= 0) & (x <= 1)).all()):
        raise ValueError(f"image values from {x.min():g} to {x.max():g}: must lie in [0, 1]; rescale or clip them.")
    return x
