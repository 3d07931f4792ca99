"""Random streams of worlds and changes with returns, short visits and ramps, and stationary controls."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float32

from vase.experiments.shifts.pool import HALVES, WORLDS, Half, PoolWorld, changes_for, load_world
from vase.images import as_floats
from vase.metrics.detection import Truth
from vase.worlds import World
from vase.worlds.changes import ChangedWorld
from vase.worlds.timeline import Span, Timeline

BATCH = 64
"""Images per batch."""
SEGMENTS, LENGTHS, SHORT, RAMP = (4, 10), (20, 150), (20, 40), (100, 400)
"""Smallest and largest number of segments in a stream, and of batches in a segment, a short visit and a ramp."""
FIRST = 60
"""Least batches in the first segment."""
STATIONARY = 10_000
"""Batches of a stationary control."""
_PLAIN, _SHORT = 0.4, 0.3
"""Share of sources that are a world as it is, and of segments that are short visits."""

Load = Callable[[str], World]


@dataclass(frozen=True)
class Source:
    """What a segment shows: a world, perhaps through a change."""

    world: str
    change: str = ""
    strength: float = 0.0

    @property
    def name(self) -> str:
        """WORLD or WORLD+CHANGE:STRENGTH."""
        return f"{self.world}+{self.change}:{self.strength:g}" if self.change else self.world

    def make(self, load: Load = load_world, share: float = 1.0) -> World:
        """The world to sample from, with a share of the change's strength."""
        world = load(self.world)
        return ChangedWorld(world, self.change, share * self.strength) if self.change else world


@dataclass(frozen=True)
class Segment:
    """Batches of one source; before them, a change may come gradually over `ramp` batches."""

    source: Source
    batches: int
    ramp: int = 0


