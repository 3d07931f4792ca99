"""Your own images: an array, or a folder of pictures."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from jaxtyping import Int64, UInt8

from vase.images import as_bytes, as_pixels
from vase.resize import Framing, fit_images, require_framing
from vase.worlds.adapters import DatasetWorld, OnError, require_on_error
from vase.worlds.checks import expanded, require_int, require_size, require_text
from vase.worlds.datasets import check_split
from vase.worlds.download import StrPath
from vase.worlds.items import numpy_of
from vase.worlds.picture_files import PictureFiles, channels_of, read_pictures
from vase.worlds.pictures import read_picture
from vase.worlds.spec import WorldSpec
from vase.worlds.world import Batch

ENDINGS = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm"})
MEMORY = 10**9
"""Bytes of images that are held; larger folders stay on the disk."""
LOOK_AT = 64
"""Pictures of a folder on the disk that tell whether all are grey."""
MEASURED = 16
"""Pictures of a folder, about, whose sizes tell what is typical."""
_log = logging.getLogger("vase.worlds")
MAX_CLASSES = 100_000  # that labels can count: a probe has a row of weights for each


@dataclass(frozen=True, eq=False)
class ArrayWorld:
    """Images held in memory, drawn uniformly with replacement; factor ``label`` if labels are known."""

    name: str
    images: UInt8[np.ndarray, "N C H W"] = field(repr=False)
    labels: Int64[np.ndarray, " N"] | None = field(default=None, repr=False)
    classes: tuple[str, ...] = ()
    source: str = "array"

    @property
    def n_classes(self) -> int:
        """Classes that labels count, 0 without labels."""
        return 0 if self.labels is None else max(len(self.classes), 1 + int(self.labels.max()))

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of every image."""
        channels, height, width = self.images.shape[1:]
        return (channels, height, width)

    def sample(self, n: int, rng: np.random.Generator) -> Batch:
        """Draw ``n`` images with replacement."""
        return self._take(rng.integers(len(self.images), size=require_int("n", n, 1)))

    def sample_distinct(self, n: int, rng: np.random.Generator) -> Batch:
        """Draw ``n`` images without replacement, all of them if there are fewer."""
        return self._take(rng.permutation(len(self.images))[: require_int("n", n, 1)])

    def _take(self, chosen: Int64[np.ndarray, " n"]) -> Batch:
        return Batch(self.images[chosen], {} if self.labels is None else {"label": self.labels[chosen]})


def from_array(
    images: Any,
    labels: Any = None,
    *,
    name: str = "array",
    size: int | tuple[int, int] | None = None,
    framing: Framing = "crop",
) -> ArrayWorld:
    """Make a world of your images, with one whole number per image as its label if you have them.

    With ``size``, the side of a square or (height, width), they are resized by area, and cropped or letterboxed.

    Images are (N,H,W), (N,C,H,W) or (N,H,W,C) with 1 to 4 channels, NumPy or torch; uint8, other whole numbers in
    0..255, booleans, or floats in [0, 1]. Where both orders of channels are possible, (N,C,H,W) is meant.
    """
    pixels = _channels_first(as_pixels(numpy_of(images)))
    if size is not None:
        pixels = as_bytes(fit_images(pixels, require_size(size), framing))
    if labels is None:
        return ArrayWorld(name, pixels)
    values = numpy_of(labels)
    if values.shape != (len(pixels),) or values.dtype.kind not in "iu":
        found = f"labels have shape {values.shape} and dtype {values.dtype}"
        raise ValueError(f"{found}: one whole number per image is needed, shape ({len(pixels)},)")
    if len(values) and not 0 <= int(values.min()) <= int(values.max()) < MAX_CLASSES:
        found = f"labels lie between {values.min()} and {values.max()}"
        raise ValueError(f"{found}: they must count classes from 0, at most {MAX_CLASSES}; number the classes anew")
    return ArrayWorld(name, pixels, values.astype(np.int64))


def from_folder(
    path: StrPath,
    *,
    size: int | tuple[int, int] = 32,
    channels: int | None = None,
    split: str | None = None,
    framing: Framing = "crop",
    on_error: OnError = "skip",
    memory: int = MEMORY,
) -> ArrayWorld | DatasetWorld:
    """Make a world of the pictures in a folder, brought to ``size``: the side of a square, or (height, width).

    Pictures of any size are resized by area. Where the aspect ratio differs their edges are cut off, or with
    ``framing="letterbox"`` black bars are added; a line in the log says so. Those that cannot be read are skipped and
    counted in a warning; with ``on_error="raise"`` they are an error.

    Without ``split`` every picture is read. With it, the subfolder ``train`` or ``test``; a folder that has neither
    holds out every fifth picture, in the order of their names, for ``test`` (with fewer than five, both read all).
    Pictures in subfolders are labelled by the subfolder's name, in alphabetical order over both splits (``classes``).
    ``channels`` is 1 (grey) or 3 (colour), by default 1 if every picture is grey, else 3.

    Images that would take more than ``memory`` bytes, 1 GB unless told, stay on the disk and are read when they are
    drawn; of these only the first few tell whether all are grey.
    """
    if split is not None:
        check_split(split)
    sides = require_size(size)
    require_framing(framing)
    require_on_error(on_error)
    if channels not in (None, 1, 3):
        raise ValueError(f"channels = {channels!r}: must be 1 (grey) or 3 (colour), or None to look at the pictures")
    base, files, names = choose_files(_existing(path), split)
    name, (labels, classes) = str(WorldSpec("folder", folder=str(path))), labelled(files, base, names)
    if len(files) * (channels or 3) * sides[0] * sides[1] > memory:
        count = channels or channels_of(files[:LOOK_AT])
        dataset = PictureFiles(files, labels, count, sides, framing)
        source = f"{len(files)} pictures in {base}, read from the disk when they are drawn"
        return DatasetWorld(name, dataset, (count, *sides), framing, None, on_error, classes, source)
    found = read_pictures(files, sides, channels, framing, on_error)
    kept = None if labels is None else labels[found.kept]
    source = f"{len(found.kept)} pictures in {base}, {found.words}"
    _log.log(logging.WARNING if found.lost else logging.INFO, "%s", source)
    return ArrayWorld(name, found.images, kept, classes, source)


