"""Tables that every experiment can have: forgetting, detection, disentanglement, quality, sharing, position latents.

Conditions may run any learner. What a learner cannot do (infer environments, decode, dream) is "–" in its row.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from vase.experiments.common.conditions import label, switched_off
from vase.experiments.common.numbers import (
    AXES,
    MEASURES,
    SEEN_MEASURES,
    Codes,
    best,
    change,
    has_seen,
    image_error,
    information_of,
    last,
    measure_of,
    measured,
    note,
    percent,
    seen_of,
    summary_values,
    tenthousandths,
)
from vase.experiments.experiment import Condition
from vase.experiments.results import Result, Results
from vase.experiments.tables import NONE, Entry, Table, spread
from vase.metrics.detection import one_to_one, returns_recognised
from vase.metrics.forgetting import Probes
from vase.metrics.latents import alignment
from vase.rows import Row
from vase.worlds.spec import title

_GOES_ON = "end: the score at the end of the stream, which can be better than the best, because probes go on learning."
PATIENCE = "a decision takes 4 batches in the presets laptop and paper"


def forgetting(results: Results, probes: Probes = "appendix") -> Table:
    """Accuracy and position error of each world: best during its stage, change after it.

    With frozen-encoder probes, the standard error of one score over test images stands beside them.
    """
    frozen = probes == "frozen"
    rows: list[tuple[Entry, ...]] = []
    for condition, runs in results.finished:
        worlds = runs[0].timeline.worlds
        for name, chosen in [*((title(world), (world,)) for world in worlds), ("mean", worlds)]:
            accuracy = [percent(score(runs, "accuracy", chosen, probes)) for score in (best, change, last)]
            position = [tenthousandths(score(runs, "mse", chosen, probes)) for score in (best, change, last)]
            if frozen:
                accuracy.append(percent(image_error(runs, "accuracy", chosen)))
                position.append(tenthousandths(image_error(runs, "mse", chosen)))
            rows.append((label(condition.name), name, len(runs), *accuracy, *position))
    columns = (
        *("condition", "world", "seeds", "ID max (%)", "ID change (%)", "ID end (%)", *["ID error (%)"] * frozen),
        *("position min (1e-4)", "position change (1e-4)", "position end (1e-4)"),
        *["position error (1e-4)"] * frozen,
    )
    end = "error: standard error of one score, from resampling test images." if frozen else _GOES_ON
    notes = (
        "max, min: best while the world is trained on. change: worst afterwards less best; the last world has none. "
        + end,
        note(results, probes),
    )
    name = f"{results.experiment.name}: learning and forgetting" + ", frozen encoder" * frozen
    return Table(name, columns, tuple(rows), notes)


def forgetting_frozen(results: Results) -> Table:
    """Learning and forgetting by fresh probes on the frozen encoder."""
    return forgetting(results, "frozen")


# ------------------------------------------------------------------------------------------------ switches


def detection(results: Results) -> Table:
    """Switches: found, late, false, missed; worlds recognised when they come back."""
    columns = (
        *("condition", "seeds", "environments", "worlds", "exact", "delay (batches)", "false alarms", "missed"),
        "returns",
    )
    rows = [_detected(c, runs) for c, runs in results.finished if not switched_off(c, "S")]
    notes = (
        "exact: seeds with one environment for each world and no other. delay: batches between a true switch and its "
        f"announcement, of all switches of all seeds; {PATIENCE}. returns: visits to a known world that were announced "
        "as its own environment.",
        note(results),
    )
    return Table(f"{results.experiment.name}: detected switches", columns, tuple(rows), notes)


def _detected(condition: Condition, runs: list[Result]) -> tuple[Entry, ...]:
    able = [run for run in runs if run.infers_environments]
    head = (label(condition.name), len(runs))
    if not able:
        return (*head, NONE, len(runs[0].timeline.worlds), *[NONE] * 5)
    visits = [returns_recognised(run.record) for run in able]
    due = sum(count for _, count in visits)
    return (
        *head,
        spread(list(map(float, summary_values(runs, "environments")))),
        summary_values(runs, "worlds")[0],
        sum(map(_one_to_one, able)),
        spread([float(delay) for delays in summary_values(runs, "delays") for delay in delays]),
        sum(summary_values(runs, "false_alarms")),
        sum(map(len, summary_values(runs, "missed"))),
        f"{sum(right for right, _ in visits)} of {due}" if due else NONE,
    )


def _one_to_one(run: Result) -> bool:
    found = run.summary
    return one_to_one(run.record.environment_of, found["environments"], found["false_alarms"])


# ------------------------------------------------------------------------------------------------ measures


def disentanglement(results: Results) -> Table:
    """Disentanglement of every world when its first visit ended, and at the end of the stream."""
    rows: list[tuple[Entry, ...]] = []
    axes = AXES if has_seen(results) else ()
    for condition, world, when, found in _moments(results):
        numbers = [spread([measure_of(row, name) for row in found], digits=2) for name in MEASURES]
        numbers += [spread([seen_of(row, "samples", name) for row in found], digits=2) for name in axes]
        rows.append((label(condition.name), title(world), when, len(found), *numbers))
    about_axes = " |r|: correlation of the best latent with a coordinate, and of the next best." if axes else ""
    notes = (
        "Against class, x and y on held-out images, codes sampled from q(z|x); static worlds have no x and y, and no "
        "FactorVAE score." + about_axes,
        note(results),
    )
    columns = ("condition", "world", "when", "seeds", *MEASURES, *axes)
    return Table(f"{results.experiment.name}: disentanglement along the stream", columns, tuple(rows), notes)


def disentanglement_seen(results: Results) -> Table:
    """Disentanglement of the latents that the environment sees, adjusted for chance, of means and of samples."""
    rows: list[tuple[Entry, ...]] = []
    kinds: tuple[Codes, ...] = ("means", "samples")
    for condition, world, when, found in _moments(results):
        for codes in kinds:
            values = {name: [seen_of(row, codes, name) for row in found] for name in SEEN_MEASURES}
            numbers = (spread(column, digits=2 + ("error" in name)) for name, column in values.items())
            rows.append((label(condition.name), title(world), when, codes, len(found), *numbers))
    notes = (
        "Masked latents and those behind closed gates count as absent. What an unrelated latent would score is "
        "subtracted from MIG, SAP and DCI. MIG error: standard error in one seed, from resampling test images. |r|: "
        "correlation of the best latent with a coordinate, and of the next best.",
        note(results),
    )
    columns = ("condition", "world", "when", "codes", "seeds", *SEEN_MEASURES)
    name = f"{results.experiment.name}: disentanglement of the latents that the environment sees"
    return Table(name, columns, tuple(rows), notes)


def quality(results: Results) -> Table:
    """Reconstructions and dreams of every world when its first visit ended, and at the end of the stream."""
    rows: list[tuple[Entry, ...]] = []
    for condition, world, when, found in _moments(results):
        error = spread([row.get("reconstruction") for row in found], scale=1e3, digits=2)
        samples, floor = (spread([row.get(name) for row in found], digits=2) for name in ("samples", "samples_floor"))
        infers = all(run.infers_environments for run in results.of(condition.name))
        known = f"{sum(row.get('environment') == row['home'] for row in found)} of {len(found)}"
        known = known if infers and not switched_off(condition, "S") else NONE
        rows.append((label(condition.name), title(world), when, known, error, samples, floor))
    notes = (
        "reconstruction: mean squared error of a pixel × 1000. dreams: Fréchet distance between dreams and held-out "
        "images in the space of the images' first principal components; floor: between two halves of the images. "
        "recognised: "
        "seeds in which a held-out batch is taken for the environment that stood for its world.",
        note(results),
    )
    columns = ("condition", "world", "when", "recognised", "reconstruction", "dreams", "floor")
    return Table(f"{results.experiment.name}: reconstructions and dreams along the stream", columns, tuple(rows), notes)


def _moments(results: Results) -> list[tuple[Condition, str, str, list[Row]]]:
    """(condition, world, "after its visit" or "at the end", one row per seed)."""
    found = []
    for condition, runs in results.finished:
        for world in runs[0].timeline.worlds:
            series = [measured(run, world) for run in runs]
            found.append((condition, world, "after its visit", [rows[0] for rows in series if rows]))
            if any(len(rows) > 1 for rows in series):
                found.append((condition, world, "at the end", [rows[-1] for rows in series if rows]))
    return found


def sharing(results: Results, codes: Codes | None = None) -> Table:
    """Do latents mean the same in two worlds? From the information that each latent has on each factor, at the end.

    `codes`: of the latents that the environments see, adjusted for chance; by default all latents, sampled, unadjusted.
    """
    rows: list[tuple[Entry, ...]] = []
    for condition, runs in results.finished:
        for pair in combinations(runs[0].timeline.worlds, 2):
            last_rows = [[measured(run, world)[-1] for world in pair] for run in runs]
            told = [known for ends in last_rows if all(known := [information_of(row, codes) for row in ends])]
            compared = [alignment(*information) for information in told]
            for factor in dict.fromkeys(name for found in compared for name in found):
                found = [one[factor] for one in compared if factor in one]
                same = f"{sum(bool(one['same']) for one in found)} of {len(found)}"
                least = spread([min(max(one[factor]) for one in information) for information in told], digits=2)
                cosine = spread([one["cosine"] for one in found], digits=2)
                rows.append((label(condition.name), " and ".join(map(title, pair)), factor, least, same, cosine))
    notes = (
        "information: share of the factor's entropy that the best latent tells, in the world where it tells less. same "
        "latent: seeds in which the latent with the most information on the factor is the same in both worlds, at "
        "the end of the stream. cosine: of the two vectors of information per latent.",
        note(results),
    )
    columns = ("condition", "worlds", "factor", "information", "same latent", "cosine")
    kind = "" if codes is None else f", {codes} of those that the environments see, adjusted for chance"
    return Table(f"{results.experiment.name}: latents shared between worlds{kind}", columns, tuple(rows), notes)


def sharing_seen(results: Results) -> Table:
    """Latents shared between worlds, of those that the environments see, adjusted for chance."""
    return sharing(results, "samples")


def axes(results: Results) -> Table:
    """Position latents: how well one latent tells x and another y in the worlds that move, after their first visit."""
    rows: list[tuple[Entry, ...]] = []
    for condition, runs in results.finished:
        for world in runs[0].timeline.worlds:
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
        "Absolute correlation between the position of the object and the latent that is most correlated with it, over "
        "all seeds, and in the first seed, which the figures show. 1: the latent is the axis; 0.7 for both: the "
        "two are rotated by 45 degrees.",
        note(results),
    )
    columns = ("condition", "world", "seeds", "|r| of x", "first seed", "|r| of y", "first seed")
    return Table(f"{results.experiment.name}: position latents", columns, tuple(rows), notes)
