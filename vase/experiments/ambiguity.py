"""Ambiguous images between two worlds, and what company makes of them (Figure 4A): faces → inverse Fashion."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from vase.experiments.study import THREE_SEEDS, Condition, Experiment, Findings, Results
from vase.experiments.tables import Entry, Table, spread
from vase.learner import VASE
from vase.report.album import as_bytes, environment_of
from vase.report.record import Record
from vase.runs import Plan

WEIGHTS = np.linspace(0, 1, 21)
"""Share of the second world in a mixture of two images."""
BATCH = 64
AMBIGUOUS = (58, 51, 45, 38, 32, 26, 19, 13, 6)
"""Ambiguous images in a batch of BATCH; the others are real ones of one world: from 10 % to 90 %."""
REPEATS = 4
"""Batches behind every number."""
SHOWN = 6
"""Pairs of images that are shown."""


def mixtures(a: Float[np.ndarray, "B *s"], b: Float[np.ndarray, "B *s"], weight: float) -> Float[np.ndarray, "B *s"]:
    """Linear interpolations: (1 − weight)·a + weight·b."""
    return ((1 - weight) * a + weight * b).astype(np.float32)


def crossing(x: Float[np.ndarray, " T"], y: Float[np.ndarray, " T"], level: float) -> float | None:
    """Where a falling curve first comes down to a level, by linear interpolation; None if it never does.

    >>> crossing(np.array([0.0, 1.0]), np.array([1.0, 0.0]), 0.25)
    0.75
    """
    below = np.flatnonzero(y <= level)
    if not len(below):
        return None
    i = int(below[0])
    if i == 0:
        return float(x[0])
    share = (y[i - 1] - level) / (y[i - 1] - y[i])
    return float(x[i - 1] + share * (x[i] - x[i - 1]))


def width(x: Float[np.ndarray, " T"], y: Float[np.ndarray, " T"]) -> float | None:
    """How much of x a falling curve takes from 0.9 to 0.1; None if it does not cross both."""
    start, end = crossing(x, y, 0.9), crossing(x, y, 0.1)
    return None if start is None or end is None else end - start


def examine(model: VASE, plan: Plan, record: Record) -> Findings:
    """q(s = first world) for every mixing weight and company; posteriors and reconstructions along the weight."""
    rng = np.random.default_rng([plan.settings.seed, 20_181_204])
    home = environment_of(record)
    (first, second), worlds = record.worlds[:2], plan.worlds

    def real(world: str, n: int) -> np.ndarray:
        return np.asarray(worlds[world][1].sample(n, rng).images, np.float32) / 255

    pairs = [(real(first, BATCH), real(second, BATCH)) for _ in range(REPEATS)]
    company = {world: [real(world, BATCH) for _ in range(REPEATS)] for world in (first, second)}
    s = home[first]

    def probability(count: int, weight: float, around: str | None) -> float:
        found = []
        for number, (a, b) in enumerate(pairs):
            x = mixtures(a[:count], b[:count], weight)
            others = None if around is None else company[around][number][: BATCH - count]
            found.append(float(model.infer_environment(x, context=others).probabilities[s]))
        return float(np.mean(found))

    maps = {
        around: [[round(probability(count, w, around), 5) for w in WEIGHTS] for count in AMBIGUOUS]
        for around in (first, second)
    }
    alone = [round(probability(BATCH, w, None), 5) for w in WEIGHTS]
    a, b = pairs[0]
    posterior = [model.posterior(mixtures(a, b, w)) for w in WEIGHTS]
    findings = {
        "worlds": [first, second],
        "environments": [home[first], home[second]],
        "used": [model.environments[home[world]].used.tolist() for world in (first, second)],
        "weights": [round(float(w), 4) for w in WEIGHTS],
        "ambiguous": list(AMBIGUOUS),
        "alone": alone,
        "company": maps,
        "std": [np.round(std.mean(0), 5).tolist() for _, std in posterior],
        "example": {
            "mean": [np.round(mean[0], 4).tolist() for mean, _ in posterior],
            "std": [np.round(std[0], 4).tolist() for _, std in posterior],
        },
    }
    steps = WEIGHTS[::2]
    mixed = np.stack([mixtures(a[:SHOWN], b[:SHOWN], w) for w in steps], 1)
    flat = mixed.reshape(-1, *mixed.shape[2:])
    pictures = {"mixed": as_bytes(mixed)} | {
        f"as {world}": as_bytes(model.reconstruct(flat, environment=home[world]).reshape(mixed.shape))
        for world in (first, second)
    }
    return Findings(findings, pictures)


def uncertainty(found: dict[str, Any]) -> tuple[float, float]:
    """Mean standard deviation of the latents that a world uses: at the midpoint, and at the world's own end.

    Averaged over the two worlds, each with its latents.
    """
    std = np.asarray(found["std"])
    middle = len(std) // 2
    at_middle = [std[middle][used].mean() for used in map(np.asarray, found["used"])]
    at_ends = [std[end][np.asarray(used)].mean() for end, used in zip((0, -1), found["used"], strict=True)]
    return float(np.mean(at_middle)), float(np.mean(at_ends))


def perception(results: Results) -> Table:
    """How sharp the boundary is, how company moves it, and whether the posterior tells its doubt."""
    rows: list[tuple[Entry, ...]] = []
    for condition in results.experiment.conditions:
        for run in results.of(condition.name):
            found = run.findings
            x, first = np.asarray(found["weights"]), found["worlds"][0]
            curves = np.asarray(found["company"][first])
            widths = [width(x, curve) for curve in [*curves, *np.asarray(found["company"][found["worlds"][1]])]]
            places = [crossing(x, curve, 0.5) for curve in curves]
            known = [place for place in places if place is not None]
            moved = None if None in (places[0], places[-1]) else known[-1] - known[0]
            steady = len(known) == len(places) and all(np.diff(known) >= 0)
            middle, ends = uncertainty(found)
            rows.append(
                (
                    run.seed,
                    run.summary["environments"],
                    run.summary["false_alarms"],
                    spread([w for w in widths if w is not None], scale=100, digits=0),
                    f"{sum(w is not None for w in widths)} of {len(widths)}",
                    _percent(places[0]),
                    _percent(places[-1]),
                    _percent(moved),
                    "yes" if steady else "no",
                    f"{middle:.3f}",
                    f"{ends:.3f}",
                )
            )
    columns = (
        "seed",
        "environments",
        "false alarms",
        "0.9 → 0.1 (% of the range)",
        "contexts that cross both",
        "boundary, 10 % faces (%)",
        "boundary, 90 % faces (%)",
        "moved by (%)",
        "monotonic",
        "σ in the middle",
        "σ at the ends",
    )
    notes = (
        "Mixing weight from 0 (faces) to 100 % (inverse Fashion). 0.9 → 0.1: how much of it the probability of faces "
        "takes to fall, over all numbers of ambiguous images among real ones of either world. boundary: where it is "
        "one half, among 10 % and 90 % real faces. σ: of the latents that a world uses, averaged over both worlds.",
    )
    return Table("Ambiguity: categorical perception", columns, tuple(rows), notes)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f}"


AMBIGUITY = Experiment(
    name="ambiguity",
    title="Figure 4A: mixtures of faces and inverse Fashion, in company",
    stream="faces,soft-inverse-fashion:32",
    steps={"laptop": 1_500, "paper": 30_000},
    conditions=(Condition("disentangled-SDA", seeds=THREE_SEEDS, shown=True),),
    tables={"perception": perception},
    options={"probes": "none", "measures": False, "canvas": 32},
    values={
        "paper": {
            "capacity.gamma": 200,
            "capacity.c_max": 20,
            "capacity.ramp_steps": 58_824,
            "mask.threshold": 0.8,
            "environments.kappa": 1.1,
        }
    },
    examine=examine,
)
