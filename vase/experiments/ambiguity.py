"""Ambiguous images between two worlds, and what company makes of them (Figure 4A): faces → inverse Fashion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float, Float32

from vase.experiments.study import THREE_SEEDS, Condition, Experiment, Findings, Results
from vase.experiments.tables import Entry, Spread, Table, spread
from vase.images import as_bytes, as_floats
from vase.learners.vase import VASE
from vase.method.context import in_context
from vase.metrics.record import Record
from vase.training import Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WEIGHTS = np.linspace(0, 1, 21)
"""Share of the second world in a mixture of two images."""
BATCH = 64
AMBIGUOUS = tuple(range(BATCH - 1, 0, -1))
"""Ambiguous images in a batch of BATCH; the others are real ones of one world."""
TOLD = (58, 51, 45, 38, 32, 26, 19, 13, 6)
"""Those of which tables tell: from 10 % to 90 % real images."""
REPEATS = 4
"""Batches of pairs behind every number."""
SHOWN = 6
"""Pairs of images that are shown."""


# ------------------------------------------------------------------------------------------------ pieces


def mixtures(a: np.ndarray, b: np.ndarray, weight: float) -> Float32[np.ndarray, "..."]:
    """Linear interpolations in [0, 1]: (1 − weight)·a + weight·b."""
    one, other = (as_floats(images).astype(np.float64) for images in (a, b))  # the sum must not exceed 1 by rounding
    return ((1 - weight) * one + weight * other).astype(np.float32)


def crossing(x: Float[np.ndarray, " T"], y: Float[np.ndarray, " T"], level: float) -> float | None:
    """Where a curve that begins above a level first comes down to it, by linear interpolation; None if it does not.

    >>> crossing(np.array([0.0, 1.0]), np.array([1.0, 0.0]), 0.25)
    0.75
    """
    below = np.flatnonzero(y <= level)
    if not len(below) or y[0] < level:
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


def among(
    looks: Float32[np.ndarray, "T R B K"],
    company: Float32[np.ndarray, "R B K"],
    count: int,
    environments: Sequence[int],
) -> Float[np.ndarray, " T"]:
    """Mean probability of some environments for images that come `count` at a time in a batch of real ones.

    Args:
        looks: q(s|x) of R batches of images at each of T mixing weights; each batch is cut into as many groups of
            `count` as it holds.
        company: q(s|x) of as many real images for every batch; the first of them fill up each group.
        count: images in a group.
        environments: those whose probabilities are added.
    """
    t, r, size, k = looks.shape
    n = size // count
    groups = torch.from_numpy(looks[:, :, : n * count]).reshape(t, r, n, count, k)
    rest = torch.from_numpy(company[:, : size - count]).reshape(r, 1, size - count, k).expand(t, r, n, size - count, k)
    found: Float[np.ndarray, " T"] = in_context(groups, rest)[..., list(environments)].sum(-1).mean((1, 2, 3)).numpy()
    return found


# ------------------------------------------------------------------------------------------------ questions


def examine(model: VASE, plan: Plan, record: Record) -> Findings:
    """q(s = first world) for every mixing weight and company; posteriors and reconstructions along the weight.

    An image is seen as of a world with the probability of all environments that mostly stood for that world.
    """
    rng = np.random.default_rng([plan.settings.seed, 20_181_204])
    worlds = record.worlds[:2]
    home = _homes(model, record, worlds)
    stood = [s for s, world in record.world_of.items() if world == worlds[0] and s < len(model.environments)]
    first = stood or home[:1]

    def real(world: str) -> Float32[np.ndarray, "B C H W"]:
        return as_floats(plan.worlds[world][1].sample(BATCH, rng).images)

    def look(images: np.ndarray) -> Float32[np.ndarray, "B K"]:
        return model.infer_environment(images).each

    pairs = [(real(worlds[0]), real(worlds[1])) for _ in range(REPEATS)]
    company = {world: np.stack([look(real(world)) for _ in range(REPEATS)]) for world in worlds}
    looks = np.array([[look(mixtures(a, b, w)) for a, b in pairs] for w in WEIGHTS])
    single = looks[..., first].sum(-1).reshape(len(WEIGHTS), -1)
    a, b = pairs[0]
    posterior = [model.posterior(mixtures(a, b, w)) for w in WEIGHTS]
    numbers = {
        "worlds": list(worlds),
        "environments": home,
        "seen_as_first": first,
        "used": [model.environments[s].used.tolist() for s in home],
        "weights": [round(float(w), 4) for w in WEIGHTS],
        "batch": BATCH,
        "ambiguous": list(AMBIGUOUS),
        "alone": _rounded(single.mean(1)),
        "pairs": _pairs(single),
        "company": {
            world: [_rounded(among(looks, company[world], count, first)) for count in AMBIGUOUS] for world in worlds
        },
        "real": {world: round(float(company[world][..., first].sum(-1).mean()), 4) for world in worlds},
        "std": [_rounded(std.mean(0)) for _, std in posterior],
        "example": {
            "mean": [_rounded(mean[0]) for mean, _ in posterior],
            "std": [_rounded(std[0]) for _, std in posterior],
        },
    }
    mixed = np.stack([mixtures(a[:SHOWN], b[:SHOWN], w) for w in WEIGHTS[::2]], 1)
    flat = mixed.reshape(-1, *mixed.shape[2:])
    decoded = {
        name: model.reconstruct(flat, environment=s).reshape(mixed.shape)
        for name, s in zip(("first", "second"), home, strict=True)
    }
    return Findings(numbers, {name: as_bytes(images) for name, images in {"mixed": mixed, **decoded}.items()})


def _homes(model: VASE, record: Record, worlds: Sequence[str]) -> list[int]:
    """The environment of each of two worlds; the same one if the learner saw no difference."""
    found, known = record.environment_of, len(model.environments)
    missing = [world for world in worlds if found.get(world, known) >= known]
    if missing or len(worlds) < 2:
        what = f"the run never came to {missing[0]}" if missing else f"the stream has no second world after {worlds[0]}"
        raise ValueError(f"nothing to ask about mixtures: {what}; run the whole stream of two worlds.")
    return [found[world] for world in worlds]


def _pairs(single: Float[np.ndarray, "T P"]) -> dict[str, Any]:
    """How every pair of images by itself goes over from one world to the other."""
    widths = [w for curve in single.T if (w := width(WEIGHTS, curve)) is not None]
    return {
        "count": single.shape[1],
        "cross": len(widths),
        "width": round(float(np.median(widths)), 4) if widths else None,
    }


def _rounded(values: Any) -> list[float]:
    return [round(float(value), 4) for value in values]


# ------------------------------------------------------------------------------------------------ tables


def uncertainty(found: dict[str, Any]) -> list[tuple[float, ...] | None]:
    """Of each world, the mean standard deviation of the latents it uses: at its own end, in the middle, at the other.

    None for a world that uses no latent.
    """
    std, rows = np.asarray(found["std"]), []
    for used, ends in zip(found["used"], ((0, -1), (-1, 0)), strict=True):
        level = std[:, np.flatnonzero(used)].mean(1) if any(used) else None
        places = (ends[0], len(std) // 2, ends[1])
        rows.append(None if level is None else tuple(float(level[place]) for place in places))
    return rows


def curves(found: dict[str, Any], world: int, counts: Sequence[int] = TOLD) -> Float[np.ndarray, "counts T"]:
    """The probability of the first world along the weight, for some numbers of images among real ones of a world."""
    every = dict(zip(found["ambiguous"], found["company"][found["worlds"][world]], strict=True))
    return np.array([every[count] for count in counts])


def batch_means(found: dict[str, Any], world: int) -> Float[np.ndarray, "counts T"]:
    """The same by the paper's rule: the mean of q(s|x) over the whole batch."""
    shares = np.array(TOLD)[:, None] / found["batch"]
    return shares * np.asarray(found["alone"]) + (1 - shares) * found["real"][found["worlds"][world]]


