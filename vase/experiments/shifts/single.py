"""Which changes a learner notices in a single batch: alarms among 20 changed batches, each shown to a copy of it."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from vase.experiments.shifts.pool import load_world
from vase.experiments.shifts.streams import BATCH, Load, Segment, ShiftStream, Source
from vase.images import as_floats
from vase.worlds.changes import CHANGES

BATCHES = 20
_PHOTOGRAPH = ("blur", "dim", "dirt", "grey", "noise", "white-balance")
_FRAMED = ("blur", "dim", "dirt", "noise", "shift", "upside-down")
CASES: dict[str, tuple[str, tuple[str, ...]]] = {
    "cifar10-automobile": ("cifar10-ship", _PHOTOGRAPH),
    "outdoors": ("indoors", _PHOTOGRAPH),
    "faces": ("mnist", _FRAMED),
    "mnist": ("digits", _FRAMED),
}
"""World that is learnt -> another one, and the changes that are tried, of both halves.

Images of faces and digits have a frame, so that they can be upside down or shifted.
"""
_STREAM, _TRIALS = 8_000, 8_100
"""In the place of a stream's number."""


def sources(world: str) -> dict[str, Source]:
    """What is shown after a world, by name: nothing new, another world, and each change at every strength."""
    other, changes = CASES[world]
    found = {"nothing": Source(world), f"other world: {other}": Source(other)}
    for name in changes:
        found |= {f"{name} {s:g}": Source(world, name, s) for s in CHANGES[name].strengths}
    return found


def count_alarms(learner: Any, source: Source, seed: int, load: Load = load_world) -> int:
    """Batches of a source, of 20, that a copy of the learner holds back or takes for another environment."""
    world = source.make(load)
    alarms = 0
    for number in range(BATCHES):
        images = as_floats(world.sample(BATCH, np.random.default_rng([seed, _TRIALS, number])).images)
        step = copy.deepcopy(learner).partial_fit(images)
        alarms += bool(step.held or step.switched)
    return alarms


def single_batches(learner: Any, world: str, seed: int, batches: int, load: Load = load_world) -> dict[str, int]:
    """Let a new learner see a world for some batches, and count its alarms on single batches of each source."""
    for images in ShiftStream(world, _STREAM, (Segment(Source(world), batches),)).batches(seed, load):
        learner.partial_fit(images)
    return {name: count_alarms(learner, source, seed, load) for name, source in sources(world).items()}
