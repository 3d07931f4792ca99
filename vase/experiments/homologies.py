"""Cross-domain homologies (Figure 4B): two first-person 3D worlds, outdoors → indoors, and what their latents share.

The paper shows pictures. Here are numbers for them: the homology score of each factor that the worlds share, and, since
every scene is rendered in both worlds, how far a frame decoded as the other world is from its real twin there.

Regressors read z^s = a^s ⊙ z with z ~ q(z|x) (Eq. 1 and 2), as the decoder of an environment does. Samples, not means:
a latent without information has means next to zero, which standardising would blow up to full size; in samples they
drown in the noise that the decoder sees too.

Laptop values. The decoder's standard deviation is 0.1, so that the 12,288 numbers of a frame cost thousands of nats,
against about a hundred for a 32×32 sprite. What is weighed against them grows accordingly, to the paper's values: γ =
200, and 1000 for the encoder on dreams. λ is the paper's too. κ compares deviances, which for Gaussians are squared
errors over twice the variance: a ratio that does not depend on the variance. The paper's 1.1 is kept for its preset;
batches of 64 frames differ by some per cent, and 1.5 is far below what a change of world costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, UInt8

from vase.experiments.ablation import lead
from vase.experiments.analysis import ENTANGLED, detection, label, lengths
from vase.experiments.figures import traversals
from vase.experiments.homologies_figure import figure4b
from vase.experiments.homologies_score import LEAST, REGRESSORS, Codes, WorldCodes, homologies, with_headings
from vase.experiments.study import THREE_SEEDS, Condition, Experiment, Findings, Result, Results
from vase.experiments.tables import Entry, Spread, Table, spread
from vase.images import as_bytes
from vase.learners.vase import VASE
from vase.metrics.record import Record
from vase.training import Plan
from vase.worlds import StreamSpec, World
from vase.worlds.frames import FrameWorld
from vase.worlds.world import Batch

OURS, BASELINE = "disentangled-SDA", "entangled-SDA"
FIT = 4_000
"""Frames of each world that regressors are fitted on, of those that the learner has met."""
TEST = 2_000
"""Held-out frames that they are tested on."""
COMPARED = 500
"""Held-out frames whose pixels are compared with those of their twins."""
SHOWN = 8
"""Frames of each world in the figure."""
ALIKE = 0.9
"""Share of equal factors that makes frames at the same place twins; props may hide a ball in one world alone."""
_CHUNK = 500


# ------------------------------------------------------------------------------------------------ what is asked


def examine(model: VASE, plan: Plan, record: Record) -> Findings:
    """Homology of every shared factor, distance to the twins, and frames decoded as either world."""
    names, home = record.worlds[:2], record.environment_of
    rng = np.random.default_rng([plan.settings.seed, 20_181_205])
    fit, held = zip(*((_frames(world) for world in plan.worlds[name]) for name in names), strict=True)
    twins = are_twins(*held)
    places = [home[name] for name in names]
    used = [model.environments[s].used for s in places]
    numbers: dict[str, Any] = {
        "worlds": list(names),
        "environments": places,
        "used": [flags.tolist() for flags in used],
        "shared": None,
        "scores": None,
        "twins": None,
        "note": "",
    }
    taught = _batches(fit, FIT, rng, together=are_twins(*fit))
    tested = _batches(held, TEST, rng, together=twins)
    if places[0] == places[1]:
        numbers["note"] = "one environment stands for both worlds: there is nothing to transfer between"
    else:
        numbers["shared"] = np.flatnonzero(used[0] & used[1]).tolist()
        first, second = [
            WorldCodes(*(Codes(_sampled(model, batch.images, s, rng), with_headings(batch.factors)) for batch in pair))
            for s, *pair in zip(places, taught, tested, strict=True)
        ]
        found = {name: homologies(first, second, name) for name in REGRESSORS}
        if any(found.values()):
            numbers["scores"] = {name: {f: one.to_dict() for f, one in each.items()} for name, each in found.items()}
        if twins:
            numbers["twins"] = _compared(model, names, places, taught, tested)
        reasons = {
            "scores": "the frames have no factors in common: no score",
            "twins": "the worlds do not show the same scenes: no twins to compare with",
        }
        numbers["note"] = "; ".join(text for name, text in reasons.items() if numbers[name] is None)
    return Findings(numbers, _pictures(model, names, places, tested))


def are_twins(first: FrameWorld, second: FrameWorld) -> bool:
    """Whether frames at the same place show the same scene, by their factors."""
    common = first.factors.keys() & second.factors.keys()
    if len(first) != len(second) or not common:
        return False
    return bool(np.mean([np.isclose(first.factors[name], second.factors[name]) for name in common]) >= ALIKE)


def twin_errors(
    cross: Float[np.ndarray, "B *s"],
    own: Float[np.ndarray, "B *s"],
    twin: Float[np.ndarray, "B *s"],
    mean: Float[np.ndarray, " *s"],
) -> dict[str, float]:
    """Mean squared errors of a pixel on frames of a world.

    cross: frames of the other world, decoded as this one. own: the world's own reconstructions.
    other: cross against the frame of another scene; a picture that fits every scene has the same error here as in
        `cross`, one that keeps the scene has a larger one.
    mean: the mean frame. random: the frame of another scene.
    """
    elsewhere = np.roll(twin, 1, axis=0)
    pairs = {
        "own": (own, twin),
        "cross": (cross, twin),
        "other": (cross, elsewhere),
        "mean": (mean[None], twin),
        "random": (elsewhere, twin),
    }
    return {name: round(float(np.square(a - b).mean()), 6) for name, (a, b) in pairs.items()}


def _frames(world: World) -> FrameWorld:
    if not isinstance(world, FrameWorld):
        raise TypeError(f"the world {world.name!r} does not consist of frames; homologies needs outdoors and indoors.")
    return world


def _batches(worlds: Sequence[FrameWorld], most: int, rng: np.random.Generator, *, together: bool) -> list[Batch]:
    """Different frames of each world in random order, of the same scenes if they have them together."""
    orders = [rng.permutation(len(world))[:most] for world in worlds]
    return [world.take(orders[0] if together else order) for world, order in zip(worlds, orders, strict=True)]


def _sampled(
    model: VASE, images: UInt8[np.ndarray, "B C H W"], environment: int, rng: np.random.Generator
) -> Float[np.ndarray, "B N"]:
    """z^s = a^s ⊙ z with z ~ q(z|x)."""
    view = model.environments[environment]
    active: Bool[np.ndarray, " N"] = view.mask & view.gate
    mean, std = np.moveaxis(_in_parts(lambda x: np.stack(model.posterior(x), 1), images), 1, 0)
    return (mean + std * rng.standard_normal(mean.shape, np.float32)) * active


def _in_parts(ask: Callable[[np.ndarray], np.ndarray], images: np.ndarray) -> np.ndarray:
    return np.concatenate([ask(images[i : i + _CHUNK]) for i in range(0, len(images), _CHUNK)])


def _decoded(model: VASE, images: UInt8[np.ndarray, "B C H W"], environment: int) -> Float[np.ndarray, "B C H W"]:
    return _in_parts(lambda x: model.reconstruct(x, environment=environment), images)


def _compared(
    model: VASE, names: Sequence[str], places: Sequence[int], taught: Sequence[Batch], tested: Sequence[Batch]
) -> dict[str, dict[str, float]]:
    """ "A as B" -> `twin_errors` in B."""
    images = [batch.images[:COMPARED] for batch in tested]
    found = {}
    for a, b in ((0, 1), (1, 0)):
        cross, own = (_decoded(model, images[world], places[b]) for world in (a, b))
        mean = taught[b].images.mean(0, dtype=np.float32) / 255
        found[f"{names[a]} as {names[b]}"] = twin_errors(cross, own, images[b].astype(np.float32) / 255, mean)
    return found


def _pictures(
    model: VASE, names: Sequence[str], places: Sequence[int], tested: Sequence[Batch]
) -> dict[str, UInt8[np.ndarray, "n C H W"]]:
    """Frames of each world, decoded as it and as the other one."""
    found = {}
    for a, b in ((0, 1), (1, 0)):
        images = tested[a].images[:SHOWN]
        found[names[a]] = images
        found[f"{names[a]} own"] = as_bytes(model.reconstruct(images, environment=places[a]))
        found[f"{names[a]} as {names[b]}"] = as_bytes(model.reconstruct(images, environment=places[b]))
    return found


# ------------------------------------------------------------------------------------------------ tables


def homology(results: Results) -> Table:
    """The homology score of every factor, disentangled against entangled."""
    rows: list[tuple[Entry, ...]] = []
    runs = {name: results.of(name) for name in (OURS, BASELINE)}
    for regressor in REGRESSORS:
        found = {name: [_scores(run, regressor) for run in each] for name, each in runs.items()}
        every = [scores for each in found.values() for scores in each]
        factors = list(dict.fromkeys(factor for scores in every for factor in scores))
        for factor in factors:
            rows.append((regressor, factor, *_entries({n: [s.get(factor) for s in each] for n, each in found.items()})))
        steady = [f for f in factors if all(s.get(f, {}).get("score") is not None for s in every)]
        if steady:
            means: _Found = {n: [_mean([s[f] for f in steady]) for s in each] for n, each in found.items()}
            rows.append((regressor, f"mean of {len(steady)}", *_entries(means)))
    columns = (
        "regressor",
        "factor",
        "seeds",
        "VASE: R² within",
        "VASE: score",
        "entangled: R² within",
        "entangled: score",
        "difference",
        "standard errors",
    )
    notes = (
        "R² within: of regressors on held-out frames of their own world, mean of both worlds. score: R² of the same "
        "regressors, unchanged, in the other world, as a share of what those fitted there reach; cut to 0 ... 1, mean "
        f"of both directions; none if R² within is below {LEAST:g} in one of the worlds. seeds: with a score, of VASE "
        "and of the entangled one. standard errors: of the difference. mean: of factors with a score in every run. "
        "Regressors read z^s = a^s ⊙ z, z ~ q(z|x); of a ball, only where it is seen.",
        _note(results),
    )
    return Table("Homologies: what is written alike in both worlds", columns, tuple(rows), notes)


_Found = dict[str, list[dict[str, Any] | None]]
"""Condition -> homologies of a factor, one of each run."""


def _scores(run: Result, regressor: str) -> dict[str, dict[str, Any]]:
    return dict((run.findings["scores"] or {}).get(regressor, {}))


def _mean(scores: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "within": [float(np.mean([one["within"][world] for one in scores])) for world in (0, 1)],
        "score": float(np.mean([one["score"] for one in scores])),
    }


def _entries(found: _Found) -> tuple[Entry, ...]:
    """Seeds, R² within and score of both conditions, and the difference of the scores."""
    within, score = {}, {}
    for name, runs in found.items():
        known = [one for one in runs if one is not None]
        within[name] = spread([float(np.mean(one["within"])) for one in known], digits=2)
        score[name] = spread([one["score"] for one in known], digits=2)
    ours, baseline = score[OURS], score[BASELINE]
    seeds = f"{len(ours.values)}, {len(baseline.values)}"
    numbers: tuple[Entry, ...] = (within[OURS], ours, within[BASELINE], baseline)
    return (seeds, *numbers, _difference(ours, baseline), lead(ours, baseline, -1))


def _difference(ours: Spread, baseline: Spread) -> str:
    if ours.mean is None or baseline.mean is None:
        return "–"
    return f"{ours.mean - baseline.mean:+.2f}".replace("-", "−")


def twins(results: Results) -> Table:
    """How far frames that are decoded as the other world are from their twins."""
    rows: list[tuple[Entry, ...]] = []
    for condition in results.experiment.conditions:
        runs = [run.findings for run in results.of(condition.name)]
        known = [found for found in runs if found["twins"] is not None]
        for direction in dict.fromkeys(name for found in known for name in found["twins"]):
            errors = [found["twins"][direction] for found in known]
            numbers = [spread([one[name] for one in errors], scale=1e3) for name in _ERRORS]
            kept = spread([1 - one["cross"] / one["mean"] for one in errors], scale=100, digits=0)
            shared = spread([float(len(found["shared"])) for found in known])
            used = [spread([float(sum(found["used"][world])) for found in known]) for world in (0, 1)]
            rows.append((label(condition.name), direction, len(known), *numbers, kept, *used, shared))
    latents = ("used by the first", "by the second", "by both")
    columns = ("condition", "direction", "seeds", *_ERRORS.values(), "explained (%)", *latents)
    notes = (
        "Mean squared error of a pixel × 1000. own: reconstructions of the world that is drawn. twin: frames of the "
        "other world decoded as this one, against the same scene rendered here. other scene: the same, against another "
        "scene. mean frame, random frame: instead of a decoded one. explained: 1 − twin / mean frame. Latents used by "
        "the first world, by the second, and by both.",
        _note(results),
    )
    return Table("Homologies: decoded as the other world", columns, tuple(rows), notes)


_ERRORS = {"own": "own", "cross": "twin", "other": "other scene", "mean": "mean frame", "random": "random frame"}


def worlds(results: Results) -> Table:
    """Environments found, delays and false alarms."""
    table = detection(results)
    return replace(table, notes=(table.notes[0], _note(results)))


def _note(results: Results) -> str:
    names = " → ".join(world.title for world, _ in StreamSpec.parse(results.experiment.stream).stages)
    return (
        f"{names}, preset {results.preset}, {lengths(results)} steps per stage; mean ± standard deviation over seeds."
    )


# ------------------------------------------------------------------------------------------------ what is run

_ALWAYS = {"network.likelihood": "gaussian", "capacity.gamma": 200, "mask.threshold": 2.0}
_PAPER = {
    "capacity.c_max": 25,
    "capacity.ramp_steps": 100_000,
    "environments.kappa": 1.1,
    "dreaming.tau": 5_000,
}

HOMOLOGIES = Experiment(
    name="homologies",
    title="Figure 4B: two first-person 3D worlds, outdoors → indoors, and the factors that they share",
    stream="outdoors,indoors",
    steps={"laptop": 1_500, "paper": 60_000},
    conditions=(
        Condition(OURS, seeds=THREE_SEEDS, shown=True),
        Condition(BASELINE, {**ENTANGLED, "mask.threshold": 20.0}, seeds=THREE_SEEDS, shown=True),
    ),
    tables={"homology": homology, "worlds": worlds, "twins": twins},
    figures={"figure4b": figure4b, "traversals": lambda results: traversals(results, OURS)},
    options={"probes": "none", "measures": False, "canvas": 64},
    values={
        "laptop": {**_ALWAYS, "dreaming.encoder_weight": 1000, "dreaming.pool": 2048},
        "smoke": {**_ALWAYS, "dreaming.pool": 256},
        "paper": {**_ALWAYS, **_PAPER},
    },
    examine=examine,
    albums=(OURS,),
)