def boundaries(found: dict[str, Any], world: int, counts: Sequence[int] = TOLD) -> list[float | None]:
    """Mixing weights at which the first world's probability is one half; None where that is nowhere in the range."""
    x = np.asarray(found["weights"])
    return [crossing(x, curve, 0.5) for curve in curves(found, world, counts)]


def widths(found: dict[str, Any], world: int) -> list[float | None]:
    """How much of the range the fall from 0.9 to 0.1 takes; None where the curve does not cross both."""
    x = np.asarray(found["weights"])
    return [width(x, curve) for curve in curves(found, world)]


def perception(results: Results) -> Table:
    """How sharp the boundary is, how company moves it, and whether the posterior tells its doubt."""
    rows: list[tuple[Entry, ...]] = []
    for run in results.runs:
        found = run.findings
        wide = [*widths(found, 0), *widths(found, 1)]
        places = boundaries(found, 0)
        known = [place for place in places if place is not None]
        first, last = places[0], places[-1]
        moved = None if first is None or last is None else last - first
        steady = len(known) == len(places) and all(np.diff(known) >= 0)
        pairs = found["pairs"]
        rows.append(
            (
                run.seed,
                run.summary["environments"],
                run.summary["false_alarms"],
                spread(wide, scale=100),
                f"{sum(w is not None for w in wide)} of {len(wide)}",
                _percent(pairs["width"]),
                _percent(first),
                _percent(last),
                _percent(moved),
                "yes" if steady else "no",
                *(_doubt(numbers) for numbers in uncertainty(found)),
            )
        )
    columns = (
        "seed",
        "environments",
        "false alarms",
        "0.9 → 0.1 (%)",
        "contexts that cross both",
        "0.9 → 0.1, one pair (%)",
        "boundary, 10 % faces (%)",
        "boundary, 90 % faces (%)",
        "moved by (%)",
        "monotonic",
        "σ of faces' latents",
        "σ of Fashion's latents",
    )
    notes = (
        "Mixing weight from 0 (faces) to 100 % (inverse Fashion). 0.9 → 0.1: how much of it the probability of faces "
        "takes to fall, mean and standard deviation over the companies of the next table; one pair: median over single "
        "pairs of images without company. boundary: where the probability is one half, among 10 % and 90 % real "
        "faces; – if nowhere. monotonic: it never goes back as faces become more. σ: mean over the latents that a "
        "world uses, at its own end, in the middle and at the other end.",
    )
    return Table("Ambiguity: categorical perception", columns, tuple(rows), notes)


