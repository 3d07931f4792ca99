"""Resizing of image stacks to any height and width: area averages when shrinking, linear interpolation when enlarging.

Pictures of another aspect ratio are centre-cropped or letterboxed, never distorted.
"""

from __future__ import annotations

import logging
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float, Float32, UInt8

Framing = Literal["crop", "letterbox"]
"""What becomes of a picture with another aspect ratio: its edges are cut off, or black bars are added."""
_CHUNK = 2**24  # pixels that are resized at a time
SIDE = 64
"""The longer side, in pixels, that images are brought to unless told: the paper's."""
_log = logging.getLogger("vase.images")
_said: set[tuple[tuple[int, int], Framing, bool]] = set()


def weights(source: int, target: int) -> Float32[np.ndarray, "target source"]:
    """Return the matrix that resizes one axis; every row sums to 1, so a constant image stays constant."""
    if target >= source:
        centres = np.clip((np.arange(target) + 0.5) * source / target - 0.5, 0, source - 1)
        matrix = np.maximum(0, 1 - np.abs(centres[:, None] - np.arange(source)[None, :]))
    else:
        edges = np.arange(target + 1) * source / target
        left, right = np.arange(source), np.arange(source) + 1
        matrix = np.clip(np.minimum(edges[1:, None], right) - np.maximum(edges[:-1, None], left), 0, None)
    return (matrix / matrix.sum(axis=1, keepdims=True)).astype(np.float32)


def resize(images: np.ndarray, size: int | tuple[int, int]) -> UInt8[np.ndarray, "N height width"]:
    """Resize grey images (N, H, W) with values in [0, 255] to ``size``: one side of a square, or (height, width)."""
    if images.dtype == np.uint8 and images.shape[1:] == _sides(size):
        return np.array(images)
    return np.clip(np.rint(_resized(images, _sides(size))), 0, 255).astype(np.uint8)


def fit_images(
    images: UInt8[np.ndarray, "N C H W"] | Float[np.ndarray, "N C H W"],
    size: int | tuple[int, int],
    framing: Framing = "crop",
) -> UInt8[np.ndarray, "N C height width"] | Float32[np.ndarray, "N C height width"]:
    """Bring images to ``size`` without distorting them; uint8 stays uint8, floats become float32.

    "crop" keeps the largest centred part that has the aspect ratio of ``size``; "letterbox" keeps all, between black
    bars.
    """
    require_framing(framing)
    (n, c, height, width), (h, w) = images.shape, _sides(size)
    if (height, width) == (h, w):
        return images
    if framing == "crop":
        top, left, tall, wide = crop_box((height, width), (h, w))
        images, inner = images[:, :, top : top + tall, left : left + wide], (h, w)
    else:
        inner = crop_box((h, w), (height, width))[2:]
    planes = np.ascontiguousarray(images).reshape(n * c, *images.shape[2:])
    small = resize(planes, inner) if images.dtype == np.uint8 else _resized(planes, inner)
    if images.dtype != np.uint8 and n:
        bounds = np.float32(planes.min()), np.float32(planes.max())
        small = np.clip(small, *bounds)  # what rounding adds to an average
    small = small.reshape(n, c, *inner)
    if inner == (h, w):
        return small
    top, left = (h - inner[0]) // 2, (w - inner[1]) // 2
    return np.pad(small, ((0, 0), (0, 0), (top, h - inner[0] - top), (left, w - inner[1] - left)))


def crop_box(sides: tuple[int, int], aspect: tuple[int, int]) -> tuple[int, int, int, int]:
    """Top, left, height and width of the largest centred part of an image that has the aspect ratio of ``aspect``.

    >>> crop_box((480, 640), (1, 1))
    (0, 80, 480, 480)
    """
    (height, width), (h, w) = sides, aspect
    tall, wide = (
        (height, max(1, round(height * w / h))) if width * h > height * w else (max(1, round(width * h / w)), width)
    )
    return (height - tall) // 2, (width - wide) // 2, tall, wide


def framing_words(source: tuple[int, int], size: tuple[int, int], framing: Framing) -> str:
    """What happens to an image on its way to another size, in words.

    >>> framing_words((480, 640), (32, 32), "crop")
    'resized from 480×640 to 32×32 (height×width) by area; 25 % of the picture, at the left and right, is cut off'
    """
    said = f"resized from {source[0]}×{source[1]} to {size[0]}×{size[1]} (height×width) by area"
    lost, too_wide = cut_off(source, size), crop_box(source, size)[2] == source[0]
    if not lost:
        return said
    if framing == "letterbox":
        return f"{said}, with black bars at the {'top and bottom' if too_wide else 'left and right'}"
    where = "left and right" if too_wide else "top and bottom"
    return f"{said}; {100 * lost:.0f} % of the picture, at the {where}, is cut off"


def suggested_sides(height: int, width: int) -> tuple[int, int]:
    """Height and width of about the same aspect ratio whose longer side is that of the paper's images.

    >>> suggested_sides(480, 640)
    (48, 64)
    """
    scale = min(1.0, SIDE / max(height, width))
    return max(1, round(scale * height)), max(1, round(scale * width))


def cut_off(source: tuple[int, int], size: tuple[int, int]) -> float:
    """The share of a picture that a crop to the aspect ratio of ``size`` loses; rounding to whole pixels is no loss."""
    _, _, tall, wide = crop_box(source, size)
    lost = 1 - tall * wide / (source[0] * source[1])
    return lost if lost > 0.01 else 0.0


def say_framing(source: tuple[int, int], size: tuple[int, int], framing: Framing) -> None:
    """Log what happens to images, once for each size that they get; as a warning if a part of them is lost."""
    lost = framing == "crop" and cut_off(source, size) > 0
    if (size, framing, lost) not in _said:
        _said.add((size, framing, lost))
        words = framing_words(source, size, framing)
        _log.log(logging.WARNING if lost else logging.INFO, "images are %s", words)


def require_framing(framing: str) -> None:
    """Refuse an unknown way to frame pictures."""
    if framing not in get_args(Framing):
        raise ValueError(f"framing = {framing!r}: must be 'crop' or 'letterbox'; 'crop' cuts edges off")


def _sides(size: int | tuple[int, int]) -> tuple[int, int]:
    return size if isinstance(size, tuple) else (size, size)


def _resized(images: np.ndarray, size: tuple[int, int]) -> Float32[np.ndarray, "N height width"]:
    (n, height, width), (h, w) = images.shape, size
    rows, columns = weights(height, h), weights(width, w).T
    out = np.empty((n, h, w), np.float32)
    chunk = max(1, min(4096, _CHUNK // (height * width)))
    for start in range(0, n, chunk):
        part = images[start : start + chunk].astype(np.float32)
        half = (part.reshape(-1, width) @ columns).reshape(-1, height, w)
        out[start : start + chunk] = rows @ half
    return out
