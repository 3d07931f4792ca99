"""Numbers of finished runs, from their rows: what was learnt, forgotten, noticed, shared and drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

from vase.experiments.study import Condition, Result, Results
from vase.experiments.tables import Entry, Spread, Table, spread
from vase.metrics import detection as shifts
from vase.metrics.disentanglement import alignment
from vase.metrics.forgetting import Metric, final, forgetting, maximum
from vase.metrics.record import title

ON, OFF = "yes", "no"
SWITCHES = {"S": "environments.enabled", "D": "dreaming.enabled", "A": "mask.enabled"}
"""What each letter of the paper's ablation switches."""
LETTERS = ("none", "S", "D", "A", "SA", "DA", "SD", "SDA")
"""Rows of Table 1, in its order; "none" is its "-"."""
ENTANGLED = {"capacity.objective": "elbo"}
"""The standard VAE loss, β = 1."""
NAMES = {
    "disentangled-none": "– (CCI-VAE)",
    "entangled-none": "– (VAE)",
    "disentangled-SDA": "SDA (VASE)",
    "entangled-SD": "SD (stand-in for lifelong generative modelling)",
}
"""What readers call some conditions."""


def ablations(seeds: Mapping[str, tuple[int, ...]], shown: Iterable[str] = ()) -> tuple[Condition, ...]:
    """The sixteen conditions of Table 1: {–, S, D, A, SA, DA, SD, SDA} × {disentangled, entangled}."""
    return tuple(
        Condition(
            f"{half}-{letters}",
            {
                **{field: ON if letter in letters else OFF for letter, field in SWITCHES.items()},
                **(ENTANGLED if half == "entangled" else {}),
            },
            seeds[half],
            f"{half}-{letters}" in shown,
        )
        for half in seeds
        for letters in LETTERS
    )


def readable(condition: str) -> str:
    """The name of a condition for readers."""
    return NAMES.get(condition, condition.split("-", 1)[-1].replace("none", "–"))


def label(condition: str) -> str:
    """The name of a condition for readers, with its half of the table."""
    half = condition.split("-", 1)[0]
    return f"{half} {readable(condition)}" if half in ("disentangled", "entangled") else condition


def best(runs: list[Result], metric: Metric, worlds: Iterable[str] | None = None) -> list[float | None]:
    """Per seed: the best score of each world while it was trained on, averaged over worlds ("Max", "Min")."""
    return [_number(maximum(r.rows, r.record.stages, metric, worlds).mean) for r in runs]


def change(runs: list[Result], metric: Metric, worlds: Iterable[str] | None = None) -> list[float | None]:
    """Per seed: worst score after a world minus best score during it, averaged over worlds ("Change")."""
    return [_number(forgetting(r.rows, r.record.stages, metric, worlds).mean) for r in runs]


def last(runs: list[Result], metric: Metric, worlds: Iterable[str] | None = None) -> list[float | None]:
    """Per seed: the score of each world at the end of the stream, averaged over worlds."""
    return [_number(final(r.rows, metric, worlds).mean) for r in runs]


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def percent(values: list[float | None]) -> Spread:
    """Shares as percent."""
    return spread(values, scale=100)


def tenthousandths(values: list[float | None]) -> Spread:
    """Squared errors in units of 1e-4, as the paper prints them."""
    return spread(values, scale=1e4)


def lengths(results: Results) -> str:
    """The steps of the stages of all runs, in words."""
    return ", ".join(f"{n:,}" for n in sorted({steps for run in results.runs for _, steps in run.record.stages}))


def note(results: Results) -> str:
    """What a reader must know about where the numbers come from."""
    modes = sorted({mode for run in results.runs for mode in run.summary["probes"]})
    return (
        f"Preset {results.preset}, {lengths(results)} steps per stage, {' and '.join(modes) or 'no'} probes; "
        "mean ± standard deviation over seeds."
    )


