"""Schedules: which world the learner sees when. The learner itself is never told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vase.worlds.checks import require_int
from vase.worlds.make import make_world
from vase.worlds.spec import STEPS, StreamSpec
from vase.worlds.timeline import Timeline
from vase.worlds.world import Batch, World


@dataclass(frozen=True)
class Stage:
    """``steps`` batches from one world."""

    world: World
    steps: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", require_int("steps", self.steps, 1))
        if not isinstance(self.world, World):
            raise TypeError(f"world = {self.world!r} lacks name, image_shape or sample; make one with make_world(...)")


class Schedule(Iterator[Batch]):
    """Stages in order, in which worlds may return; iterates over batches.

    Batch t is drawn with ``np.random.default_rng([seed, t])`` and depends on nothing else, so the whole state is the
    number of batches handed out, ``step``. A world is identified by its name, in a schedule as in the rows of a run: so
    ``digits`` and ``digits:20`` are two worlds, whatever the default size of a sprite is.

    With ``joint``, every batch mixes all worlds in equal shares; the stages then only say how long that goes on, and
    when measurements are taken.
    """

    def __init__(self, stages: Sequence[Stage], batch_size: int = 64, seed: int = 0, *, joint: bool = False) -> None:
        self.stages = tuple(stages)
        self.batch_size = require_int("batch_size", batch_size, 1)
        self.seed = require_int("seed", seed, 0)
        self.joint = bool(joint)
        self.step = 0
        if not self.stages:
            raise ValueError("stages = (): a schedule needs at least one stage; pass Stage(world, steps)")
        worlds: dict[str, World] = {}
        for stage in self.stages:
            first = worlds.setdefault(stage.world.name, stage.world)
            if first is not stage.world and first != stage.world:
                remedy = "give each its own name, or use the same object in both stages"
                raise ValueError(f"two different worlds are called {first.name!r}: names must differ; {remedy}")
        shapes = {name: tuple(world.image_shape) for name, world in worlds.items()}
        if len(set(shapes.values())) > 1:
            rule = "one learner needs one shape, so give all of them the same canvas and channels"
            raise ValueError(f"image shapes differ within one schedule: {shapes}; {rule}")
        self.timeline = Timeline.of((stage.world.name, stage.steps) for stage in self.stages)

    @classmethod
    def parse(
        cls,
        text: str,
        steps: int = STEPS,
        *,
        batch_size: int = 64,
        seed: int = 0,
        joint: bool = False,
        **options: Any,
    ) -> Schedule:
        """Build a schedule from names: ``"moving-fashion,mnist*500,moving-mnist"``; ``*500`` sets one stage's length.

        A name that occurs again is the same world, so the learner should recognise it. ``options`` are those of
        ``make_world``, e.g. ``canvas=64``.
        """
        stages = StreamSpec.parse(text, steps).stages
        worlds = {world: make_world(world, **options) for world in dict.fromkeys(world for world, _ in stages)}
        found = [Stage(worlds[world], length) for world, length in stages]
        return cls(found, batch_size=batch_size, seed=seed, joint=joint)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of every image of the schedule."""
        return self.stages[0].world.image_shape

    @property
    def switches(self) -> tuple[int, ...]:
        """Steps t whose batch comes from another world than batch t − 1."""
        return () if self.joint else self.timeline.switches

    def stage_of(self, t: int) -> int:
        """Return the index of the stage that batch ``t`` (from 0) belongs to."""
        if not 0 <= t < len(self):
            raise IndexError(f"t = {t}: this schedule has batches 0..{len(self) - 1}")
        return self.timeline.stage_of(t + 1)

    def batch(self, t: int) -> Batch:
        """Return batch ``t`` (from 0) without moving the schedule."""
        chosen, rng = self.stages[self.stage_of(t)].world, np.random.default_rng([self.seed, t])
        if not self.joint:
            return chosen.sample(self.batch_size, rng)
        return _mixed({stage.world.name: stage.world for stage in self.stages}.values(), self.batch_size, rng)

    def __len__(self) -> int:
        return self.timeline.total

    def __next__(self) -> Batch:
        if self.step >= len(self):
            raise StopIteration
        batch = self.batch(self.step)
        self.step += 1
        return batch

    def state_dict(self) -> dict[str, Any]:
        """Return the position, and what a schedule must agree on to continue from it; plain JSON values."""
        return {"step": self.step, **self._identity(), "stages": self._stages()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved ``state_dict()``; a state of another schedule is refused and nothing changes.

        The stages to come may be longer or shorter than those of the saved schedule; what has passed must be the same.
        """
        for key, mine in self._identity().items():
            if key not in state or state[key] != mine:
                found = f"saved schedule has {key} = {state.get(key)!r}, this one {mine!r}"
                raise ValueError(f"{found}: a run can only go on with the schedule it began with; build the same one")
        step = require_int("saved step", state.get("step"), 0)
        if step > len(self):
            raise ValueError(f"saved step = {step}: this schedule ends at {len(self)}; build the same schedule")
        if step > self.timeline.common_steps(saved_timeline(state)):
            found = f"saved schedule has stages = {state['stages']!r}, this one {self._stages()!r}"
            raise ValueError(f"{found}: they differ before step {step}; build a schedule with the same past")
        self.step = step

    def _identity(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "batch_size": self.batch_size,
            "image_shape": list(self.image_shape),
            **({"joint": True} if self.joint else {}),
            "worlds": [[stage.world.name, getattr(stage.world, "sprite", None)] for stage in self.stages],
        }

    def _stages(self) -> list[list[Any]]:
        return [[world, steps] for world, steps in self.timeline.stages]

    def __repr__(self) -> str:
        text = ",".join(f"{world}*{steps}" for world, steps in self.timeline.stages)
        return f"Schedule({text!r}, batch_size={self.batch_size}, seed={self.seed}, step={self.step})"


def _mixed(worlds: Iterable[World], n: int, rng: np.random.Generator) -> Batch:
    """A batch in which each image comes from any of the worlds, with the factors that all of them have."""
    chosen = list(worlds)
    counts = rng.multinomial(n, np.full(len(chosen), 1 / len(chosen)))
    parts = [world.sample(int(count), rng) for world, count in zip(chosen, counts, strict=True) if count]
    order = rng.permutation(n)
    names = [name for name in parts[0].factors if all(name in part.factors for part in parts)]
    factors = {name: np.concatenate([part.factors[name] for part in parts])[order] for name in names}
    return Batch(np.concatenate([part.images for part in parts])[order], factors)


def saved_timeline(state: Mapping[str, Any]) -> Timeline:
    """The stages of a saved ``state_dict()`` of a schedule."""
    try:
        return Timeline.of(state["stages"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"saved schedule has no stages ({error}); use another copy") from error
