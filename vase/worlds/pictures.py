"""One picture of a file as a learner should see it: upright, opaque, 8 bits per channel, and of a bearable size."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import BinaryIO

from PIL import Image, ImageOps

MAX_PIXELS = 64_000_000  # of a picture that is decoded: 192 MB in colour
_MODES = frozenset({"1", "L", "LA", "La", "P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr", "LAB", "HSV"})


def read_picture(
    file: Path | BinaryIO, mode: str | None = None, size: int | None = None, *, most: int = MAX_PIXELS
) -> Image.Image:
    """Read one picture in a mode of PIL, by default L if it is grey, else RGB; as a square of ``size`` if given.

    It is turned as its EXIF orientation says. What is transparent is shown on white. One of more than ``most`` pixels
    is refused before it is decoded.
    """
    try:
        with warnings.catch_warnings(action="ignore", category=Image.DecompressionBombWarning):
            opened = Image.open(file)
        with opened:
            if opened.width * opened.height > most:
                raise ValueError(f"it has {opened.width}×{opened.height} pixels, more than {most:,}; shrink it")
            if opened.mode not in _MODES:
                raise ValueError(f"it has mode {opened.mode}, save it with 8 bits per channel")
            picture = ImageOps.exif_transpose(opened)
            grey = picture.mode in {"1", "L", "LA", "La"}
            picture = _on_white(picture).convert(mode or ("L" if grey else "RGB"))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        name = f"picture {str(file)!r}" if isinstance(file, Path) else "a picture"
        raise ValueError(f"{name} cannot be read ({error}); repair it or take it away") from error
    return picture if size is None else picture.resize((size, size), Image.Resampling.BILINEAR)


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
