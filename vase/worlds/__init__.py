"""Worlds: sources of images, their names, and schedules that switch between them.

>>> from vase.worlds import Schedule
>>> schedule = Schedule.parse("moving-glyphs,digits*20,moving-digits", steps=10, batch_size=8)
>>> len(schedule), schedule.switches, next(schedule).images.shape
(40, (10, 30), (8, 1, 32, 32))
"""

# ruff: noqa: F401
from typing import TYPE_CHECKING

from vase.lazy import attach

if TYPE_CHECKING:
    from vase.worlds.adapters import DatasetWorld, as_batches, from_dataset
    from vase.worlds.datasets import Labelled
    from vase.worlds.download import DataUnavailable
    from vase.worlds.folders import ArrayWorld, from_array, from_folder
    from vase.worlds.frames import FrameWorld, frame_world, lab_frames
    from vase.worlds.make import make_world
    from vase.worlds.schedule import Schedule, Stage
    from vase.worlds.sources import load
    from vase.worlds.spec import StreamSpec, WorldSpec
    from vase.worlds.sprites import SpriteWorld
    from vase.worlds.world import Batch, World
else:
    _modules = {
        "DataUnavailable": "download",
        "Labelled": "datasets",
        "SpriteWorld": "sprites",
        "load": "sources",
        "make_world": "make",
        **dict.fromkeys(("DatasetWorld", "as_batches", "from_dataset"), "adapters"),
        **dict.fromkeys(("ArrayWorld", "from_array", "from_folder"), "folders"),
        **dict.fromkeys(("FrameWorld", "frame_world", "lab_frames"), "frames"),
        **dict.fromkeys(("Schedule", "Stage"), "schedule"),
        **dict.fromkeys(("StreamSpec", "WorldSpec"), "spec"),
        **dict.fromkeys(("Batch", "World"), "world"),
    }
    __getattr__, __dir__, __all__ = attach(__name__, _modules)
