"""Conversions of images between uint8 in 0..255 and floats in [0, 1], NumPy and torch; errors say what is wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float32, UInt8
from PIL import Image
from torch import Tensor

from vase.resize import fit_images, say_framing

LAYOUTS = "(B,C,H,W), (B,H,W,C) or (B,H,W)"


def as_images(
    images: Any, shape: tuple[int, int, int], *, minimum: int = 1, device: torch.device | str = "cpu"
) -> Float[Tensor, "B C H W"]:
    """Check a batch of images and bring it to float32 in [0,1] with shape (B, *shape).

    Accepts NumPy or torch, uint8 or floating point in [0,1], any memory layout, in the shapes (B,C,H,W), (B,H,W,C),
    (B,H,W) or, as scikit-learn has them, (B, C·H·W); and lists of pictures of PIL. Images of another height and width
    are centre-cropped and resized by area; a line in the log says so, once for each size.
    """
    if not isinstance(images, np.ndarray | Tensor):
        images = _stacked(images, shape)
    x = images.detach() if isinstance(images, Tensor) else _to_tensor(images)
    if x.dtype != torch.uint8 and not x.dtype.is_floating_point:
        raise TypeError(
            f"images of dtype {str(x.dtype).removeprefix('torch.')}: pass uint8 in 0..255 or floats in [0, 1] "
            f"(for example images.astype({'float32' if x.dtype == torch.bool else 'uint8'!r}))."
        )
    x = _arrange(x, shape)
    if len(x) < minimum:
        what = "an empty batch" if len(x) == 0 else f"a batch of {len(x)} image{'s' * (len(x) > 1)}"
        why = "atypicality (Eq. 4) is a statistic over the batch; collect more images before learning"
        raise ValueError(f"{what}: at least {minimum} needed" + (f" ({why})." if minimum > 1 else "."))
    if x.dtype == torch.uint8:
        return x.to(device=device, dtype=torch.float32) / 255
    x = x.to(device=device, dtype=torch.float32, copy=True)  # a held batch outlives the caller's buffer
    if not bool(torch.isfinite(x).all()):
        bad = int((~torch.isfinite(x)).flatten(1).any(1).sum())
        raise ValueError(f"{bad} of {len(x)} images contain NaN or infinity: clean them before learning.")
    low, high = float(x.min()), float(x.max())
    if low < 0 or high > 1:
        remedy = "divide by 255 or pass uint8" if high > 1.5 and low >= 0 else "rescale them, e.g. (x + 1) / 2 or clip"
        raise ValueError(f"image values from {low:g} to {high:g}: must lie in [0, 1]; {remedy}.")
    return x


def _to_tensor(images: np.ndarray) -> Tensor:
    if images.dtype.kind not in "biufc" or (images.dtype.kind == "f" and images.dtype.itemsize > 8):
        raise TypeError(f"images of dtype {images.dtype}: pass one rectangular array of numbers, {LAYOUTS}.")
    if images.dtype == np.bool_:
        return torch.from_numpy(np.ascontiguousarray(images))
    if not images.dtype.isnative:
        images = images.astype(images.dtype.newbyteorder("="))
    if images.dtype.kind == "u" and images.dtype != np.uint8:
        raise TypeError(f"images of dtype {images.dtype}: pass uint8 in 0..255 or floats in [0, 1].")
    return torch.from_numpy(np.array(images, order="C"))


def _stacked(images: Any, shape: tuple[int, int, int]) -> np.ndarray:
    """Lists and arrays of other libraries; pictures of PIL get the learner's channels, and its size if need be."""
    if isinstance(images, list | tuple) and images and all(isinstance(image, Image.Image) for image in images):
        mode = {1: "L", 3: "RGB", 4: "RGBA"}.get(shape[0], "RGB")
        images = [np.asarray(image.convert(mode)) for image in images]
        if len({image.shape for image in images}) > 1:
            images = [_resized(torch.from_numpy(image[None].copy()), shape)[0].numpy() for image in images]
    if hasattr(images, "tocsr"):
        raise TypeError("a sparse matrix: sparse input is not supported; pass images.toarray().")
    try:
        return np.asarray(images)
    except (TypeError, ValueError) as error:
        raise TypeError(f"images of type {type(images).__name__}: pass a NumPy array or a torch tensor.") from error


