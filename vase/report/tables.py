"""Tables of a run: switches, environments, probe scores and measures. A cell is its text and the value it sorts by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from vase.fields import flat
from vase.metrics.latents import recruited_latents, shared_latents, used_flags
from vase.metrics.record import Record
from vase.training.summary import NONE, identity_change
from vase.worlds.spec import title

Cell = tuple[str, float | str | None]


@dataclass(frozen=True)
class Table:
    """A table with a heading and one line of explanation."""

    title: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def tables(record: Record, found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tables for which the run has rows, ready for JSON."""
    made = (
        _switches(record),
        _environments(record),
        _scores("Probes", "Trained beside the learner on its codes.", found),
        _scores("Fresh probes", "Trained from nothing on the frozen encoder.", found.get("frozen", {})),
        _measures(record),
    )
    return [asdict(table) for table in made if table.rows]


def _switches(record: Record) -> Table:
    rows = tuple(
        (
            _number(row["step"]),
            _text(f"{row['from']} → {row['environment']}"),
            _text("new" if row["is_new"] else "known"),
            _text("false alarm") if row["false_alarm"] else _number(row["delay"]),
            _text((row.get("change") or {}).get("sentence") or "; ".join(row["reasons"])),
        )
        for row in record.switches
    )
    note = "Announced by the learner. Delay: batches after the world really changed."
    return Table("Switches", note, ("step", "environment", "new or known", "delay", "what changed"), rows)


def _environments(record: Record) -> Table:
    last = [{}, *record.of("stage"), *record.of("end")][-1]
    known = last.get("environments", [])
    used = used_flags(known)
    shared = set(shared_latents(used)) if known else set()
    rows = tuple(
        (
            _number(s),
            _text(_world(record, s, one)),
            _number(one["age"]),
            _number(one["loss"], ".1f"),
            _number(sum(one["used"])),
            _number(sum(flag and n in shared for n, flag in enumerate(one["used"]))),
            _number(len(recruited)),
            _number(len(one["mask"]) - sum(one["mask"])),
        )
        for s, (one, recruited) in enumerate(zip(known, recruited_latents(used), strict=True))
    )
    columns = ("number", "world", "batches learnt", "loss", "latents used", "shared", "first used here", "masked")
    return Table("Environments", f"As the learner knew them at step {last.get('step', 0):,}.", columns, rows)


def _world(record: Record, s: int, known: Mapping[str, Any]) -> str:
    if "duplicate_of" in known:
        return f"retired: it was environment {known['duplicate_of']}"
    return title(record.world_of[s]) if s in record.world_of else NONE


def _scores(name: str, note: str, found: Mapping[str, Any]) -> Table:
    """Classes and positions by world: best while it was learnt, worst after it, at the end."""
    rows = []
    for world, score in found.get("identity", {}).get("worlds", {}).items():
        shown = [_percent(score[moment]) for moment in ("best", "worst_after", "end")]
        change = identity_change(score).replace("-", "−"), score["change"]
        rows.append((_text(f"class of {title(world)}"), *shown, change))
    position = found.get("position", {"mse": {"worlds": {}}, "pixels": {"worlds": {}}})
    for world, score in position["mse"]["worlds"].items():
        pixels = position["pixels"]["worlds"].get(world)
        form, score = (".2f", pixels) if pixels else (".1e", score)
        shown = [_number(score[moment], form) for moment in ("best", "worst_after", "end")]
        unit = "pixels" if pixels else "MSE"
        rows.append((_text(f"position in {title(world)}, {unit}"), *shown, _number(score["change"], f"+{form}")))
    return Table(name, note, ("read from the code", "best during", "worst after", "at the end", "change"), tuple(rows))


def _measures(record: Record) -> Table:
    """Disentanglement of every world at the last stage at which it was measured."""
    last = {row["world"]: row for row in record.of("measures")}
    rows = tuple(
        (
            _text(title(world)),
            _number(row["mig"], ".3f"),
            _number(row["sap"], ".3f"),
            _number((row["dci"] or {}).get("disentanglement"), ".3f"),
            _number(row.get("factor_vae"), ".3f"),
            _number(row.get("reconstruction"), ".4f"),
        )
        for world, row in last.items()
    )
    columns = ("world", "MIG", "SAP", "DCI", "FactorVAE", "reconstruction error")
    return Table("Disentanglement", "On held-out images, when each world was last measured.", columns, rows)


def _number(value: float | None, form: str = ",") -> Cell:
    """A number in the form of its column, zero without a sign; a dash for none."""
    if value is None:
        return NONE, None
    text = f"{value:{form}}"
    return text.lstrip("+-") if not text.strip("+-0.") else text.replace("-", "−"), value


def _percent(share: float | None) -> Cell:
    return (NONE, None) if share is None else (f"{100 * share:.1f} %", share)


def _text(value: str) -> Cell:
    return value, value


def rows_of(values: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """A nested configuration as lines of dotted names and values.

    >>> rows_of({"capacity": {"gamma": 5.0}, "latents": 24})
    [('capacity.gamma', '5.0'), ('latents', '24')]
    """
    return [(name, str(value)) for name, value in flat(values).items()]
