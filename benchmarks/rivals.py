"""What a step of every method of the comparison costs, all of them on one processor, one after the other.

A short form of the first stream: what a method does at a change of world is timed apart, and counts as often as in the
stream itself.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from vase.bench.report import Part
from vase.bench.timing import Spread
from vase.experiments.rivals.analysis import name_of
from vase.experiments.rivals.settings import CHOSEN, RIVALS
from vase.learners.protocol import WantsBoundaries
from vase.training import RunSettings
from vase.training.plan import build_learner, make_plan

STEPS, SETTLING, BLOCK = 360, 60, 100
"""Steps of a world, those at its beginning in which the change of world is noticed and dealt with, and those that are
averaged: some methods do something now and then."""
PLAIN_VAE = "fine-tuned-VAE"


@dataclass(frozen=True)
class Cost:
    """Processor time of one method, in milliseconds."""

    steps: tuple[Spread, ...]
    """Of a step in each world, once it is settled."""
    changes: tuple[float, ...]
    """Of what is done beside at the beginning of each world."""

    def average(self, steps: int) -> float:
        """Of a step, where each world lasts so many."""
        worlds = zip(self.steps, self.changes, strict=True)
        return sum(step.median + change / steps for step, change in worlds) / len(self.steps)


def cost_of(settings: RunSettings) -> Cost:
    """The cost of a method on a short stream."""
    plan = make_plan(settings)
    learner = build_learner(plan.settings, plan.config)
    seconds: list[list[float]] = []
    for number, batch in enumerate(plan.schedule):
        begin = time.process_time()
        if number % STEPS == 0:
            seconds.append([])
            if number and isinstance(learner, WantsBoundaries) and learner.wants_boundaries:
                learner.begin_world()
        learner.partial_fit(batch.images)
        seconds[-1].append(1e3 * (time.process_time() - begin))
    steps = tuple(Spread.of(np.reshape(world[SETTLING:], (-1, BLOCK)).mean(1)) for world in seconds)
    rest = zip(seconds, steps, strict=True)
    return Cost(steps, tuple(max(0.0, sum(world[:SETTLING]) - SETTLING * step.median) for world, step in rest))


def measure(preset: str, rounds: int) -> Part:
    """Every method of the first stream; `rounds` are not used, since all steps of a stream are timed."""
    whole = RIVALS.settings(RIVALS.condition(PLAIN_VAE), 0, preset)
    length = whole.lengths[0]
    costs: dict[str, Cost] = {}
    for condition in RIVALS.conditions:
        options = dict(condition.learner_options)
        if options.get("boundaries") == CHOSEN["every"]:
            options["boundaries"] = CHOSEN["every"] * STEPS // length
        settings = RIVALS.settings(condition, 0, preset)
        costs[condition.name] = cost_of(replace(settings, steps=STEPS, learner_options=options))
    plain = costs[PLAIN_VAE].average(length)
    rows = [
        {
            "method": name_of(name),
            "condition": name,
            "first world (ms)": cost.steps[0],
            "third world (ms)": cost.steps[-1],
            "a change of world (ms)": sum(cost.changes[1:]) / len(cost.changes[1:]),
            "step (ms)": cost.average(length),
            "relative to fine-tuned VAE": cost.average(length) / plain,
        }
        for name, cost in costs.items()
    ]
    notes = [
        f"Processor time of `partial_fit`, medians of blocks of {BLOCK} steps; {RIVALS.stream}, {STEPS} steps "
        "each. A change of world: "
        f"what its first {SETTLING} steps take beyond that. step: on average, with {length:,} steps per world. "
        "relative to fine-tuned VAE: of the step.",
    ]
    return Part("rivals", "Steps of the methods of the comparison", rows, notes=notes)