def _arrange(x: Tensor, shape: tuple[int, int, int]) -> Tensor:
    """Images of the right layout and size."""
    c, h, w = shape
    if x.ndim == 4 and x.shape[1:] == (c, h, w):
        return x.contiguous()
    if x.ndim == 4 and x.shape[1:] == (h, w, c):
        return x.permute(0, 3, 1, 2).contiguous()
    if x.ndim == 3 and c == 1 and x.shape[1:] == (h, w):
        return x[:, None].contiguous()
    if x.ndim == 2 and x.shape[1] == c * h * w:
        return x.reshape(-1, c, h, w).contiguous()
    return _resized(x, shape)


def _resized(x: Tensor, shape: tuple[int, int, int]) -> Tensor:
    c, h, w = shape
    if 0 in x.shape or not ((x.ndim == 4 and c in (x.shape[1], x.shape[3])) or (x.ndim == 3 and c == 1)):
        raise ValueError(
            f"images of shape {tuple(x.shape)}: this learner takes {LAYOUTS} with C = {c}, "
            f"and has C,H,W = {c},{h},{w}; convert them, or build the learner with another image_shape{_hint(x, c)}."
        )
    if x.ndim == 3:
        x = x[:, None]
    elif x.shape[1] != c:
        x = x.permute(0, 3, 1, 2)
    say_framing((x.shape[2], x.shape[3]), (h, w), "crop")
    pixels = x.cpu().numpy() if x.dtype == torch.uint8 else x.float().cpu().numpy()
    return torch.from_numpy(np.ascontiguousarray(fit_images(pixels, (h, w)))).to(x.device)


def _hint(x: Tensor, channels: int) -> str:
    """For flat rows of square images, the shape to build.

    >>> _hint(torch.zeros(5, 64), 1), _hint(torch.zeros(5, 65), 1)
    (' (rows of 64 values: VASEConfig.laptop((1, 8, 8)))', '')
    """
    size = x.shape[1] if x.ndim == 2 else 0
    side = math.isqrt(size // channels)
    flat = size > 0 and channels * side**2 == size
    return f" (rows of {size} values: VASEConfig.laptop(({channels}, {side}, {side})))" if flat else ""


def as_pixels(images: np.ndarray) -> UInt8[np.ndarray, "*shape"]:
    """Images of a user as uint8 0..255; NaN, infinity and values out of range are refused by name."""
    if images.dtype == np.uint8:
        return images
    if images.dtype == np.bool_:
        return images.astype(np.uint8) * np.uint8(255)
    kind = images.dtype.kind
    if kind not in "iuf":
        raise TypeError(f"images have dtype {images.dtype}: must be uint8 or floats in [0, 1]; convert them first")
    top = 1 if kind == "f" else 255
    wrong = ~((images >= 0) & (images <= top))  # NaN compares false
    if wrong.any():
        raise ValueError(
            f"images hold the value {images[wrong][0]}: {'floats' if top == 1 else 'whole numbers'} must lie in "
            f"[0, {top}]; rescale or clip them"
        )
    return np.rint(images.astype(np.float64) * 255).astype(np.uint8) if kind == "f" else images.astype(np.uint8)


def as_bytes(images: Float[np.ndarray, "..."] | UInt8[np.ndarray, "..."]) -> UInt8[np.ndarray, "..."]:
    """Images of a learner as they are stored: [0, 1] becomes 0..255, values beyond are clipped."""
    array = np.asarray(images)
    return array if array.dtype == np.uint8 else np.rint(255 * np.clip(array, 0, 1)).astype(np.uint8)


def as_floats(images: np.ndarray) -> Float32[np.ndarray, "..."]:
    """Images as float32 in [0, 1]: uint8 is divided by 255, floats keep their values."""
    array = np.asarray(images)
    return array.astype(np.float32) / np.float32(255) if array.dtype == np.uint8 else array.astype(np.float32)
