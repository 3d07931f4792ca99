"""Faces as a world: grey, one face filling the canvas, from a folder of yours or from the ORL faces.

The paper's appendix, "CelebA → Inverse Fashion": "we convert the CelebA images to grayscale and extract a patch of size
32×32 centered on the face". A folder is read as it is; the 360 ORL faces to learn from are few, so every one that is
drawn is shifted, zoomed and flipped at random.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32, Int64, UInt8

from vase.files import write_bytes
from vase.resize import resize
from vase.worlds import orl, sources
from vase.worlds.checks import expanded, require_int
from vase.worlds.download import Report, StrPath, cache_folder
from vase.worlds.folders import ArrayWorld, choose_files, labelled
from vase.worlds.pictures import read_picture
from vase.worlds.spec import WorldSpec
from vase.worlds.world import Batch, World

CELEBA = (218, 178)  # height and width of CelebA's aligned pictures
CELEBA_CROP = (57, 25, 128)  # top, left and side of the square about an aligned face, forehead to chin
ORL_CENTRE, ORL_SIDE = (60.0, 46.0), 80.0  # middle of a face (row, column), and side of the square about it, in pixels
ORL_SHIFT, ORL_ZOOM = 4.0, 0.05  # largest shift of the square in pixels, and largest relative change of its side
KEEP_FROM = 1000  # a folder with at least so many pictures is decoded once, and its patches are kept in the cache


@dataclass(frozen=True, eq=False)
class OrlWorld:
    """ORL faces, each drawn with a shift, a zoom and a flip of its own; factor ``label`` is the person, 0 to 39."""

    name: str
    canvas: int
    pictures: UInt8[np.ndarray, "N 112 92"] = field(repr=False)
    labels: Int64[np.ndarray, " N"] = field(repr=False)
    inverse: bool = False
    source: str = "faces"

    @property
    def n_classes(self) -> int:
        """Persons of both splits."""
        return orl.PERSONS

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of every image."""
        return (1, self.canvas, self.canvas)

    def sample(self, n: int, rng: np.random.Generator) -> Batch:
        """Draw ``n`` faces with replacement; side and shift of the square are uniform, one face in two is flipped."""
        chosen = rng.integers(len(self.pictures), size=require_int("n", n, 1))
        sides = ORL_SIDE * (1 + rng.uniform(-ORL_ZOOM, ORL_ZOOM, size=n))
        shifts = rng.uniform(-ORL_SHIFT, ORL_SHIFT, size=(2, n))
        tops, lefts = np.array(ORL_CENTRE)[:, None] + shifts - sides / 2
        images = cut(self.pictures[chosen], tops, lefts, sides, self.canvas)
        flipped = rng.random(n) < 0.5
        images[flipped] = images[flipped, :, ::-1]
        if self.inverse:
            np.subtract(255, images, out=images)
        return Batch(images[:, None], {"label": self.labels[chosen]})


def face_world(
    canvas: int, split: str, inverse: bool, faces: StrPath | None, folder: StrPath | None, report: Report | None
) -> World:
    """Make the world ``faces``, or ``inverse-faces``: from ``faces``, else from ``VASE_FACES``, else the ORL faces."""
    named = faces if faces is not None else os.environ.get(sources.FACES_VARIABLE)
    if named:
        return face_folder(named, canvas, split, inverse, report)
    data = sources.load("faces", split, folder, report)
    return OrlWorld(str(WorldSpec("faces", inverse=inverse)), canvas, data.images, data.labels, inverse, data.source)


