"""The page's questions, checked: whatever JSON arrives becomes arrays of the right form, or an error that says why."""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int, UInt8
from PIL import Image, ImageOps

from vase.worlds.pictures import read_picture

MOST_PIXELS = 25_000_000  # of a picture that somebody drops: a large photograph
MOST_CODES = 1_024  # of one request
MOST_LETTERS = 60  # of a latent's name
_PNG = "data:image/png;base64,"

Shape = tuple[int, int, int]


def picture_of_file(data: bytes, shape: Shape) -> UInt8[np.ndarray, "C H W"]:
    """A picture of any format as an image of a learner: its middle, as large as possible, shrunk or enlarged."""
    channels, height, width = shape
    picture = read_picture(io.BytesIO(data), "L" if channels == 1 else "RGB", most=MOST_PIXELS)
    return _array(ImageOps.fit(picture, (width, height), Image.Resampling.BILINEAR), channels)


def image(question: Mapping[str, Any], name: str, shape: Shape) -> UInt8[np.ndarray, "C H W"]:
    """An image that the page has got from here before: a PNG in a data: address, of the learner's own size."""
    text = question.get(name)
    if not isinstance(text, str) or not text.startswith(_PNG):
        raise ValueError(f"{name}: must be a PNG in a data: address.")
    try:
        file = io.BytesIO(base64.b64decode(text.removeprefix(_PNG), validate=True))
    except binascii.Error as error:
        raise ValueError(f"{name}: not base64 ({error}).") from error
    channels, height, width = shape
    found = read_picture(file, "L" if channels == 1 else "RGB", most=height * width)
    if found.size != (width, height):
        raise ValueError(f"{name}: {found.width}×{found.height} pixels, and this learner takes {width}×{height}.")
    return _array(found, channels)


def codes(value: Any, latents: int) -> Float[np.ndarray, "B N"]:
    """One code per row, finite numbers."""
    try:
        found = np.asarray(value, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"codes: one row of {latents} numbers per picture ({error}).") from error
    if found.ndim != 2 or found.shape[1] != latents or not 1 <= len(found) <= MOST_CODES:
        raise ValueError(f"codes of shape {found.shape}: must be (B, {latents}), B from 1 to {MOST_CODES:,}.")
    if not (np.abs(found) <= 1e6).all():  # NaN compares false
        raise ValueError("codes: must be finite and not beyond a million.")
    return found.astype(np.float32)


def environments(value: Any, count: int, known: int) -> Int[np.ndarray, " B"]:
    """The environment of each code; one number stands for all."""
    listed = value if isinstance(value, list) else [value] * count
    if len(listed) != count or not all(type(s) is int and 0 <= s < known for s in listed):
        raise ValueError(f"environments: {count} whole numbers from 0 to {known - 1}, or one for all.")
    return np.array(listed, np.int64)


def number(question: Mapping[str, Any], name: str, low: float, high: float) -> float:
    """A number in a range."""
    value = question.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise ValueError(f"{name} = {value!r}: must be a number from {low:g} to {high:g}.")
    return value


def latent_names(question: Mapping[str, Any], latents: int) -> dict[int, str]:
    """Names by latent; an empty name is none."""
    value, found = question.get("names"), {}
    if not isinstance(value, dict):
        raise ValueError("names: an object of names by latent.")
    for latent, name in value.items():
        if not (latent.isdecimal() and len(latent) < 6 and int(latent) < latents):
            raise ValueError(f"latent {latent[:20]!r}: there are latents 0 to {latents - 1}.")
        if not isinstance(name, str) or len(name) > MOST_LETTERS or not name.isprintable():
            raise ValueError(f"name of latent {latent}: at most {MOST_LETTERS} printable letters.")
        if name.strip():
            found[int(latent)] = name.strip()
    return found


def _array(picture: Image.Image, channels: int) -> UInt8[np.ndarray, "C H W"]:
    array = np.asarray(picture)
    return array[None].copy() if channels == 1 else np.moveaxis(array, -1, 0).copy()
