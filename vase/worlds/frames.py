"""First-person 3D worlds in colour: rendered ones, or your own frames of DeepMind Lab.

The paper's appendix, "DM Lab": frames are stored as 111×84×3 (width × height), the right-most 27 columns are dropped,
and the remaining 84×84 are resized to 64×64 by area averages.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int, UInt8

from vase.images import as_pixels
from vase.resize import resize
from vase.worlds.checks import expanded, require_int
from vase.worlds.datasets import check_split
from vase.worlds.download import Report, StrPath
from vase.worlds.folders import choose_files
from vase.worlds.pictures import read_picture
from vase.worlds.rooms import WORLDS, render
from vase.worlds.rooms.scenes import SIZE
from vase.worlds.world import Batch

LAB_HEIGHT, LAB_WIDTH = 84, 111  # of a DeepMind Lab frame in the paper
_CHUNK = 1024


@dataclass(frozen=True, eq=False)
class FrameWorld:
    """Colour frames, drawn uniformly with replacement, with their factors if these are known."""

    name: str
    frames: UInt8[np.ndarray, "N H W 3"] = field(repr=False)
    factors: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)
    source: str = "array"

    def __len__(self) -> int:
        return len(self.frames)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of every image."""
        height, width = self.frames.shape[1:3]
        return (3, height, width)

    def sample(self, n: int, rng: np.random.Generator) -> Batch:
        """Draw ``n`` frames with replacement."""
        return self.take(rng.integers(len(self.frames), size=require_int("n", n, 1)))

    def sample_distinct(self, n: int, rng: np.random.Generator) -> Batch:
        """Draw ``n`` frames without replacement, all of them if there are fewer."""
        return self.take(rng.permutation(len(self.frames))[: require_int("n", n, 1)])

    def take(self, indices: Int[np.ndarray, " n"]) -> Batch:
        """The frames at some places; a rendered world shows the same scene at the same place as the other one."""
        images = np.ascontiguousarray(np.moveaxis(self.frames[indices], 3, 1))
        return Batch(images, {name: values[indices] for name, values in self.factors.items()})


def frame_world(
    name: str, *, canvas: int = 64, split: str = "train", frames: StrPath | None = None, report: Report | None = None
) -> FrameWorld:
    """Make the world ``"outdoors"`` or ``"indoors"``, with images of ``canvas`` × ``canvas`` pixels (the paper: 64).

    Without ``frames`` it is rendered, once, with the factors of ``rooms.scenes.factors``. With it, a world is
    what the folder ``frames`` holds under its name: ``NAME/train.npy`` and ``NAME/test.npy``, or ``NAME.npy``, or a
    subfolder ``NAME`` of pictures. Without two splits every fifth frame is held out for ``test``; frames of one episode
    that follow each other are much alike, so two splits are better. Arrays are (N, height, width, 3) or
    (N, 3, height, width); a file of the same name that ends in .npz holds their factors, one array of N values each.
    """
    check_split(split)
    canvas = require_int("canvas", canvas, 1)
    if name not in WORLDS:
        raise ValueError(f"world {name!r} is unknown; known: {', '.join(WORLDS)}")
    if frames is not None:
        return _own(name, canvas, split, expanded(frames))
    found = render.rendered(name, split, report=report)
    images = found.images if canvas == SIZE else lab_frames(found.images, canvas, name)
    return FrameWorld(name, images, found.factors, f"{name} (rendered, {len(images)} frames)")


def lab_frames(frames: Any, size: int = 64, where: str = "frames") -> UInt8[np.ndarray, "N size size 3"]:
    """Crop and resize frames as the paper does: 111×84 lose their right-most 27 columns; then area averages.

    ``frames`` are (N, height, width, 3) or (N, 3, height, width), 84 high and 111 wide, or square; uint8, or floats in
    [0, 1]. Messages call them ``where``. Enlarging interpolates.
    """
    if frames.ndim != 4 or 0 in frames.shape or 3 not in (frames.shape[1], frames.shape[3]):
        raise ValueError(f"{where}: shape {frames.shape}, must be (N, height, width, 3) or (N, 3, height, width)")
    first = frames.shape[3] != 3
    height, width = frames.shape[2:] if first else frames.shape[1:3]
    if (height, width) != (LAB_HEIGHT, LAB_WIDTH) and height != width:
        rule = f"must be {LAB_HEIGHT} high and {LAB_WIDTH} wide, or square"
        raise ValueError(f"{where}: {height} high and {width} wide, {rule}; crop or transpose them first")
    out = np.empty((len(frames), size, size, 3), np.uint8)
    for start in range(0, len(frames), _CHUNK):
        part = as_pixels(np.asarray(frames[start : start + _CHUNK]))
        planes = (part if first else np.moveaxis(part, 3, 1))[..., :height]
        small = resize(planes.reshape(-1, height, height), size).reshape(-1, 3, size, size)
        out[start : start + _CHUNK] = np.moveaxis(small, 1, 3)
    return out


def _own(name: str, canvas: int, split: str, root: Path) -> FrameWorld:
    """Read a world of the user's."""
    folder, whole_array = root / name, root / f"{name}.npy"
    split_array, arrays = folder / f"{split}.npy", [path.name for path in folder.glob("*.npy")]
    if split_array.is_file():
        images, factors = _array(split_array, canvas)
        return FrameWorld(name, images, factors, f"{len(images)} frames in {split_array}")
    if whole_array.is_file():
        images, factors = _array(whole_array, canvas)
        kept = np.arange(len(images))
        if len(images) >= 5:
            kept = kept[(kept % 5 == 4) == (split == "test")]
        factors = {key: values[kept] for key, values in factors.items()}
        return FrameWorld(name, images[kept], factors, f"{len(kept)} frames in {whole_array}")
    if folder.is_dir() and not arrays:
        _, files, _ = choose_files(folder, split)
        pictures = [lab_frames(np.asarray(read_picture(file, "RGB"))[None], canvas, str(file)) for file in files]
        images = np.concatenate(pictures)
        return FrameWorld(name, images, {}, f"{len(files)} frames in {folder}")
    raise FileNotFoundError(
        f"frames folder {str(root)!r} has no {split} frames of the world {name!r}; put {name}.npy there, or "
        f"{name}/train.npy and {name}/test.npy, or a subfolder {name} of pictures"
    )


def _array(path: Path, canvas: int) -> tuple[UInt8[np.ndarray, "N size size 3"], dict[str, np.ndarray]]:
    """Frames of an array file, cropped and resized, and the factors beside it."""
    try:
        frames = np.load(path, mmap_mode="r")
        factors: dict[str, np.ndarray] = {}
        if path.with_suffix(".npz").is_file():
            with np.load(path.with_suffix(".npz")) as kept:
                factors = dict(kept)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} cannot be read ({error}); save it with numpy.save, factors with savez") from error
    for name, values in factors.items():
        if values.dtype.kind not in "fiub" or values.shape != (len(frames),):
            found = f"{name!r} has dtype {values.dtype} and shape {values.shape}"
            rule = f"must be ({len(frames)},) floats, or whole numbers from 0 for classes"
            raise ValueError(f"{path.with_suffix('.npz')}: {found}, {rule}")
        if values.dtype.kind == "b":
            factors[name] = values.astype(np.int64)
    return lab_frames(frames, canvas, str(path)), factors
