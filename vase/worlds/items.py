"""Where the images are in what data loaders, datasets and generators hand out."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8
from PIL import Image

from vase.images import as_floats, as_pixels
from vase.resize import Framing, fit_images, say_framing
from vase.worlds.pictures import as_planes

COLUMNS = ("image", "images", "img", "pixel_values", "x", "data", "input", "inputs", "features")
"""Where a dictionary has its images, unless told."""
LABELS = ("label", "labels", "y", "target", "targets", "fine_label", "class")
Planes = UInt8[np.ndarray, "N C H W"] | Float[np.ndarray, "N C H W"]


def images_in(item: Any, column: str | None = None) -> Any:
    """The images of one item: of a batch with `.images`, a dictionary, or a tuple (x, y, ...); else the item itself.

    A list is a batch of pictures, except what a DataLoader makes of tuples: [x, y], in which x is a batch already.
    """
    if isinstance(item, Mapping):
        if {"bytes", "path"} >= item.keys() and item.get("bytes") is not None:  # an undecoded picture
            return Image.open(io.BytesIO(item["bytes"]))
        return images_in(item[_column(item, column)])
    if hasattr(item, "images"):
        return item.images
    if isinstance(item, tuple) and item and _is_array(item[0]):
        return item[0]
    if isinstance(item, list) and item and _ndim(item[0]) >= 4:
        return item[0]
    return item


def label_in(item: Any) -> int | None:
    """The label of one item, if it has a whole number as its label."""
    value: Any = item[1] if isinstance(item, tuple | list) and len(item) > 1 else None
    if isinstance(item, Mapping):
        value = next((item[name] for name in LABELS if name in item), None)
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def planes_of(images: Any, shape: tuple[int, int, int], framing: Framing = "crop") -> tuple[Planes, bool]:
    """Images (N, *shape) of whatever an item holds, and whether it was a batch rather than a single image.

    Pictures of PIL are converted to grey or colour; arrays must have the channels. Three axes are a batch only where
    they cannot be one image: (H, W) with channels first or last.
    """
    if isinstance(images, list | tuple):
        parts = [planes_of(image, shape, framing)[0] for image in images]
        if not parts:
            return np.zeros((0, *shape), np.uint8), True
        return joined(parts), True
    if isinstance(images, Image.Image):
        if shape[0] not in (1, 3):
            raise ValueError(f"a picture for a learner of {shape[0]} channels: must be 1 (grey) or 3 (colour)")
        return _fitted(as_planes(images, shape[0])[None], shape, framing), False
    array = numpy_of(images)
    c, single = shape[0], True
    if array.ndim == 4:
        single, stack = False, array if array.shape[1] == c else np.moveaxis(array, 3, 1)
    elif array.ndim == 3 and array.shape[0] == c:
        stack = array[None]
    elif array.ndim == 3 and array.shape[2] == c:
        stack = np.moveaxis(array, 2, 0)[None]
    elif array.ndim == 3 and c == 1:
        single, stack = False, array[:, None]
    else:
        stack = array[None, None]
    if stack.ndim != 4 or stack.shape[1] != c or 0 in stack.shape:
        raise ValueError(
            f"an image of shape {array.shape}: must have {c} channel{'s' * (c > 1)}, first or last; convert it, or "
            "build the learner with another image_shape"
        )
    return _fitted(stack, shape, framing), not single


def joined(parts: Iterable[Planes]) -> Planes:
    """Several batches as one; whole numbers and floats become floats."""
    parts = list(parts)
    return np.concatenate(parts if len({part.dtype for part in parts}) == 1 else [as_floats(part) for part in parts])


def elements(source: Any) -> Iterator[Any]:
    """The items of a source: an iterable, a dataset with length and index, or an experience with a `dataset`.

    Streams of experiences, as Avalanche has them, are gone through one after the other.
    """
    if not hasattr(source, "__iter__"):
        if hasattr(source, "dataset"):
            source = source.dataset
        if not hasattr(source, "__iter__") and hasattr(source, "__getitem__") and hasattr(source, "__len__"):
            yield from (source[i] for i in range(len(source)))
            return
    if not isinstance(source, Iterable) or isinstance(source, str | bytes | Mapping) or hasattr(source, "tocsr"):
        rule = "sparse input is not supported; " if hasattr(source, "tocsr") else ""
        raise TypeError(f"a stream of type {type(source).__name__}: {rule}pass an array or an iterable of batches.")
    for item in source:
        if hasattr(item, "dataset") and not hasattr(item, "__getitem__") and not hasattr(item, "images"):
            yield from elements(item)
        else:
            yield item


def numpy_of(values: Any) -> np.ndarray:
    """Anything as a NumPy array, torch tensors without importing torch; images as uint8 or floats."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = (values.float() if values.dtype.is_floating_point else values).numpy()  # NumPy has no bfloat16
    return np.asarray(values)


def _fitted(images: np.ndarray, shape: tuple[int, int, int], framing: Framing) -> Planes:
    if images.dtype.kind != "f":
        images = as_pixels(images)
    if images.shape[2:] == shape[1:]:
        return images
    say_framing((images.shape[2], images.shape[3]), shape[1:], framing)
    return fit_images(images, shape[1:], framing)


def _column(item: Mapping[str, Any], column: str | None) -> str:
    if column is not None:
        if column not in item:
            raise KeyError(f"column {column!r} is missing; the items have {', '.join(map(str, item))}")
        return column
    named = [name for name in COLUMNS if name in item]
    if found := named or [name for name, value in item.items() if _is_array(value)]:
        return found[0]
    raise KeyError(f"no column of images among {', '.join(map(str, item))}; name it, column=...")


def _is_array(value: Any) -> bool:
    """Whether a value can be an image or a batch of them: no label, no text."""
    if isinstance(value, list):
        return bool(value) and _is_array(value[0])
    return isinstance(value, Image.Image | Mapping) or _ndim(value) >= 2


def _ndim(value: Any) -> int:
    return int(getattr(value, "ndim", 0))