def company(results: Results) -> Table:
    """Where the boundary lies and how wide it is, by number and world of the real images around."""
    found = [run.findings for run in results.runs]
    x = [np.asarray(one["weights"]) for one in found]
    alone = [np.asarray(one["alone"]) for one in found]
    without = _spread(crossing(w, y, 0.5) for w, y in zip(x, alone, strict=True))
    wide = _spread(width(w, y) for w, y in zip(x, alone, strict=True))
    rows: list[tuple[Entry, ...]] = [("none", without, without, wide, wide, without, without)]
    for number, count in enumerate(TOLD):
        share = f"{100 * (1 - count / found[0]['batch']):.0f}"
        places = [_spread(boundaries(one, world)[number] for one in found) for world in (0, 1)]
        ranges = [_spread(widths(one, world)[number] for one in found) for world in (0, 1)]
        means = [
            _spread(crossing(w, batch_means(one, world)[number], 0.5) for w, one in zip(x, found, strict=True))
            for world in (0, 1)
        ]
        rows.append((share, *places, *ranges, *means))
    columns = (
        "real images (%)",
        "boundary, faces (%)",
        "boundary, Fashion (%)",
        "0.9 → 0.1, faces (%)",
        "0.9 → 0.1, Fashion (%)",
        "batch mean, faces (%)",
        "batch mean, Fashion (%)",
    )
    notes = (
        "Ambiguous images among real faces or real inverse Fashion. batch mean: the boundary if a batch is judged by "
        "the mean of q(s|x) over all its images, as in the paper's algorithm; – where real images outvote mixtures. "
        "boundary: mixing weight, from 0 (faces) to 100 % "
        "(inverse Fashion), at which the probability of faces is one half; mean ± standard deviation over the "
        f"{len(found)} seed{'s' * (len(found) > 1)}.",
    )
    return Table("Ambiguity: what company does", columns, tuple(rows), notes)


def _spread(values: Any) -> Spread:
    return spread(list(values), scale=100)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}".replace("-", "−")


def _doubt(numbers: tuple[float, ...] | None) -> str:
    return "–" if numbers is None else " → ".join(f"{number:.3f}" for number in numbers)


def _figure4a(results: Results) -> Figure:
    from vase.experiments.ambiguity_figure import figure4a  # here, because it reads this module

    return figure4a(results)


AMBIGUITY = Experiment(
    name="ambiguity",
    title="Figure 4A: mixtures of faces and inverse Fashion, in company",
    stream="faces,soft-inverse-fashion:32",
    steps={"laptop": 1_500, "paper": 30_000},
    conditions=(Condition("disentangled-SDA", seeds=THREE_SEEDS, shown=True),),
    tables={"perception": perception, "company": company},
    figures={"figure4a": _figure4a},
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
    albums=(),
)