def longer_side(path: StrPath) -> int:
    """The longer side, in pixels, of a typical picture in a folder: the median of some that can be read."""
    files = choose_files(_existing(path), None)[1]
    sides = []
    for file in files[:: max(1, len(files) // MEASURED)]:
        with suppress(ValueError):
            sides.append(max(read_picture(file).size))
    if not sides:
        raise ValueError(f"none of the pictures in {str(path)!r} can be read; save them as PNG or JPEG.")
    return round(median(sides))


def _existing(path: StrPath) -> Path:
    root = expanded(path)
    if not str(path) or not root.is_dir():
        raise FileNotFoundError(f"image folder {str(path)!r} does not exist; name a folder that holds pictures")
    return root


def choose_files(root: Path, split: str | None) -> tuple[Path, list[Path], set[str]]:
    """The folder that is read, its pictures, and the names of all classes of both splits ("" for no subfolder)."""
    splits = [root / name for name in ("train", "test") if (root / name).is_dir()] if split else []
    if len(splits) == 1:
        missing = "test" if splits[0].name == "train" else "train"
        problem = f"has a subfolder {splits[0].name!r} but none called {missing!r}"
        raise ValueError(f"image folder {str(root)!r} {problem}; add it, or put the pictures of both in one folder")
    bases = splits or [root]
    found = {base: _pictures(base) for base in bases}
    names = {_class_of(file, base) for base, files in found.items() for file in files}
    base = root / split if splits and split else root
    files = found[base]
    if split and not splits and len(files) >= 5:
        files = [file for i, file in enumerate(files) if (i % 5 == 4) == (split == "test")]
    return base, files, names


def _pictures(base: Path) -> list[Path]:
    files = sorted(file for file in _walk(base) if file.suffix.lower() in ENDINGS and file.is_file())
    if not files:
        raise ValueError(f"image folder {str(base)!r} holds no picture; put files there that end in {sorted(ENDINGS)}")
    return files


def _walk(base: Path) -> Iterator[Path]:
    """Every file below a folder, also behind links to folders; a link back to a folder above it is not followed."""
    for place, folders, files in os.walk(base, followlinks=True):
        above = {os.path.realpath(parent) for parent in (Path(place), *Path(place).parents)}
        folders[:] = [name for name in folders if os.path.realpath(Path(place) / name) not in above]
        yield from (Path(place) / name for name in files)


def labelled(files: list[Path], base: Path, names: set[str]) -> tuple[Int64[np.ndarray, " N"] | None, tuple[str, ...]]:
    """The label of each file, and the classes that labels count: subfolders in alphabetical order.

    Without subfolders there are no labels; pictures beside them would have none, and are refused.
    """
    if names == {""}:
        return None, ()
    if "" in names:
        loose = next((file.name for file in files if file.parent == base), "a picture")
        rule = f"{loose} lies beside the subfolders, which name classes"
        raise ValueError(f"image folder {str(base)!r}: {rule}; move it into one of them, or remove it")
    classes = tuple(sorted(names))
    for name in classes:
        require_text(name)
    return np.array([classes.index(_class_of(file, base)) for file in files], np.int64), classes


def _class_of(file: Path, base: Path) -> str:
    """The subfolder of a file; "" if it has none."""
    return file.relative_to(base).parts[0] if file.parent != base else ""


def _channels_first(images: UInt8[np.ndarray, "*shape"]) -> UInt8[np.ndarray, "N C H W"]:
    """Bring (N,H,W), (N,C,H,W) or (N,H,W,C) into (N,C,H,W), contiguous, as a copy."""
    if 0 in images.shape or images.ndim not in (3, 4):
        raise ValueError(f"images have shape {images.shape}: must be a non-empty (N,H,W), (N,C,H,W) or (N,H,W,C) array")
    if images.ndim == 3:
        images = images[:, None]
    elif images.shape[1] > 4:
        if images.shape[3] > 4:
            raise ValueError(f"images have shape {images.shape}: neither axis 1 nor axis 3 has 1 to 4 values; reorder")
        images = np.moveaxis(images, 3, 1)
    return np.array(images, order="C")