def face_folder(path: StrPath, size: int, split: str, inverse: bool, report: Report | None) -> ArrayWorld:
    """Make the world ``faces`` of the pictures in a folder: grey, cut as ``face_square`` says, resized by area.

    The splits are those of ``from_folder``: subfolders ``train`` and ``test``, else every fifth picture is a test
    picture. Factor ``label`` if pictures lie in two or more subfolders, one per class; none otherwise.
    """
    root = expanded(path)
    if not root.is_dir():
        remedy = (
            f"name a folder of face pictures (faces=DIR or {sources.FACES_VARIABLE}=DIR), or none for the ORL faces"
        )
        raise FileNotFoundError(f"faces folder {str(root)!r} does not exist; {remedy}")
    base, files, names = choose_files(root, split)
    patches = _patches(base, files, require_int("size", size, 1), report)
    images = (255 - patches if inverse else patches)[:, None]
    name, source = str(WorldSpec("faces", inverse=inverse)), f"faces ({len(files)} pictures in {base})"
    return ArrayWorld(name, images, *labelled(files, base, names if len(names) > 1 else {""}), source)


def face_square(picture: UInt8[np.ndarray, "H W"]) -> UInt8[np.ndarray, "s s"]:
    """Cut the square about the face: ``CELEBA_CROP`` of aligned 178×218 CelebA files, else the largest central one."""
    height, width = picture.shape
    if (height, width) == CELEBA:
        top, left, side = CELEBA_CROP
    else:
        side = min(height, width)
        top, left = (height - side) // 2, (width - side) // 2
    return picture[top : top + side, left : left + side]


def cut(
    pictures: UInt8[np.ndarray, "n H W"],
    tops: Float[np.ndarray, " n"],
    lefts: Float[np.ndarray, " n"],
    sides: Float[np.ndarray, " n"],
    size: int,
) -> UInt8[np.ndarray, "n size size"]:
    """Cut one square out of each picture and resize it by area; its edges may lie between pixels."""
    height, width = pictures.shape[1:]
    rows, columns = _overlaps(tops, sides, size, height), _overlaps(lefts, sides, size, width)
    means = rows @ (pictures.astype(np.float32) @ columns.transpose(0, 2, 1))
    return np.clip(np.rint(means), 0, 255).astype(np.uint8)


def _overlaps(
    starts: Float[np.ndarray, " n"], lengths: Float[np.ndarray, " n"], bins: int, pixels: int
) -> Float32[np.ndarray, "n bins pixels"]:
    """Share of each pixel in each of the equal bins between ``start`` and ``start + length``; every row sums to 1."""
    edges = starts[:, None] + lengths[:, None] * np.arange(bins + 1) / bins
    covered = np.clip((edges[:, :, None] - np.arange(pixels)).astype(np.float32), 0, 1)  # of a pixel, left of an edge
    return np.diff(covered, axis=1) * (bins / lengths).astype(np.float32)[:, None, None]


def _patches(base: Path, files: list[Path], size: int, report: Report | None) -> UInt8[np.ndarray, "N s s"]:
    """Decode pictures, or read what was kept of the same files: their names, sizes and times are its name."""
    if len(files) < KEEP_FROM:
        return decode(files, size)
    stats = [(str(file.relative_to(base)), file.stat()) for file in files]
    said = [repr((size, CELEBA_CROP)), *(f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in stats)]
    key = hashlib.sha256("\n".join(said).encode(errors="surrogateescape")).hexdigest()
    kept = cache_folder() / "faces" / f"patches-{key[:24]}"
    try:
        data = kept.read_bytes()
    except OSError:
        data = b""
    if len(data) == 32 + len(files) * size * size and hashlib.sha256(memoryview(data)[32:]).digest() == data[:32]:
        return np.frombuffer(data, np.uint8, offset=32).reshape(len(files), size, size)
    patches = decode(files, size)
    try:
        write_bytes(kept, hashlib.sha256(pixels := patches.tobytes()).digest() + pixels)
    except OSError as error:
        if report:
            report(f"faces: not kept, {kept.parent} cannot be written ({error.strerror})")
    return patches


def decode(files: list[Path], size: int) -> UInt8[np.ndarray, "N s s"]:
    """Read the faces of some files, in grey."""
    return np.concatenate([resize(face_square(np.asarray(read_picture(file, "L")))[None], size) for file in files])
