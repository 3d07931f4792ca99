"""The table of the sensitivity study."""

from __future__ import annotations

from vase.config import preset
from vase.experiments.ablation.analysis import CLASSES
from vase.experiments.common.numbers import (
    best,
    change,
    has_seen,
    measured,
    note,
    percent,
    seen_of,
    summary_values,
    tenthousandths,
)
from vase.experiments.results import Result, Results
from vase.experiments.sensitivity.settings import AS_WRITTEN, BASE, OWN, PAPER_RANGES, file_name
from vase.experiments.tables import NONE, Entry, Table, spread

MOVING = ("moving-fashion", "moving-mnist")


def _preset_value(results: Results, field: str) -> str:
    """What the preset had for a field when it was run; before that, what it has."""
    config = preset(results.preset, stage_steps=results.experiment.steps.get(results.preset)).to_dict()
    for run in results.of(BASE)[:1]:
        config = run.content["config"]
    part, _, name = field.partition(".")
    value = config[part].get(name)
    if field == "dreaming.tau" and config["dreaming"]["snapshot"] != "every":
        return "on leaving"
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:g}"


def final_mig(run: Result) -> float | None:
    """MIG of class, x and y at the end of the stream, averaged over the worlds that move."""
    gaps = [measured(run, world)[-1]["mig"] for world in MOVING]
    return None if None in gaps else sum(gaps) / len(MOVING)


def final_alignment(run: Result) -> float | None:
    """|r| of the best latents for x and y at the end of the stream, averaged over both and the worlds that move."""
    rows = [measured(run, world)[-1] for world in MOVING]
    found = [seen_of(row, "samples", name) for row in rows for name in ("|r| of x", "|r| of y")]
    known = [value for value in found if value is not None]
    return sum(known) / len(known) if known and len(known) == len(found) else None


def sensitivity_table(results: Results) -> Table:
    """Every value of every hyperparameter: what was learnt, forgotten and found."""
    said = {field: (symbol, words) for symbol, (field, _, words) in PAPER_RANGES.items()}
    said |= {field: (symbol, NONE) for symbol, (field, _) in OWN.items()}
    said |= {file_name(name): (name, NONE) for name in AS_WRITTEN}
    rows: list[tuple[Entry, ...]] = []
    aligned = has_seen(results)
    for condition in results.experiment.conditions:
        runs = results.of(condition.name)
        field, _, value = condition.name.partition("=")
        symbol, words = said.get(field, (field, NONE))
        rows.append(
            (
                symbol,
                value or NONE,
                _preset_value(results, field) if value else NONE,
                len(runs),
                percent(best(runs, "accuracy", CLASSES)),
                percent(change(runs, "accuracy", CLASSES)),
                tenthousandths(change(runs, "mse")),
                spread([final_mig(run) for run in runs], digits=2),
                *[spread([final_alignment(run) for run in runs], digits=2)] * aligned,
                ", ".join(map(str, summary_values(runs, "environments"))) or NONE,
                ", ".join(map(str, summary_values(runs, "false_alarms"))) or NONE,
                words,
            )
        )
    columns = (
        *("knob", "value", "preset's", "seeds", "ID max (%)", "ID change (%)", "position change (1e-4)", "MIG"),
        *["|r|"] * aligned,
        *("environments", "false alarms", "the paper's range and word"),
    )
    notes = (
        "τ: snapshots every τ steps, as in the paper, instead of on leaving; the paper's range scaled to these stages "
        "is 3 to 33. elbo: no ceiling, the entangled condition; square: the paper's Eq. 3. MIG: at the end, of the two "
        "worlds that move. The stream has 3 worlds." + " |r|: of the best latents with x and y, at the end." * aligned,
        "as written: the paper's objective, masks that let noise through, snapshots every τ steps, weights of dreams "
        "and no gates, recruiting or pool of dreams, with the laptop's network and lengths.",
        note(results),
    )
    return Table("Sensitivity, one value at a time", columns, tuple(rows), notes)
