"""Schedules: which environment the learner sees when. The learner itself is never told."""

from __future__ import annotations

import bisect
import itertools
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vase.worlds.names import make_world
from vase.worlds.sources import Report
from vase.worlds.world import Batch, World, whole


@dataclass(frozen=True)
class Stage:
    """``steps`` batches from one environment."""

    world: World
    steps: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", whole("steps", self.steps, 1))
        if not isinstance(self.world, World):
            raise TypeError(f"world = {self.world!r} lacks name, image_shape or sample; make one with make_world(...)")


class Schedule(Iterator[Batch]):
    """Stages in order, environments may return; iterates over batches.

    Batch t is drawn with ``np.random.default_rng([seed, t])`` and depends on nothing else, so the whole state is the
    number of batches handed out, ``step``: saved and restored, a schedule continues exactly.
    """

    def __init__(self, stages: tuple[Stage, ...] | list[Stage], batch_size: int = 64, seed: int = 0) -> None:
        self.stages = tuple(stages)
        self.batch_size = whole("batch_size", batch_size, 1)
        self.seed = whole("seed", seed, 0)
        self.step = 0
        if not self.stages:
            raise ValueError("stages = (): a schedule needs at least one stage; pass Stage(environment, steps)")
        shapes = {stage.world.name: tuple(stage.world.image_shape) for stage in self.stages}
        if len(set(shapes.values())) > 1:
            raise ValueError(
                f"image shapes differ within one schedule: {shapes}; one learner needs one shape, so give all of them "
                "the same canvas and channels"
            )
        self._ends = tuple(itertools.accumulate(stage.steps for stage in self.stages))

    @classmethod
    def parse(
        cls,
        text: str,
        steps: int = 3000,
        *,
        batch_size: int = 64,
        seed: int = 0,
        canvas: int = 32,
        sprite: int = 20,
        split: str = "train",
        folder: str | os.PathLike[str] | None = None,
        faces: str | os.PathLike[str] | None = None,
        frames: str | os.PathLike[str] | None = None,
        fallback: bool = False,
        report: Report | None = None,
    ) -> Schedule:
        """Build a schedule from names: ``"moving-fashion,mnist*500,moving-mnist"``; ``*500`` sets one stage's length.

        A name that occurs again is the same environment, so the learner should recognise it.
        """
        steps = whole("steps", steps, 1)
        known: dict[str, World] = {}
        stages = []
        for position, entry in enumerate(text.split(","), start=1):
            match = re.fullmatch(r"(.+?)(?:\*(.*))?", entry.strip(), flags=re.DOTALL)
            if match is None:
                raise ValueError(f"stream {text!r}: entry {position} is empty; write names with single commas between")
            name, length = match[1].strip(), steps
            if match[2] is not None:
                if not re.fullmatch(r"\s*\d+\s*", match[2]) or int(match[2]) < 1:
                    raise ValueError(
                        f"stream entry {entry.strip()!r}: after * comes a number of steps >= 1, e.g. mnist*500"
                    )
                length = int(match[2])
            if name not in known:
                known[name] = make_world(
                    name,
                    canvas=canvas,
                    sprite=sprite,
                    split=split,
                    folder=folder,
                    faces=faces,
                    frames=frames,
                    fallback=fallback,
                    report=report,
                )
            stages.append(Stage(known[name], length))
        return cls(stages, batch_size=batch_size, seed=seed)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of every image of the schedule."""
        return self.stages[0].world.image_shape

    @property
    def switches(self) -> tuple[int, ...]:
        """Steps t whose batch comes from another environment than batch t − 1."""
        pairs = itertools.pairwise(self.stages)
        return tuple(
            end
            for end, (before, after) in zip(self._ends, pairs, strict=False)
            if before.world is not after.world and before.world != after.world
        )

    def stage_of(self, t: int) -> int:
        """Return the index of the stage that batch ``t`` (from 0) belongs to."""
        if not 0 <= t < len(self):
            raise IndexError(f"t = {t}: this schedule has batches 0..{len(self) - 1}")
        return bisect.bisect_right(self._ends, t)

    def batch(self, t: int) -> Batch:
        """Return batch ``t`` (from 0) without moving the schedule."""
        chosen = self.stages[self.stage_of(t)].world
        return chosen.sample(self.batch_size, np.random.default_rng([self.seed, t]))

    def __len__(self) -> int:
        return self._ends[-1]

    def __iter__(self) -> Schedule:
        return self

    def __next__(self) -> Batch:
        if self.step >= len(self):
            raise StopIteration
        batch = self.batch(self.step)
        self.step += 1
        return batch

    def state_dict(self) -> dict[str, Any]:
        """Return the position, and what a schedule must agree on to continue from it; plain JSON values."""
        return {"step": self.step, **self._identity()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved ``state_dict()``; a state of another schedule is refused and nothing changes."""
        for key, mine in self._identity().items():
            if key not in state or state[key] != mine:
                raise ValueError(
                    f"saved schedule has {key} = {state.get(key)!r}, this one {mine!r}: a run can only go on with the "
                    "schedule it was started with; build the same one"
                )
        step = whole("saved step", state.get("step"), 0)
        if step > len(self):
            raise ValueError(f"saved step = {step}: this schedule ends at {len(self)}; build the same schedule")
        self.step = step

    def _identity(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "batch_size": self.batch_size,
            "image_shape": list(self.image_shape),
            "stages": [[s.world.name, getattr(s.world, "sprite", None), s.steps] for s in self.stages],
        }

    def __repr__(self) -> str:
        text = ",".join(f"{stage.world.name}*{stage.steps}" for stage in self.stages)
        return f"Schedule({text!r}, batch_size={self.batch_size}, seed={self.seed}, step={self.step})"
