"""What a source hands out: frames, broken frames and notices; and how a frame becomes an image of a learner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from vase.resize import Framing, fit_images
from vase.worlds.pictures import as_planes

FRAMINGS: tuple[str, ...] = get_args(Framing)


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
    """Bring a frame of any size to the shape of a learner's images, by area and without distorting it."""
    channels, *sides = shape
    planes = as_planes(Image.fromarray(pixels), channels)
    fitted: UInt8[np.ndarray, "1 C height width"] = fit_images(planes[None], (sides[0], sides[1]), framing)
    return np.ascontiguousarray(fitted[0])