def forgetting_table(results: Results) -> Table:
    """Accuracy and position error of each world: best during its stage, change after it."""
    rows: list[tuple[Entry, ...]] = []
    for condition in results.experiment.conditions:
        runs = results.of(condition.name)
        worlds = runs[0].record.worlds if runs else ()
        for name, chosen in [*((title(world), (world,)) for world in worlds), ("mean", worlds)] if runs else ():
            rows.append(
                (
                    label(condition.name),
                    name,
                    len(runs),
                    percent(best(runs, "accuracy", chosen)),
                    percent(change(runs, "accuracy", chosen)),
                    percent(last(runs, "accuracy", chosen)),
                    tenthousandths(best(runs, "mse", chosen)),
                    tenthousandths(change(runs, "mse", chosen)),
                    tenthousandths(last(runs, "mse", chosen)),
                )
            )
    columns = (
        "condition",
        "world",
        "seeds",
        "ID max (%)",
        "ID change (%)",
        "ID end (%)",
        "position min (1e-4)",
        "position change (1e-4)",
        "position end (1e-4)",
    )
    notes = (
        "max, min: best while the world is trained on. change: worst afterwards less best; the last world has none. "
        "end: the score at the end of the stream, which can be better than the best, because probes go on learning.",
        note(results),
    )
    return Table(f"{results.experiment.name}: learnt and forgotten", columns, tuple(rows), notes)


PATIENCE = "a verdict takes `environments.patience` batches, 4 in the presets laptop and paper"


def detection(results: Results) -> Table:
    """Switches: found, late, false, missed; worlds recognised when they come back."""
    rows: list[tuple[Entry, ...]] = []
    for condition in results.experiment.conditions:
        runs = results.of(condition.name)
        if not runs or condition.overrides.get(SWITCHES["S"]) == OFF:
            continue
        found = [run.summary for run in runs]
        delays = [float(delay) for summary in found for delay in summary["delays"]]
        returns = [shifts.returns_recognised(run.record) for run in runs]
        due = sum(count for _, count in returns)
        rows.append(
            (
                label(condition.name),
                len(runs),
                spread([float(summary["environments"]) for summary in found]),
                found[0]["worlds"],
                sum(map(one_to_one, runs)),
                spread(delays),
                sum(summary["false_alarms"] for summary in found),
                sum(len(summary["missed"]) for summary in found),
                f"{sum(right for right, _ in returns)} of {due}" if due else "–",
            )
        )
    columns = (
        "condition",
        "seeds",
        "environments",
        "worlds",
        "exact",
        "delay (batches)",
        "false alarms",
        "missed",
        "returns",
    )
    notes = (
        "exact: seeds with one environment for each world and no other. delay: batches between a true switch and its "
        f"announcement, of all switches of all seeds; {PATIENCE}. returns: visits to a known world that were announced "
        "as its own environment.",
        note(results),
    )
    return Table(f"{results.experiment.name}: what the learner noticed", columns, tuple(rows), notes)


def one_to_one(run: Result) -> bool:
    """Whether every world has one environment of its own, and there are no others."""
    found = run.summary
    return shifts.one_to_one(run.record.environment_of, found["environments"], found["false_alarms"])


MEASURES = ("MIG", "SAP", "DCI disentanglement", "DCI completeness", "DCI informativeness", "FactorVAE")


def measure_of(row: Mapping[str, Any], name: str) -> float | None:
    """One of MEASURES from a row."""
    if name.startswith("DCI"):
        return row["dci"][name.split()[1]] if row.get("dci") else None
    return row[{"MIG": "mig", "SAP": "sap", "FactorVAE": "factor_vae"}[name]]


def disentanglement(results: Results) -> Table:
    """Disentanglement of every world when its first visit ended, and at the end of the stream."""
    rows: list[tuple[Entry, ...]] = []
    for condition, world, moments in _moments(results):
        for when, found in moments:
            numbers = tuple(spread([measure_of(row, name) for row in found], digits=2) for name in MEASURES)
            rows.append((label(condition), title(world), when, len(found), *numbers))
    notes = (
        "Against class, x and y on held-out images, codes sampled from q(z|x); static worlds have no x and y, and no "
        "FactorVAE score.",
        note(results),
    )
    columns = ("condition", "world", "when", "seeds", *MEASURES)
    return Table(f"{results.experiment.name}: disentanglement along the stream", columns, tuple(rows), notes)


