"""Streams of images: datasets, environments made of them, and schedules that switch between environments.

>>> from vase.worlds import Schedule
>>> schedule = Schedule.parse("moving-glyphs,digits*20,moving-digits", steps=10, batch_size=8)
>>> len(schedule), schedule.switches, next(schedule).images.shape
(40, (10, 30), (8, 1, 32, 32))
"""

from vase.worlds.datasets import Labelled
from vase.worlds.folders import ArrayWorld, from_array, from_folder
from vase.worlds.frames import FrameWorld, frame_world, lab_frames
from vase.worlds.names import make_world
from vase.worlds.schedule import Schedule, Stage
from vase.worlds.sources import DataUnavailable, load, load_or_embedded
from vase.worlds.sprites import SpriteWorld
from vase.worlds.world import Batch, World

__all__ = [
    "ArrayWorld",
    "Batch",
    "DataUnavailable",
    "FrameWorld",
    "Labelled",
    "Schedule",
    "SpriteWorld",
    "Stage",
    "World",
    "frame_world",
    "from_array",
    "from_folder",
    "lab_frames",
    "load",
    "load_or_embedded",
    "make_world",
]
