"""Time to quality: steps and minutes of one core until the identity of moving Fashion can be read from the code."""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from jaxtyping import Float

from vase.bench.report import Part
from vase.bench.timing import Spread
from vase.config import VASEConfig, preset
from vase.learners.vase import VASE
from vase.metrics.frozen import FrozenProbes
from vase.worlds import make_world

WORLD = "moving-fashion"
GOALS = (0.60, 0.65, 0.70)
"""Shares of right answers of a fresh probe on the frozen encoder."""
EVERY = 250
"""Steps between two scores, which do not count as time."""
MOST = 6_000
"""Steps after which a contestant gives up."""
STANDARD_VAE = {
    "capacity.objective": "elbo",
    "environments.enabled": False,
    "dreaming.enabled": False,
    "mask.enabled": False,
}
"""What makes a plain VAE of the learner."""


class Encodes(Protocol):
    """What is trained and scored."""

    def partial_fit(self, images: Any) -> Any:
        """Learn from one batch."""

    def posterior(self, images: Any) -> tuple[Float[np.ndarray, "B N"], Float[np.ndarray, "B N"]]:
        """Mean and standard deviation of q(z|x)."""


class Reached(NamedTuple):
    """When a goal was reached."""

    steps: int
    """Training steps: unlike minutes, they do not depend on the machine and its load."""
    minutes: float
    """Of one core, scores left out."""


Make = Callable[[VASEConfig, int], Encodes]
"""From a configuration and a seed."""


def measure(name: str, rounds: int) -> Part:
    """Minutes to each goal, for as many seeds as there are rounds."""
    config = preset(name)
    side = config.image_shape[-1]
    train, test = (make_world(WORLD, canvas=side, split=split) for split in ("train", "test"))
    probes = FrozenProbes({WORLD: (train, test)})
    rows = []
    for contestant, make in contestants().items():
        runs = [
            times_to(GOALS, make(config, seed), batches(train, config.batch_size, seed), partial(identity, probes))
            for seed in range(rounds)
        ]
        rows.append({"learner": contestant, **summary(runs)})
    title = f"Minutes of one core until identity of {WORLD} reaches a goal, {name} preset, seeds 0 to {rounds - 1}"
    return Part("quality", title, rows, [], notes())


def contestants() -> dict[str, Make]:
    """VASE, the plain VAE of the same networks, and pythae's models on them where it is installed."""
    known: dict[str, Make] = {
        "VASE": lambda config, seed: VASE(config, seed=seed),
        "plain VAE": lambda config, seed: VASE(config.with_values(STANDARD_VAE), seed=seed),
    }
    if importlib.util.find_spec("pythae") is not None:
        peers = importlib.import_module("vase.bench.pythae")
        known |= {"pythae's β-TCVAE": peers.BetaTCVAE, "pythae's FactorVAE": peers.FactorVAE}
    return known


def batches(world: Any, size: int, seed: int) -> Iterator[np.ndarray]:
    """Batches without end."""
    rng = np.random.default_rng(seed)
    while True:
        yield world.sample(size, rng).images


def identity(probes: FrozenProbes, learner: Any, step: int) -> float:
    """The share of held-out garments that a fresh probe names."""
    return next(float(row["accuracy"]) for row in probes.score(learner, step) if row["probe"] == "identity")


def times_to(
    goals: Sequence[float],
    learner: Encodes,
    stream: Iterator[np.ndarray],
    score: Callable[[Encodes, int], float],
    *,
    every: int = EVERY,
    most: int = MOST,
    clock: Callable[[], float] = time.process_time,
) -> list[Reached | None]:
    """When each goal was first reached; None where it was not within `most` steps."""
    found: list[Reached | None] = [None] * len(goals)
    spent = 0.0
    for step in range(every, most + 1, every):
        ready = [next(stream) for _ in range(every)]
        begin = clock()
        for images in ready:
            learner.partial_fit(images)
        spent += clock() - begin
        now = score(learner, step)
        found = [
            Reached(step, spent / 60) if known is None and now >= goal else known
            for known, goal in zip(found, goals, strict=True)
        ]
        if None not in found:
            break
    return found


def summary(runs: Sequence[Sequence[Reached | None]]) -> dict[str, Spread | str]:
    """Minutes and steps to each goal: the median over all runs, or how many reached it where not all of them."""
    minutes: dict[str, Spread | str] = {}
    steps: dict[str, Spread | str] = {}
    for goal, column in zip(GOALS, zip(*runs, strict=True), strict=True):
        name, reached = f"{100 * goal:.0f} %", [value for value in column if value is not None]
        whole = len(reached) == len(runs)
        few = f"{len(reached)} of {len(runs)} within {MOST:,} steps"
        minutes[name] = Spread.of([value.minutes for value in reached]) if whole else few
        steps[f"steps to {name}"] = Spread.of([float(value.steps) for value in reached]) if whole else "–"
    return minutes | steps


def notes() -> list[str]:
    """How to read the numbers."""
    found = [f"Scored every {EVERY} steps by a fresh probe on the frozen encoder, whose time does not count."]
    if importlib.util.find_spec("pythae") is None:
        found.append("pythae is not installed, so that its β-TCVAE and FactorVAE are left out: pip install pythae.")
    return found
