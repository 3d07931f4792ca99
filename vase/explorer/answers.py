"""What a learner answers to the page's questions: plain values from arrays, nothing learnt, nothing remembered."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from PIL import Image

from vase.images import as_bytes, as_floats
from vase.learners.records import Inference
from vase.learners.representation import Representation
from vase.method.context import in_context
from vase.report.pictures import data_uri

SCALE = 4  # screen pixels of one pixel in an animation
FRAME = 90  # milliseconds

Picture = UInt8[np.ndarray, "C H W"]


def about(learner: Representation, image: Picture) -> dict[str, Any]:
    """An image: its code, the environment that it seems to come from, and itself in every environment."""
    mean, std = learner.posterior(image[None])
    found = learner.infer_environment(image[None])
    return {
        "picture": data_uri(image),
        "code": _numbers(mean[0]),
        "std": _numbers(std[0]),
        **explanation(found),
        "as": in_every_environment(learner, image),
    }


def explanation(found: Inference) -> dict[str, Any]:
    """Verdict, reasons and probabilities, ready for JSON; `posterior` ends with a new environment."""
    return {
        "verdict": found.verdict,
        "environment": likely_environment(found),
        "reasons": list(found.reasons),
        "posterior": _numbers(found.posterior),
        "probabilities": _numbers(found.probabilities),
        "p_values": _numbers(found.p_values),
        "effects": _numbers(found.effects),
    }


def likely_environment(found: Inference) -> int:
    """The environment that an image is decoded in: the one it fits, else the most probable one, else the nearest."""
    if found.environment is not None:
        return found.environment
    known = found.posterior[:-1]
    tied = np.flatnonzero(known == known.max())  # all of them, if none has any probability
    return int(tied[np.argmin(np.nan_to_num(found.effects[tied], nan=np.inf))])


def in_every_environment(learner: Representation, image: Float[np.ndarray, "C H W"] | Picture) -> list[dict[str, Any]]:
    """The image encoded, and decoded as each environment, with the root mean square of the difference."""
    code = learner.posterior(image[None])[0]
    decoded = [learner.decode(code, environment=s)[0] for s in range(len(learner.environments))]
    wanted = as_floats(image)
    return [
        {"picture": data_uri(one), "error": round(float(np.sqrt(np.square(one - wanted).mean())), 4)} for one in decoded
    ]


def mixed(
    learner: Representation,
    first: Picture,
    second: Picture,
    share: float,
    contexts: Mapping[int, Float[np.ndarray, "A K"]],
) -> dict[str, Any]:
    """Two images blended pixel by pixel: what the blend is taken for, alone and among images of each environment.

    A context is q(s|x) of its images, which does not change while people drag.
    """
    blend = (1 - share) * as_floats(first) + share * as_floats(second)
    alone = learner.infer_environment(blend[None])
    q = torch.from_numpy(alone.each)
    among = {str(s): _numbers(in_context(q, torch.from_numpy(others))[0]) for s, others in contexts.items()}
    return {
        "picture": data_uri(blend),
        "code": _numbers(learner.posterior(blend[None])[0][0]),
        **explanation(alone),
        "among": among,
        "as": in_every_environment(learner, blend),
    }


def decoded(
    learner: Representation, codes: Float[np.ndarray, "B N"], environments: Int[np.ndarray, " B"]
) -> UInt8[np.ndarray, "B H W C"]:
    """Codes as pixels, each in its own environment."""
    out: np.ndarray | None = None
    for s in np.unique(environments).tolist():
        rows = np.flatnonzero(environments == s)
        images = np.moveaxis(as_bytes(learner.decode(codes[rows], environment=s)), 1, -1)
        out = np.empty((len(codes), *images.shape[1:]), np.uint8) if out is None else out
        out[rows] = images
    if out is None:
        raise ValueError("no code: pass one row per picture.")
    return out


def animation(frames: Iterable[UInt8[np.ndarray, "M H W C"]], columns: int) -> bytes:
    """A GIF that runs for ever: of each frame, the pictures in rows of `columns`, with a gap between them."""
    pictures = [_tiled(frame, columns) for frame in frames]
    file = io.BytesIO()
    pictures[0].save(file, "GIF", save_all=True, append_images=pictures[1:], duration=FRAME, loop=0)
    return file.getvalue()


def _tiled(frame: UInt8[np.ndarray, "M H W C"], columns: int) -> Image.Image:
    count, height, width, depth = frame.shape
    rows = math.ceil(count / columns)
    sheet = np.full((rows * (height + 1) - 1, min(columns, count) * (width + 1) - 1, depth), 255, np.uint8)
    for i, picture in enumerate(frame):
        top, left = i // columns * (height + 1), i % columns * (width + 1)
        sheet[top : top + height, left : left + width] = picture
    image = Image.fromarray(sheet[..., 0] if depth == 1 else np.ascontiguousarray(sheet[..., :3]))
    return image.resize((SCALE * image.width, SCALE * image.height), Image.Resampling.NEAREST)


def _numbers(values: Iterable[float]) -> list[float | None]:
    """Numbers for JSON, which knows neither NaN nor infinity."""
    return [round(float(value), 5) if math.isfinite(value) else None for value in values]
