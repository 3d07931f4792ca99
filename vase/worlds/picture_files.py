"""Many picture files at one size: read at once, or each when it is asked for."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int64, UInt8

from vase.images import as_bytes
from vase.resize import Framing, cut_off, fit_images
from vase.worlds.adapters import OnError
from vase.worlds.pictures import as_planes, read_picture

SHOWN = 3
"""Skipped pictures that a warning names."""


@dataclass(frozen=True)
class PictureFiles:
    """A dataset of files: item i is a picture (C, H, W) with its label, None without labels."""

    files: Sequence[Path]
    labels: Int64[np.ndarray, " N"] | None
    channels: int
    size: tuple[int, int]
    framing: Framing

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, i: int) -> tuple[UInt8[np.ndarray, "C H W"], int | None]:
        image, _ = read_fitted(self.files[i], self.size, self.channels, self.framing)
        return image, None if self.labels is None else int(self.labels[i])


@dataclass(frozen=True, eq=False)
class Pictures:
    """Pictures that were read, and which of the files they are."""

    images: UInt8[np.ndarray, "N C H W"]
    kept: Int64[np.ndarray, " N"]
    lost: float
    """The largest share of a picture that was cut off."""
    words: str
    """How they were brought to one size."""


def read_pictures(
    files: Sequence[Path], size: tuple[int, int], channels: int | None, framing: Framing, on_error: OnError
) -> Pictures:
    """Read files into memory; in colour unless every picture is grey, or ``channels`` says otherwise."""
    images: dict[int, UInt8[np.ndarray, "C H W"]] = {}
    problems: list[str] = []
    lost = 0.0
    for i, file in enumerate(files):
        try:
            images[i], cut = read_fitted(file, size, channels, framing)
            lost = max(lost, cut)
        except ValueError as error:
            if on_error == "raise":
                raise
            problems.append(str(error))
    if not images:
        raise ValueError(f"none of {len(files)} pictures can be read: {problems[0]}")
    if problems:
        shown = "; ".join(problems[:SHOWN]) + ("; ..." if len(problems) > SHOWN else "")
        rule = 'in Python, on_error="raise" stops at the first'
        warnings.warn(f"{len(problems)} of {len(files)} pictures skipped ({rule}): {shown}", stacklevel=3)
    count = max(len(image) for image in images.values())
    stack = np.stack([np.broadcast_to(image, (count, *size)) for image in images.values()])
    return Pictures(stack, np.array(list(images), np.int64), lost, _words(size, framing, lost))


def read_fitted(
    file: Path, size: tuple[int, int], channels: int | None, framing: Framing
) -> tuple[UInt8[np.ndarray, "C H W"], float]:
    """One picture at ``size``, and the share of it that was cut off."""
    picture = read_picture(file, least=size)
    planes = as_planes(picture, channels or (1 if picture.mode == "L" else 3))
    image = as_bytes(fit_images(planes[None], size, framing))[0]
    return image, cut_off((picture.height, picture.width), size) if framing == "crop" else 0.0


def channels_of(files: Sequence[Path]) -> int:
    """1 if every picture that can be read is grey, else 3."""
    for file in files:
        try:
            if read_picture(file).mode != "L":
                return 3
        except ValueError:
            continue
    return 1


def _words(size: tuple[int, int], framing: Framing, lost: float) -> str:
    said = f"resized by area to {size[0]}×{size[1]} (height×width)"
    if framing == "letterbox":
        return f"{said} between black bars where they have another shape"
    return f"{said}, their edges cut off, at most {100 * lost:.0f} % of a picture" if lost else said
