"""The stages of a stream on the axis of training steps: the only place with stage arithmetic."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Span:
    """Steps start < t <= end (steps count from 1) of something that has a name."""

    name: str
    start: int
    end: int

    def __contains__(self, step: object) -> bool:
        return isinstance(step, int) and self.start < step <= self.end


@dataclass(frozen=True)
class Timeline:
    """(world, steps) of every stage, in the order of the stream.

    >>> timeline = Timeline((("mnist", 100), ("fashion", 50), ("mnist", 100)))
    >>> timeline.total, timeline.switches, timeline.stage_of(101), timeline.worlds
    (250, (100, 150), 1, ('mnist', 'fashion'))
    >>> timeline.visits("mnist")
    (Span(name='mnist', start=0, end=100), Span(name='mnist', start=150, end=250))
    """

    stages: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, stages: Iterable[Iterable[object]]) -> Timeline:
        """From (world, steps) pairs, e.g. parsed JSON."""
        return cls(tuple((str(world), int(steps)) for world, steps in stages))  # type: ignore[call-overload]

    @cached_property
    def _ends(self) -> tuple[int, ...]:
        return tuple(itertools.accumulate(steps for _, steps in self.stages))

    @property
    def total(self) -> int:
        """Steps of all stages."""
        return self._ends[-1] if self._ends else 0

    @cached_property
    def worlds(self) -> tuple[str, ...]:
        """Names of the worlds, in the order of their first visit."""
        return tuple(dict.fromkeys(world for world, _ in self.stages))

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """One span per stage."""
        starts = (0, *self._ends[:-1])
        return tuple(
            Span(world, start, end) for (world, _), start, end in zip(self.stages, starts, self._ends, strict=True)
        )

    @cached_property
    def switches(self) -> tuple[int, ...]:
        """Steps after which the world changes; two stages of one world in a row are no switch."""
        pairs = itertools.pairwise(self.spans)
        return tuple(after.start for before, after in pairs if before.name != after.name)

    def stage_of(self, step: int) -> int:
        """The index of the stage that a step, from 1, belongs to."""
        if not 1 <= step <= self.total:
            raise IndexError(f"step {step}: this stream has steps 1 to {self.total}.")
        return bisect.bisect_left(self._ends, step)

    def world_at(self, step: int) -> str:
        """The world that a step, from 1, belongs to."""
        return self.stages[self.stage_of(step)][0]

    def ends_stage(self, step: int) -> bool:
        """Whether a step is the last one of its stage."""
        return step in self._ends

    def visits(self, world: str) -> tuple[Span, ...]:
        """The stages of one world."""
        return tuple(span for span in self.spans if span.name == world)

    def until(self, step: int) -> tuple[Span, ...]:
        """The stages that a run of `step` steps has reached, the last one cut off there."""
        return tuple(Span(span.name, span.start, min(span.end, step)) for span in self.spans if span.start < step)

    def common_steps(self, other: Timeline) -> int:
        """How many steps two streams have in common: the same worlds, and no stage that ends in one of them only.

        >>> Timeline((("mnist", 100), ("fashion", 50))).common_steps(Timeline((("mnist", 100), ("fashion", 80))))
        149
        """
        for mine, theirs in itertools.zip_longest(self.spans, other.spans):
            if mine is None or theirs is None or mine.name != theirs.name:
                return (mine or theirs).start
            if mine.end != theirs.end:
                return min(mine.end, theirs.end) - 1
        return self.total

    def away(self, step: int, world: str) -> bool:
        """Whether a step lies after the first visit to a world and outside all of its visits."""
        visits = self.visits(world)
        return bool(visits) and visits[0].end < step <= self.total and not any(step in visit for visit in visits)
