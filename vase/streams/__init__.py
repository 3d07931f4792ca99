"""Streams of images: datasets, environments made of them, and schedules that switch between environments.

>>> from vase.streams import Schedule
>>> schedule = Schedule.parse("moving-glyphs,digits*20,moving-digits", steps=10, batch_size=8)
>>> len(schedule), schedule.switches, next(schedule).images.shape
(40, (10, 30), (8, 1, 32, 32))
"""

from vase.streams.datasets import Labelled
from vase.streams.environments import Batch, Environment
from vase.streams.folders import ArrayEnvironment, from_array, from_folder
from vase.streams.frames import FrameEnvironment, frame_environment, lab_frames
from vase.streams.names import environment
from vase.streams.schedules import Schedule, Stage
from vase.streams.sources import DataUnavailable, load, load_or_embedded
from vase.streams.sprites import SpriteEnvironment

__all__ = [
    "ArrayEnvironment",
    "Batch",
    "DataUnavailable",
    "Environment",
    "FrameEnvironment",
    "Labelled",
    "Schedule",
    "SpriteEnvironment",
    "Stage",
    "environment",
    "frame_environment",
    "from_array",
    "from_folder",
    "lab_frames",
    "load",
    "load_or_embedded",
]