def quality(results: Results) -> Table:
    """Reconstructions and dreams of every world when its first visit ended, and at the end of the stream."""
    rows: list[tuple[Entry, ...]] = []
    for condition, world, moments in _moments(results):
        for when, found in moments:
            error = spread([row["reconstruction"] for row in found], scale=1e3, digits=2)
            samples = spread([row["samples"] for row in found], digits=2)
            floor = spread([row["samples_floor"] for row in found], digits=2)
            known = f"{sum(row['environment'] == row['home'] for row in found)} of {len(found)}"
            known = "–" if results.experiment.condition(condition).overrides.get(SWITCHES["S"]) == OFF else known
            rows.append((label(condition), title(world), when, known, error, samples, floor))
    notes = (
        "reconstruction: mean squared error of a pixel × 1000. dreams: Fréchet distance between dreams and held-out "
        "images in the space of the images' first principal components; floor: between two halves of the images. "
        "recognised: "
        "seeds in which a held-out batch is taken for the environment that stood for its world.",
        note(results),
    )
    columns = ("condition", "world", "when", "recognised", "reconstruction", "dreams", "floor")
    return Table(f"{results.experiment.name}: reconstructions and dreams along the stream", columns, tuple(rows), notes)


def _moments(results: Results) -> list[tuple[str, str, list[tuple[str, list[dict[str, Any]]]]]]:
    """(condition, world, [("after its visit", rows), ("at the end", rows)]), one row per seed."""
    found = []
    for condition in results.experiment.conditions:
        runs = results.of(condition.name)
        for world in runs[0].record.worlds if runs else ():
            series = [measured(run, world) for run in runs]
            moments = [("after its visit", [rows[0] for rows in series if rows])]
            if any(len(rows) > 1 for rows in series):
                moments.append(("at the end", [rows[-1] for rows in series if rows]))
            found.append((condition.name, world, moments))
    return found


def measured(run: Result, world: str) -> list[dict[str, Any]]:
    """The measures of a world along the stream, each with the environment that stood for it."""
    home = run.record.environment_of.get(world)
    return [{**row, "home": home} for row in run.of("measures") if row["world"] == world]


def sharing(results: Results) -> Table:
    """Do latents mean the same in two worlds? From the information that each latent has on each factor, at the end."""
    rows: list[tuple[Entry, ...]] = []
    for condition in results.experiment.conditions:
        runs = results.of(condition.name)
        for pair in combinations(runs[0].record.worlds if runs else (), 2):
            compared = [alignment(*(measured(run, world)[-1]["information"] for world in pair)) for run in runs]
            for factor in dict.fromkeys(name for found in compared for name in found):
                found = [one[factor] for one in compared if factor in one]
                same = f"{sum(bool(one['same']) for one in found)} of {len(found)}"
                least = [min(max(measured(run, world)[-1]["information"][factor]) for world in pair) for run in runs]
                worlds = " and ".join(map(title, pair))
                cosine = spread([one["cosine"] for one in found], digits=2)
                rows.append((label(condition.name), worlds, factor, spread(least, digits=2), same, cosine))
    notes = (
        "information: share of the factor's entropy that the best latent tells, in the world where it tells less. same "
        "latent: seeds in which the latent with the most information on the factor is the same in both worlds, at "
        "the end of the stream. cosine: of the two vectors of information per latent.",
        note(results),
    )
    columns = ("condition", "worlds", "factor", "information", "same latent", "cosine")
    return Table(f"{results.experiment.name}: latents shared between worlds", columns, tuple(rows), notes)


def axes(results: Results) -> Table:
    """How well one latent tells x and another y in the worlds that move, when their first stages end."""
    rows: list[tuple[Entry, ...]] = []
    for condition in results.experiment.conditions:
        runs = results.of(condition.name)
        for world in runs[0].record.worlds if runs else ():
            places: dict[int, Mapping[str, Any]] = {}
            for run in runs:
                for row in run.of("stage"):
                    if row.get("position", {}).get("world") == world:
                        places.setdefault(run.seed, row["position"])
            if places:
                told = [{seed: abs(place[axis]["correlation"]) for seed, place in places.items()} for axis in "xy"]
                columns_of = ((list(found.values()), [found.get(condition.seeds[0])]) for found in told)
                numbers = (spread(values, digits=2) for pair in columns_of for values in pair)
                rows.append((label(condition.name), title(world), len(places), *numbers))
    notes = (
        "Size of the correlation between the place of the object and the latent that goes with it most closely, over "
        "all seeds, and in the first seed, which the figures show. 1: the latent is the axis; 0.7 for both: the "
        "two are turned by 45 degrees.",
        note(results),
    )
    columns = ("condition", "world", "seeds", "|r| of x", "first seed", "|r| of y", "first seed")
    return Table(f"{results.experiment.name}: latents of the place", columns, tuple(rows), notes)