@dataclass(frozen=True)
class ShiftStream:
    """Segments in order. Batch t of a seed depends on the stream's number, the seed and t only."""

    name: str
    number: int
    segments: tuple[Segment, ...]

    @cached_property
    def truth(self) -> Truth:
        """Which source each batch belongs to: within a ramp, the later one from the middle on."""
        before = [segment.ramp // 2 for segment in self.segments[1:]] + [0]  # half of the ramp that follows
        stages = [
            (segment.source.name, segment.ramp - segment.ramp // 2 + segment.batches + more)
            for segment, more in zip(self.segments, before, strict=True)
        ]
        ramps, end = [], 0
        for segment in self.segments:
            if segment.ramp:
                ramps.append(Span(segment.source.name, end, end + segment.ramp))
            end += segment.ramp + segment.batches
        return Truth(Timeline(tuple(stages)), tuple(ramps))

    def __len__(self) -> int:
        return self.truth.timeline.total

    @property
    def first(self) -> Source:
        """What the stream begins with."""
        return self.segments[0].source

    def batches(self, seed: int = 0, load: Load = load_world) -> Iterator[Float32[np.ndarray, "B C H W"]]:
        """Batches of images in [0, 1]."""
        step = 0
        for segment in self.segments:
            whole = segment.source.make(load)
            for i in range(segment.ramp + segment.batches):
                rising = i < segment.ramp
                world = segment.source.make(load, (i + 1) / (segment.ramp + 1)) if rising else whole
                yield as_floats(world.sample(BATCH, np.random.default_rng([seed, self.number, step])).images)
                step += 1

    def describe(self) -> dict[str, Any]:
        """The stream as JSON."""
        ramps = [{"ramp": segment.ramp} if segment.ramp else {} for segment in self.segments]
        parts = zip(self.segments, ramps, strict=True)
        return {"name": self.name, "segments": [{"source": s.source.name, "batches": s.batches, **r} for s, r in parts]}

    @property
    def digest(self) -> str:
        """Eight characters that tell streams apart whatever their names are."""
        return hashlib.sha256(json.dumps(self.describe()).encode()).hexdigest()[:8]


def draw_streams(
    half: Half, count: int, *, colour: bool | None = None, worlds: Sequence[PoolWorld] = WORLDS
) -> list[ShiftStream]:
    """The first `count` streams of a half: grey and colour by turns, every fourth of either with a ramp.

    Args:
        half: whose worlds and changes are used.
        count: how many; the first ones of a longer list are the same.
        colour: only streams in colour, or only grey ones; None for both.
        worlds: the pool.
    """
    found: list[ShiftStream] = []
    number = 0
    while len(found) < count:
        if colour is None or colour == bool(number % 2):
            found.append(draw_stream(half, number, worlds))
        number += 1
    return found


def draw_stream(half: Half, number: int, worlds: Sequence[PoolWorld] = WORLDS) -> ShiftStream:
    """Stream number `number` of a half; colour if odd, with a ramp if its half is 3 modulo 4."""
    rng = np.random.default_rng([HALVES.index(half), number])
    colour, ramp = bool(number % 2), number // 2 % 4 == 3
    pool = [world for world in worlds if world.half == half and world.colour == colour]
    if not pool:
        raise ValueError(f"worlds: the {half} half has none {'in colour' if colour else 'in grey'}; pass a larger pool")
    count = int(rng.integers(SEGMENTS[0], SEGMENTS[1] + 1))
    places = rng.permutation(len(pool))[: int(rng.integers(1, 4))]
    chosen = [pool[place] for place in places]
    kinds = int(rng.integers(2, min(5, count - 1) + 1))
    pair = _gradual_pair(chosen[0], half, rng) if ramp else ()
    order = _order(_sources(chosen, half, kinds, pair, rng), count, pair, rng)
    segments: list[Segment] = []
    for i, source in enumerate(order):
        rises = bool(pair) and i > 0 and (order[i - 1], source) == pair and not any(s.ramp for s in segments)
        segments.append(Segment(source, _length(i, rng), int(rng.integers(RAMP[0], RAMP[1] + 1)) if rises else 0))
    name = f"{half}-{number:03d}-{'colour' if colour else 'grey'}{'-ramp' if ramp else ''}"
    return ShiftStream(name, number, tuple(segments))


def _length(place: int, rng: np.random.Generator) -> int:
    """Batches of a segment; the first one is never short."""
    low, high = SHORT if place and rng.random() < _SHORT else (LENGTHS if place else (FIRST, LENGTHS[1]))
    return int(rng.integers(low, high + 1))


def _gradual_pair(world: PoolWorld, half: Half, rng: np.random.Generator) -> tuple[Source, Source]:
    """A world as it is, and through a change that can come gradually."""
    changes = [change for change in changes_for(world, half) if change.gradual]
    change = changes[int(rng.integers(len(changes)))]
    return Source(world.name), Source(world.name, change.name, change.strengths[-1])


def _sources(
    worlds: Sequence[PoolWorld], half: Half, count: int, given: Sequence[Source], rng: np.random.Generator
) -> list[Source]:
    """`count` sources of some worlds, those given first; no change twice in one world."""
    found = {(source.world, source.change): source for source in given}
    tries = 0
    while len(found) < count:
        world = worlds[int(rng.integers(len(worlds)))]
        if rng.random() < _PLAIN and (tries := tries + 1) < 20:
            source = Source(world.name)
        else:
            changes = changes_for(world, half)
            change = changes[int(rng.integers(len(changes)))]
            source = Source(world.name, change.name, float(rng.choice(change.strengths)))
        found.setdefault((source.world, source.change), source)
    return list(found.values())


def _order(sources: list[Source], count: int, pair: Sequence[Source], rng: np.random.Generator) -> list[Source]:
    """`count` visits: every source, none twice in a row; the second of `pair` appears right after the first."""
    while True:
        order = [sources[int(i)] for i in rng.integers(len(sources), size=count)]
        if set(order) != set(sources) or any(a == b for a, b in pairwise(order)):
            continue
        if not pair or (order[0] != pair[1] and order[order.index(pair[1]) - 1] == pair[0]):
            return order


def stationary_streams(
    half: Half, batches: int = STATIONARY, *, colour: bool | None = None, worlds: Sequence[PoolWorld] = WORLDS
) -> list[ShiftStream]:
    """One control per world of a half, in which nothing changes: every second one through a change of the half."""
    found = []
    for number, world in enumerate(world for world in worlds if world.half == half):
        changes = [change for change in changes_for(world, half) if change.gradual]
        change = changes[number % len(changes)]
        source = Source(world.name, change.name, change.strengths[0]) if number % 2 else Source(world.name)
        if colour is None or world.colour == colour:
            stream = ShiftStream(f"{half}-still-{source.name}", 1000 + number, (Segment(source, batches),))
            found.append(stream)
    return found
