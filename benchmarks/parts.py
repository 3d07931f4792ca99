"""Where the time of a step goes: methods are wrapped, and a call belongs to the outermost one that is wrapped."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from benchmarks.reference import PLAIN
from vase.bench.contestants import FIRST, SECOND, Learner, block, timed_config
from vase.bench.report import Part
from vase.bench.timing import Ratio, Spread
from vase.learners import representation
from vase.learners import vase as vase_learner
from vase.method.dream_buffer import DreamBuffer
from vase.method.shift_detector import ShiftDetector
from vase.metrics.probes import ProbeSuite
from vase.nn.ema import EMANetworks
from vase.nn.networks import Networks
from vase.training import RunSettings
from vase.training.plan import probe_settings
from vase.worlds import Schedule, make_world

METHODS: tuple[tuple[str, Any, tuple[str, ...]], ...] = (
    ("data", Schedule, ("__next__",)),
    ("images", representation, ("as_images",)),
    ("encode", Networks, ("encode",)),
    ("decode", Networks, ("decode",)),
    ("backward", torch.Tensor, ("backward",)),
    ("dreams", DreamBuffer, ("sample",)),
    ("inference of the environment", ShiftDetector, ("fit", "receive", "update")),
    ("used latents", vase_learner, ("noise_tolerance",)),
    ("EMA weights", EMANetworks, ("update_ema",)),
    ("optimiser", torch.optim.Adam, ("step", "zero_grad")),
)
"""Part, class or module, and functions."""
REST = "everything else"
SNAPSHOTS = 3
"""That are timed."""
PROBE_WORLDS = (FIRST, "digits", SECOND)
"""Three worlds, two of which move: as many probes as the three-world stream has."""


@dataclass
class Stopwatch:
    """Seconds per part since the last `take`."""

    seconds: dict[str, float] = field(default_factory=dict)
    inside: bool = False

    def wrap(self, part: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """The method, timed unless another part called it."""

        @functools.wraps(method)
        def timed(*args: Any, **kwargs: Any) -> Any:
            if self.inside:
                return method(*args, **kwargs)
            self.inside, start = True, time.perf_counter()
            try:
                return method(*args, **kwargs)
            finally:
                self.seconds[part] = self.seconds.get(part, 0.0) + time.perf_counter() - start
                self.inside = False

        return timed

    def take(self) -> dict[str, float]:
        """What was counted, and start again."""
        found, self.seconds = self.seconds, {}
        return found


@contextmanager
def watched() -> Iterator[Stopwatch]:
    """Time all METHODS while the block lasts."""
    watch = Stopwatch()
    with ExitStack() as stack:
        for part, owner, names in METHODS:
            for name in names:
                own = name in vars(owner)
                method = getattr(owner, name)
                setattr(owner, name, watch.wrap(part, method))
                stack.callback(*((setattr, owner, name, method) if own else (delattr, owner, name)))
        yield watch


def measure(preset: str, rounds: int) -> Part:
    """Time per part of a step with dreaming; probes and snapshots are spread over the steps between two of them."""
    config = timed_config(preset, **PLAIN)
    steps, side = block(config), config.image_shape[-1]
    learner = Learner(config, 2)
    stream = Schedule.parse(
        SECOND, rounds * steps + SNAPSHOTS, batch_size=config.batch_size, canvas=side, sprite=side * 5 // 8, seed=1
    )
    learner.batches = (batch.images for batch in stream)
    found: list[dict[str, float]] = []
    with watched() as watch:
        for _ in range(rounds):
            start = time.perf_counter()
            for _ in range(steps):
                learner()
            whole = time.perf_counter() - start
            taken = watch.take()
            found.append({**taken, REST: whole - sum(taken.values())})
    parts = [part for part, _, _ in METHODS] + [REST]
    totals = [sum(round_.values()) / steps for round_ in found]
    rows = [_row(part, [round_.get(part, 0.0) / steps for round_ in found], Spread.of(totals).median) for part in parts]
    rows.append(_row("a step", totals, Spread.of(totals).median))
    probes, every = _probes(preset, learner, max(2, rounds // 2))
    rows.append(_row(f"probes, every {every} steps", [s / every for s in probes], Spread.of(totals).median))
    notes = [
        "Methods are timed by wrapping them; a call counts for the outermost of them, so that the snapshot's passes "
        "are part of the dreams.",
        *_snapshot(learner, Spread.of(totals).median),
    ]
    step = Spread.of(totals).median
    share = [bout / every / (bout / every + step) for bout in probes]
    ratio = Ratio.of("probes / run", share, [1.0] * len(share), at_most=0.10)
    return Part("parts", f"Where the time goes: {preset} preset, dreaming", rows, [ratio], notes)


def _row(part: str, seconds: list[float], whole: float) -> dict[str, Any]:
    return {
        "part": part,
        "ms per step": Spread.of([1e3 * s for s in seconds]),
        "% of a step": 100 * Spread.of(seconds).median / whole,
    }


def _probes(preset: str, learner: Learner, bouts: int) -> tuple[list[float], int]:
    """Seconds of a bout of the probes of three worlds, and steps between two bouts, as a run of the preset has it."""
    settings = probe_settings(RunSettings.of(preset))
    assert settings is not None
    side = learner.model.config_.image_shape[-1]
    place: dict[str, Any] = {"canvas": side, "sprite": side * 5 // 8}
    worlds = {
        name: (make_world(name, split="train", **place), make_world(name, split="test", **place))
        for name in PROBE_WORLDS
    }
    suite = ProbeSuite(worlds, settings)
    found = []
    for bout in range(bouts + 1):
        start = time.perf_counter()
        suite.after_step(learner.model, settings.every * (bout + 1))
        found.append(time.perf_counter() - start)
    return found[1:], settings.every


def _snapshot(learner: Learner, step: float) -> list[str]:
    """What a new snapshot costs, its pool of dreams included."""
    found = []
    for _ in range(SNAPSHOTS):
        start = time.perf_counter()
        learner.model.dreams_.take_snapshot(learner.model.networks_, learner.model.steps)
        learner()
        found.append(time.perf_counter() - start - step)
    cost, dreaming = sorted(found)[SNAPSHOTS // 2], learner.model.config_.dreaming
    often = f"every {dreaming.tau} steps" if dreaming.snapshot == "every" else "when an environment is left"
    return [f"A snapshot with a pool of {dreaming.pool} dreams takes {1e3 * cost:.0f} ms, {often}."]
