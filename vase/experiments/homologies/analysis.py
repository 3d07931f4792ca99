"""Tables of the homologies: scores, twins and detected switches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vase.experiments.common.analysis import detection
from vase.experiments.common.conditions import ENTANGLED, OURS, label
from vase.experiments.common.earlier import earlier_preset
from vase.experiments.common.numbers import stage_lengths
from vase.experiments.results import Result, Results
from vase.experiments.tables import NONE, Entry, Spread, Table, spread, standard_errors
from vase.worlds.spec import title

READ = 0.5
"""R² within its own world from which on a factor counts as encoded well."""


def homology(results: Results) -> Table:
    """The homology score of every factor, disentangled against entangled; other learners in columns of their own."""
    rows: list[tuple[Entry, ...]] = []
    others = [condition.name for condition, _ in results.finished if condition.name not in (OURS, ENTANGLED)]
    runs = {name: results.of(name) for name in (OURS, ENTANGLED, *others)}
    for regressor in dict.fromkeys(name for each in runs.values() for run in each for name in _all_scores(run)):
        found = {name: [_scores(run, regressor) for run in each] for name, each in runs.items()}
        every = [scores for each in found.values() for scores in each]
        factors = list(dict.fromkeys(factor for scores in every for factor in scores))
        for factor in factors:
            rows.append((regressor, factor, *_entries({n: [s.get(factor) for s in each] for n, each in found.items()})))
        steady = [f for f in factors if all(s.get(f, {}).get("score") is not None for s in every)]
        read = [f for f in steady if all(_read([s[f] for s in each]) >= READ for each in found.values() if each)]
        for chosen, which in ((steady, ""), (read, f", R² ≥ {READ:g}")):
            if chosen:
                means: _Found = {n: [_mean([s[f] for f in chosen]) for s in each] for n, each in found.items()}
                rows.append((regressor, f"mean of {len(chosen)}{which}", *_entries(means)))
    columns = (
        *("regressor", "factor", "seeds", "VASE: R² within", "VASE: score", "entangled: R² within"),
        *("entangled: score", "difference", "standard errors"),
        *(f"{label(name)}: {what}" for name in others for what in ("R² within", "score")),
    )
    notes = (
        "R² within: of regressors on held-out frames of their own world, mean of both worlds. score: R² of the same "
        "regressors, unchanged, in the other world, as a share of what those fitted there reach; cut to 0 ... 1, mean "
        "of both directions; none if R² within is below 0.1 in one of the worlds. seeds: with a score, "
        "of VASE and of the entangled one. standard errors: of the difference. mean: of factors with a score in every "
        f"run, and of those that each learner encodes well (R² within ≥ {READ:g} on average). Regressors read "
        "z^s = a^s ⊙ z, z ~ q(z|x); of a ball, only where it is seen.",
        _note(results),
    )
    return Table("Homologies: what is written alike in both worlds", columns, tuple(rows), notes)


_Found = dict[str, list[dict[str, Any] | None]]
"""Condition -> homologies of a factor, one of each run."""


def _read(scores: Sequence[dict[str, Any]]) -> float:
    """R² of a factor within the worlds, mean over them and over runs."""
    return float(np.mean([one["within"] for one in scores]))


def _all_scores(run: Result) -> dict[str, dict[str, Any]]:
    """Regressor -> factor -> homology; none if the worlds had no factor in common."""
    return run.analysis.get("scores") or {}


def _scores(run: Result, regressor: str) -> dict[str, dict[str, Any]]:
    return dict(_all_scores(run).get(regressor, {}))


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
    ours, baseline = score[OURS], score[ENTANGLED]
    seeds = f"{len(ours.values)}, {len(baseline.values)}"
    numbers: tuple[Entry, ...] = (within[OURS], ours, within[ENTANGLED], baseline)
    others = [entry for name in found if name not in (OURS, ENTANGLED) for entry in (within[name], score[name])]
    return (seeds, *numbers, _difference(ours, baseline), standard_errors(ours, baseline, -1), *others)


def _difference(ours: Spread, baseline: Spread) -> str:
    if ours.mean is None or baseline.mean is None:
        return NONE
    return f"{ours.mean - baseline.mean:+.2f}".replace("-", "−")


def twins(results: Results) -> Table:
    """How far frames that are decoded as the other world are from their twins."""
    rows: list[tuple[Entry, ...]] = []
    for condition, runs in results.finished:
        known = [found for run in runs if (found := run.analysis).get("twins") is not None]
        for direction in dict.fromkeys(name for found in known for name in found["twins"]):
            errors = [found["twins"][direction] for found in known]
            numbers = [spread([one[name] for one in errors], scale=1e3) for name in _ERRORS]
            kept = spread([1 - one["cross"] / one["mean"] for one in errors], scale=100, digits=0)
            shared = spread([float(len(found["shared"])) for found in known if found["used"]])
            used = [spread([float(sum(found["used"][world])) for found in known if found["used"]]) for world in (0, 1)]
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
    names = " → ".join(map(title, results.runs[0].timeline.worlds))
    lengths = f"{stage_lengths(results)} steps per stage"
    text = f"{names}, preset {results.preset}, {lengths}; mean ± standard deviation over seeds."
    return text + earlier_preset(results)
