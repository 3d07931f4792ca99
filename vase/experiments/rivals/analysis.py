"""Tables of the comparison with rivals: all methods with their costs, the ranking, single worlds, and the grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vase.experiments.common.conditions import OURS
from vase.experiments.common.numbers import Numbers, best, change, last, note, percent, tenthousandths
from vase.experiments.experiment import Condition
from vase.experiments.results import Result, Results
from vase.experiments.rivals.settings import NAMES, STORES_IMAGES
from vase.experiments.rivals.strengths import LEEWAY, strengths
from vase.experiments.tables import NONE, Entry, Spread, Table, spread, standard_errors
from vase.metrics.forgetting import SETTLED_AFTER, Metric, Probes
from vase.worlds.spec import title

Score = Callable[[Sequence[Result], Metric, None, Probes], Numbers]
_COLUMNS = (
    *("method", "told boundaries", "seeds", "ID max (%)", "ID change (%)", "ID end (%)"),
    *(
        "position min (1e-4)",
        "position change (1e-4)",
        "reconstruction",
        "dreams",
        "Rand index",
        "memory (MB)",
        "ms per step",
    ),
)
_NOTES = (
    "ID: class, read from the frozen encoder, averaged over worlds. max, min: best while a world is trained on. "
    "change: worst afterwards less best. end: at the end of the stream, all worlds. "
    "reconstruction (squared error of a pixel × 1000) and dreams (Fréchet distance) at the end, averaged over "
    "worlds; dreams of methods without "
    "environments are of all worlds at once.",
    "Rand index: between worlds and environments that are inferred for held-out batches. memory: beyond live weights "
    "and optimiser. ms: of processor time, on whatever machine trained the run. told: the step at which a world "
    "changes; joint training has all worlds in every batch instead, and needs all images all the time.",
)


def name_of(condition: str) -> str:
    """A method for readers."""
    return NAMES.get(condition, condition)


def told(condition: Condition) -> str:
    """Whether a method is told where worlds change."""
    if condition.options.get("joint"):
        return "all at once"
    return "yes" if condition.learner_options.get("boundaries") == "told" else "no"


def memory(condition: Condition, runs: Sequence[Result]) -> Numbers:
    """Bytes beyond the weights, one number per seed; None for joint training, which needs all images all the time."""
    if condition.options.get("joint"):
        return [None] * len(runs)
    return [run.analysis.get("memory") for run in runs]


def milliseconds(runs: Sequence[Result]) -> Numbers:
    """Processor time of one `partial_fit`, one number per seed."""
    spent = [(run.content.get("learning_seconds"), run.timeline.total) for run in runs]
    return [None if seconds is None else 1e3 * seconds / steps for seconds, steps in spent]


def at_the_end(runs: Sequence[Result], name: str, world: str | None = None) -> Numbers:
    """A number of the last "measures" rows of each world, or of one, averaged over worlds; one per seed."""
    found: Numbers = []
    for run in runs:
        ends = {row["world"]: row.get(name) for row in run.of("measures") if world in (None, row["world"])}
        values = [value for value in ends.values() if value is not None]
        found.append(sum(values) / len(values) if values else None)
    return found


def scores(runs: Sequence[Result]) -> list[Spread]:
    """Identity and position by fresh probes on the frozen encoder."""
    identity = [percent(score(runs, "accuracy", None, "frozen")) for score in (best, change, last)]
    return identity + [tenthousandths(score(runs, "mse", None, "frozen")) for score in (best, change)]


def methods(results: Results) -> Table:
    """All methods: what they learn and forget, and what that costs."""
    rows: list[tuple[Entry, ...]] = []
    for condition, runs in results.finished:
        costs = (
            spread(at_the_end(runs, "reconstruction"), scale=1e3, digits=2),
            spread(at_the_end(runs, "samples"), digits=2),
            spread([run.analysis.get("rand") for run in runs], digits=2),
            spread(memory(condition, runs), scale=1e-6, digits=2),
            spread(milliseconds(runs)),
        )
        rows.append((name_of(condition.name), told(condition), len(runs), *scores(runs), *costs))
    return Table(results.experiment.title, _COLUMNS, tuple(rows), (*_NOTES, note(results, "frozen")))


def meaning(results: Results) -> Table:
    """Do codes keep their meaning? Changes as read by probes that are trained once per visit, and by fresh ones."""
    rows: list[tuple[Entry, ...]] = []
    for condition, runs in results.finished:
        identity, position = (
            [change(runs, metric, None, probes) for probes in ("kept", "settled", "frozen")]
            for metric in ("accuracy", "mse")
        )
        numbers = (*map(percent, identity), *map(tenthousandths, position))
        rows.append((name_of(condition.name), told(condition), len(runs), *numbers))
    read_by = ("kept", "settled", "fresh")
    columns = (*(f"ID, {name} (%)" for name in read_by), *(f"position, {name} (1e-4)" for name in read_by))
    notes = (
        "Worst later score less the first, of a probe that was trained at the end of a visit (kept) or "
        f"{SETTLED_AFTER} batches later (settled), and never again; fresh: of a new probe for every score, as in the "
        "other tables.",
        note(results, "frozen"),
    )
    title = f"{results.experiment.title}: do codes keep their meaning?"
    return Table(title, ("method", "told boundaries", "seeds", *columns), tuple(rows), notes)


_MEASURED: tuple[tuple[str, Metric, Probes, Score, float, int], ...] = (
    ("ID change (%)", "accuracy", "frozen", change, 1e2, -1),
    ("position change (1e-4)", "mse", "frozen", change, 1e4, 1),
    ("ID end (%)", "accuracy", "frozen", last, 1e2, -1),
    ("ID change, kept (%)", "accuracy", "kept", change, 1e2, -1),
    ("ID change, settled (%)", "accuracy", "settled", change, 1e2, -1),
    ("position change, kept (1e-4)", "mse", "kept", change, 1e4, 1),
    ("position change, settled (1e-4)", "mse", "settled", change, 1e4, 1),
)


def ranking(results: Results) -> Table:
    """Methods by forgetting and by what they know at the end, each against VASE in standard errors."""
    rows: list[tuple[Entry, ...]] = []
    for name, metric, probes, score, scale, sign in _MEASURED:
        found = [(c, spread(score(runs, metric, None, probes), scale=scale)) for c, runs in results.finished]
        ranked = sorted(((c, s) for c, s in found if s.values), key=lambda pair: sign * (pair[1].mean or 0.0))
        ours = next((s for c, s in ranked if c.name == OURS), None)
        for place, (condition, numbers) in enumerate(ranked, start=1):
            behind = NONE if ours is None or condition.name == OURS else standard_errors(ours, numbers, sign)
            images = "yes" if condition.name in STORES_IMAGES else "no"
            rows.append((name, place, name_of(condition.name), told(condition), images, numbers, behind))
    notes = (
        "behind: how much worse than VASE, in standard errors of the difference of the two means; negative: better. "
        "images: whether real images of the past are stored. kept, settled: by probes of its end, or soon after.",
        note(results, "frozen"),
    )
    columns = ("measure", "place", "method", "told boundaries", "images", "value", "behind")
    return Table(f"{results.experiment.title}: best first", columns, tuple(rows), notes)


def worlds(results: Results) -> Table:
    """Identity, reconstruction and dreams of every world at the end of the stream."""
    rows: list[tuple[Entry, ...]] = []
    for condition, runs in results.finished:
        for world in runs[0].timeline.worlds:
            rows.append(
                (
                    *(name_of(condition.name), title(world), percent(last(runs, "accuracy", (world,), "frozen"))),
                    spread(at_the_end(runs, "reconstruction", world), scale=1e3, digits=2),
                    *(spread(at_the_end(runs, name, world), digits=2) for name in ("samples", "samples_floor")),
                )
            )
    columns = ("method", "world", "ID (%)", "reconstruction", "dreams", "floor")
    notes = (
        "reconstruction: mean squared error of a pixel × 1000. dreams: Fréchet distance to held-out images; floor: "
        "between two halves of the images.",
        note(results, "frozen"),
    )
    return Table(f"{results.experiment.title}: at the end of the stream", columns, tuple(rows), notes)


def grid(results: Results) -> Table:
    """What each strength does, and which one is chosen."""
    best_of = set(strengths(results).values())
    rows: list[tuple[Entry, ...]] = [
        (condition.name, *scores(runs), "chosen" if condition.name in best_of else "")
        for condition, runs in results.finished
    ]
    columns = ("condition", *_COLUMNS[3:8], "")
    notes = (
        f"One seed that no other table uses. Chosen: of the strengths whose identity at the end is within {LEEWAY:g} "
        "point of the method's best, the one that forgets least.",
        note(results, "frozen"),
    )
    return Table("Strengths of the rivals", columns, tuple(rows), notes)
