"""Datasets in colour as worlds: CIFAR-10, and emoji in two styles. An image fills the canvas and stands still."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vase.worlds.download import Report, StrPath
from vase.worlds.frames import FrameWorld, lab_frames
from vase.worlds.sources import load
from vase.worlds.spec import COLOUR, WorldSpec


@dataclass(frozen=True, eq=False)
class ColourWorld(FrameWorld):
    """Labelled images in colour, drawn uniformly with replacement; factor ``label`` counts ``classes``."""

    classes: tuple[str, ...] = ()

    @property
    def n_classes(self) -> int:
        """Classes of the dataset, also if this world shows only some of them."""
        return len(self.classes)


def colour_world(
    spec: WorldSpec, canvas: int, split: str, folder: StrPath | None, report: Report | None
) -> ColourWorld:
    """Make a world of ``COLOUR``: resized by area averages (enlarged by interpolation), as a negative if inverse."""
    data = load(spec.dataset, split, folder, report)
    frames, labels = data.images, data.labels
    if spec.classes is not None:
        chosen = np.isin(labels, spec.classes)
        frames, labels = frames[chosen], labels[chosen]
    if frames.shape[1:3] != (canvas, canvas):
        frames = lab_frames(frames, canvas, spec.dataset)
    if spec.inverse:
        frames = 255 - frames
    return ColourWorld(str(spec), frames, {"label": labels}, data.source, COLOUR[spec.dataset])
