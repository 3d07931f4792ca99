"""Tables of plasticity (accuracies as a share of those of learners that meet one world) and reconstructions."""

from __future__ import annotations

from vase.experiments.common.conditions import MORE_DREAMS, OURS
from vase.experiments.common.earlier import earlier_preset
from vase.experiments.common.numbers import Numbers, best, last, note, percent, stage_lengths
from vase.experiments.five_datasets.settings import ALONE
from vase.experiments.results import Result, Results
from vase.experiments.tables import Entry, Table, spread
from vase.worlds.spec import title


def plasticity(results: Results) -> Table:
    """Accuracy on every world after its visit and at the end, against a learner that met only that world."""
    runs, rows = results.of(OURS), list[tuple[Entry, ...]]()
    for place, world in enumerate(_worlds(runs), start=1):
        alone = last(results.of(ALONE + world), "accuracy", probes="frozen")
        visited, ended = (score(runs, "accuracy", (world,), "frozen") for score in (best, last))
        shares = [percent(_share(values, alone)) for values in (visited, ended)]
        rows.append((place, title(world), percent(alone), percent(visited), percent(ended), *shares))
    columns = ("place", "world", "alone (%)", "after its visit (%)", "at the end (%)", "visit/alone (%)")
    notes = (
        f"Identity, {len(runs)} seeds in the stream, as many steps alone. The last columns: shares of what a learner "
        "reaches, on average over its seeds, that meets nothing else.",
        note(results, "frozen"),
    )
    return Table("Plasticity: what later worlds still learn", (*columns, "end/alone (%)"), tuple(rows), notes)


def _worlds(runs: list[Result]) -> tuple[str, ...]:
    return tuple(runs[0].timeline.worlds) if runs else ()


def _share(values: Numbers, whole: Numbers) -> Numbers:
    known = [value for value in whole if value is not None]
    return [None if value is None or not known else value * len(known) / sum(known) for value in values]


def latents(results: Results) -> Table:
    """Latents that each environment uses at the end, that it alone uses, and that none uses."""
    runs, rows = results.of(OURS), list[tuple[Entry, ...]]()
    for place, world in enumerate(_worlds(runs), start=1):
        counts = [_counts(run, world) for run in runs]
        columns = [[count[i] for count in counts if count is not None] for i in range(3)]
        rows.append((place, title(world), *(spread(column) for column in columns)))
    notes = (
        "used: latents without which its reconstructions would be worse. own: used by no other world. spare: used by "
        "no world that had been met when this one was left.",
        note(results, "frozen"),
    )
    return Table("Plasticity: use of the latents", ("place", "world", "used", "own", "spare"), tuple(rows), notes)


def _counts(run: Result, world: str) -> tuple[float, float, float] | None:
    """Used, own and spare latents of a world; None if no environment stood for it."""
    home = run.record.environment_of.get(world)
    used = [environment["used"] for environment in run.of("end")[0]["environments"]]
    if home is None:
        return None
    n = range(len(used[home]))
    own = sum(used[home][i] and not any(u[i] for s, u in enumerate(used) if s != home) for i in n)
    spare = sum(not any(u[i] for u in used[: home + 1]) for i in n)
    return float(sum(used[home])), float(own), float(spare)


def reconstruction_accuracy(results: Results) -> Table:
    """Accuracy of a classifier of real images on held-out images of each world, and on their reconstructions."""
    streams, rows = [results.of(name) for name in (OURS, MORE_DREAMS)], list[tuple[Entry, ...]]()
    for world in _worlds(streams[0]):
        ended = [_accuracies(runs, world, "reconstructions") for runs in streams]
        alone = _accuracies(results.of(ALONE + world), world, "reconstructions")
        images = _accuracies(streams[0], world, "images")
        shares = [_share(values, alone) for values in ended]
        rows.append((title(world), *map(percent, (images, alone, *ended, *shares))))
    notes = (
        "A small convolutional network that was trained on real images of a world names the class of held-out images, "
        "and of their reconstructions: by a learner that met nothing else, and by VASE at the end of the stream; more "
        "dreams: as many as images, not half as many. end/alone: relative to the learner that met nothing else.",
        f"Preset {results.preset}, {stage_lengths(results)} steps per stage; mean ± standard deviation over seeds."
        f"{earlier_preset(results)}",
    )
    columns = (
        *("world", "images (%)", "alone (%)", "end (%)", "end, more dreams (%)"),
        *("end/alone (%)", "end/alone, more dreams (%)"),
    )
    return Table("Classification accuracy of reconstructions", columns, tuple(rows), notes)


def _accuracies(runs: list[Result], world: str, what: str) -> Numbers:
    """On the images of a world or on their reconstructions, one per seed; None where it was not measured."""
    return [run.analysis.get("reconstruction_accuracy", {}).get(world, {}).get(what) for run in runs]
