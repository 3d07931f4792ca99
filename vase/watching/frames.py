"""What a source hands out: frames, broken frames and notices; and how a frame becomes an image of a learner."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float32, UInt8

from vase.worlds.resize import weights

Framing = Literal["letterbox", "crop"]
"""What becomes of a frame with another aspect ratio: black bars are added, or its edges are cut off."""
FRAMINGS: tuple[str, ...] = get_args(Framing)
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # ITU-R BT.601, as in PIL


@dataclass(frozen=True, eq=False)
class Frame:
    """One picture of a source."""

    pixels: UInt8[np.ndarray, "H W"] | UInt8[np.ndarray, "H W 3"]
    label: str
    """Which frame it is: the name of a file, or "frame 17"."""
    time: str | float | None = None
    """Seconds since the start of a video, or the date of a file or of a live frame."""


@dataclass(frozen=True)
class Broken:
    """A frame that could not be read; it is counted and passed over."""

    label: str
    reason: str


@dataclass(frozen=True)
class Notice:
    """What happened to the source: it was lost, it is back, it is still being waited for."""

    event: Literal["lost", "back"]
    text: str


Event = Frame | Broken | Notice


def fit_frame(
    pixels: UInt8[np.ndarray, "H W"] | UInt8[np.ndarray, "H W 3"], shape: tuple[int, int, int], framing: Framing
) -> UInt8[np.ndarray, "C height width"]:
    """Bring a frame of any size to the shape of a learner's images, by area and without distorting it.

    "letterbox" keeps all of it between black bars, "crop" the largest centred part with the aspect ratio of the shape.
    """
    channels, height, width = shape
    image = pixels if pixels.ndim == 3 else pixels[:, :, None]
    if framing == "crop":
        top, left, tall, wide = _centred(image.shape[:2], (height, width))
        image, inner = image[top : top + tall, left : left + wide], (height, width)
    else:
        inner = _centred((height, width), image.shape[:2])[2:]
    small = _resized(image, inner)
    if channels == 1 and small.shape[2] == 3:
        small = (small @ _LUMA)[:, :, None]
    out = np.zeros((height, width, channels), np.uint8)
    top, left = (height - inner[0]) // 2, (width - inner[1]) // 2
    out[top : top + inner[0], left : left + inner[1]] = np.clip(np.rint(small), 0, 255)
    return np.ascontiguousarray(np.moveaxis(out, 2, 0))


def _centred(sides: tuple[int, ...], aspect: tuple[int, ...]) -> tuple[int, int, int, int]:
    """Top, left, height and width of the largest centred part of a rectangle with an aspect ratio."""
    (height, width), (h, w) = sides, aspect
    if width * h > height * w:
        tall, wide = height, max(1, round(height * w / h))
    else:
        tall, wide = max(1, round(width * h / w)), width
    return (height - tall) // 2, (width - wide) // 2, tall, wide


def _resized(image: UInt8[np.ndarray, "H W c"], size: tuple[int, int]) -> Float32[np.ndarray, "h w c"]:
    height, width, channels = image.shape
    rows, columns = _weights(height, size[0]), _weights(width, size[1])
    low = rows @ image.reshape(height, width * channels).astype(np.float32)
    return np.asarray(columns @ low.reshape(size[0], width, channels), np.float32)


@functools.lru_cache(16)
def _weights(source: int, target: int) -> Float32[np.ndarray, "target source"]:
    return weights(source, target)
