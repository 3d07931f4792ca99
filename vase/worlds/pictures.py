"""One picture of a file as a learner should see it: upright, opaque, 8 bits per channel, and of a bearable size."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import BinaryIO

import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageOps

MAX_PIXELS = 64_000_000  # of a picture that is decoded: 192 MB in colour
REMEDY = "; repair or remove it"
"""What a message says of a file that cannot be read; a frame of a stream has no file."""
_MODES = frozenset({"1", "L", "LA", "La", "P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr", "LAB", "HSV"})


def read_picture(
    file: Path | BinaryIO,
    mode: str | None = None,
    least: tuple[int, int] | None = None,
    *,
    most: int = MAX_PIXELS,
) -> Image.Image:
    """Read one picture in a mode of PIL, by default L if it is grey, else RGB.

    It is turned as its EXIF orientation says. What is transparent is shown on white. One of more than ``most`` pixels
    is refused before it is decoded. A picture that will be shrunk to ``least``, height and width, is decoded at a whole
    fraction of its size, of area averages: faster, and smaller.
    """
    try:
        with warnings.catch_warnings(action="ignore"), Image.open(file) as opened:  # of a size we check, of metadata
            if opened.width * opened.height > most:
                raise ValueError(f"it has {opened.width}×{opened.height} pixels, more than {most:,}; shrink it")
            if opened.mode not in _MODES:
                raise ValueError(f"it has mode {opened.mode}, save it with 8 bits per channel")
            if least is not None:
                opened.draft(None, (2 * max(least), 2 * max(least)))  # JPEG alone can; elsewhere it does nothing
            picture = ImageOps.exif_transpose(opened)
            grey = picture.mode in {"1", "L", "LA", "La"}
            picture = _on_white(picture).convert(mode or ("L" if grey else "RGB"))
    except MemoryError:
        raise
    except Exception as error:  # decoders of damaged files raise anything
        name = f"picture {str(file)!r}" if isinstance(file, Path) else "a picture"
        raise ValueError(f"{name} cannot be read ({error}){REMEDY}") from error
    factor = 1 if least is None else min(picture.height // (2 * least[0]), picture.width // (2 * least[1]))
    return picture.reduce(factor) if factor > 1 else picture


def as_planes(picture: Image.Image, channels: int) -> UInt8[np.ndarray, "C H W"]:
    """The pixels of a picture in grey (1 channel) or colour (3)."""
    pixels = np.asarray(picture.convert("L" if channels == 1 else "RGB"))
    return pixels[None] if channels == 1 else np.moveaxis(pixels, 2, 0)


def _on_white(picture: Image.Image) -> Image.Image:
    """A picture without transparency; one that would be nothing but white is refused."""
    if not picture.has_transparency_data:
        return picture
    layer = picture.convert("RGBA")
    flat = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer).convert("RGB")
    alpha = layer.getchannel("A").histogram()
    partly = alpha[255] < layer.width * layer.height and sum(alpha[1:]) > 0
    if partly and flat.convert("L").getextrema() == (255, 255):
        raise ValueError("it is white on transparent, save it on a dark background")
    return flat
