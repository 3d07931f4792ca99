"""The summary of a run, from its saved rows alone: numbers for summary.json, and text for readers."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vase.metrics.detection import switch_summary
from vase.metrics.forgetting import Metric, Probes, forgetting, maximum, probe_rows, worst_of
from vase.metrics.latents import position_sentence, recruited_latents, shared_latents, used_flags
from vase.metrics.record import Record
from vase.training.directory import RunDirectory

NONE = "–"
"""The entry for what was not measured."""
_IMAGES = ("before", "after")  # of the row of a change
_POSITION: tuple[Metric, ...] = ("mse", "pixels")


def summary(run_dir: str | os.PathLike[str]) -> dict[str, Any]:
    """The summary of a run, finished or not; nothing is written."""
    directory = RunDirectory(run_dir)
    config = directory.read_config()
    record, segments = Record(directory.timeline().stages, tuple(directory.rows())), directory.timing()
    seconds, timed = sum(s["seconds"] for s in segments), sum(s["to"] - s["from"] for s in segments)
    return {
        "complete": bool(record.of("end")),
        "steps": record.total,
        "total": record.timeline.total,
        "stream": [world for world, _ in record.stages],
        "sources": config["sources"],
        "preset": config["settings"]["preset"],
        "seed": config["settings"]["seed"],
        **({"parent": config["parent"]} if "parent" in config else {}),
        **_switches(record),
        **_latents(record),
        **_probed(record, "appendix"),
        "probes": sorted({row["mode"] for row in probe_rows(record.rows)}),
        "frozen": _probed(record, "frozen"),
        "kept": _probed(record, "kept"),
        "seconds": round(seconds, 1),
        "learning_seconds": round(sum(s.get("learning", 0.0) for s in segments), 1),
        "steps_per_second": round(timed / seconds, 2) if seconds else None,
    }


def _switches(record: Record) -> dict[str, Any]:
    """The switches beside the truth, each with what changed, without its images; None for a run that does not say."""
    found = switch_summary(record)
    changes = {row["step"]: row.get("change") for row in record.of("switch")}
    for switch in found["switches"]:
        change = changes[switch["step"]]
        switch["change"] = change and {name: value for name, value in change.items() if name not in _IMAGES}
    return found


def _latents(record: Record) -> dict[str, Any]:
    """Used, masked, shared and recruited latents, and the position latents; a learner without environments has none."""
    ends = record.of("stage")
    last = [{}, *ends, *record.of("end")][-1]
    first = next((row["position"] for row in ends if "position" in row), None)
    position = sorted({first[axis]["latent"] for axis in "xy"}) if first else []
    stages = []
    for row in ends:
        masked = _where(not flag for flag in row.get("mask", ()))
        stage = {"world": row["world"], "environment": row.get("environment"), "used": _where(row.get("used", ()))}
        stage |= {"masked": masked, "position_latents": row.get("position")}
        stages.append({**stage, "position_masked": [latent for latent in position if latent in masked]})
    known = last.get("environments", [])
    used = used_flags(known)
    environments = [
        {"used": _where(one["used"]), "masked": _where(not flag for flag in one["mask"]), "recruited": recruited}
        for one, recruited in zip(known, recruited_latents(used), strict=True)
    ]
    return {
        "latents": len(known[0]["used"]) if known else None,
        "environment_latents": environments,
        "shared": shared_latents(used),
        "stages": stages,
        "position_latents": {"first": first, "end": last.get("position")},
        "held": last.get("held", 0),
        "dropped": last.get("dropped", 0),
    }


def _where(flags: Iterable[bool]) -> list[int]:
    return [index for index, flag in enumerate(flags) if flag]


def _probed(record: Record, probes: Probes) -> dict[str, Any]:
    """What these probes read of classes and positions."""
    position = {metric: _scores(record, metric, probes) for metric in _POSITION}
    return {"identity": _scores(record, "accuracy", probes), "position": position}


def _scores(record: Record, metric: Metric, probes: Probes) -> dict[str, Any]:
    """Best during, worst after and at the end per world; changes as the appendix defines them."""
    scored = [row for row in probe_rows(record.rows, probes) if metric in row]
    best, change = (score(record.rows, record.stages, metric, probes=probes) for score in (maximum, forgetting))
    worlds = {}
    for world in dict.fromkeys(row["world"] for row in scored):
        points = [(int(row["step"]), float(row[metric])) for row in scored if row["world"] == world]
        after = [value for step, value in points if record.timeline.away(step, world)]
        worlds[world] = {
            "best": best.worlds.get(world),
            "worst_after": worst_of(metric)(after) if after else None,
            "end": points[-1][1],
            "change": change.worlds.get(world),
        }
    means = {"best": best.mean, "change": change.mean}
    return {"worlds": worlds, "mean": {name: None if math.isnan(value) else value for name, value in means.items()}}


def describe(found: dict[str, Any]) -> str:
    """The summary in sentences and small tables."""
    parts = [[_headline(found), *_switch_lines(found)], _latent_lines(found)]
    parts.append(_score_lines(found, f"{' and '.join(found['probes'])} probes"))
    for mode, name in (("frozen", "fresh probes on the frozen encoder"), ("kept", "probes kept since the visit ended")):
        if mode in found:  # not in summaries of earlier versions
            parts.append(_score_lines(found[mode], name))
    parts.append([_speed(found)])
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


def _headline(found: dict[str, Any]) -> str:
    worlds, stream = " → ".join(found["stream"]), f"a stream of {_count(found['worlds'], 'world')}"
    if not found["complete"]:
        worlds += f" (not finished: step {found['steps']:,} of {found['total']:,})"
    if parent := found.get("parent"):
        worlds += f"\nForked from {parent['run']} at step {parent['step']:,}"
    if not found["environments"]:
        return f"{worlds}\n\nEnvironments: the learner infers none in {stream}"
    alarms = _count(found["false_alarms"], "false alarm")
    return f"{worlds}\n\nEnvironments: {found['environments']} found in {stream}, {alarms}"


def switch_sentence(row: Mapping[str, Any]) -> str:
    """An announced switch in one line, with what changed; the learner's reasons follow, on a second line if need be."""
    what = f"new environment {row['environment']}" if row["is_new"] else f"back in environment {row['environment']}"
    if row["false_alarm"]:
        when = f"false alarm: the world is still {row['world']}"
    else:
        when = f"{_count(row['delay'], 'batch')} after the world changed to {row['world']}"
    change, reasons = row.get("change"), "; ".join(row["reasons"])
    text = f"step {row['step']:,}: {what} ({when})"
    if not change:
        return f"{text}: {reasons}" if reasons else text
    return f"{text}: {change['sentence']}" + (f"\n  reasons: {reasons}" if reasons else "")


def _switch_lines(found: dict[str, Any]) -> list[str]:
    if not found["environments"]:
        return []
    lines = {row["step"]: switch_sentence({**row, "reasons": []}) for row in found["switches"]}
    lines |= {step: f"step {step:,}: the world changed and no switch was announced" for step in found["missed"]}
    return [f"  {lines[step]}" for step in sorted(lines)]


def _latent_lines(found: dict[str, Any]) -> list[str]:
    """Used, shared and position latents at the end of the run, then at the end of each stage."""
    end = "the run" if found["complete"] else "the last finished stage"
    if found["latents"] is None:
        measured = [("its stage", stage["position_latents"]) for stage in found["stages"]]
        return [
            f"Position in {position['world']}: {position_sentence(position)}, at the end of {when}"
            for when, position in [*measured, (end, found["position_latents"]["end"])]
            if position
        ]
    shared = f"{len(found['shared'])} of {found['latents']} shared by several environments"
    which = f" ({_list(found['shared'])})" if found["shared"] else ""
    lines = [f"Latents at the end of {end}: {shared}{which}"]
    for s, latents in enumerate(found["environment_latents"]):
        lines.append(f"  environment {s}: {_counted('used', latents)}, {_counted('recruited', latents)}")
    if position := found["position_latents"]["end"]:
        lines.append(f"  position in {position['world']}: {position_sentence(position)}")
    lines.append("Latents at the end of each stage (which are used is decided when an environment is left):")
    for stage in found["stages"]:
        masked = stage["position_masked"]
        hint = f" (position: {_list(masked)})" if masked else ""
        position = f"; {position_sentence(stage['position_latents'])}" if stage["position_latents"] else ""
        lines.append(
            f"  {stage['world']} = environment {stage['environment']}: "
            f"uses {_list(stage['used'])}; masked {_list(stage['masked'])}{hint}{position}"
        )
    return lines


def _counted(what: str, latents: dict[str, list[int]]) -> str:
    return f"{len(latents[what])} {what}" + (f" ({_list(latents[what])})" if latents[what] else "")


def _score_lines(found: dict[str, Any], probes: str) -> list[str]:
    """Probe scores: best during the world's own stage, worst afterwards, at the end."""
    identity, mse, pixels = found["identity"], found["position"]["mse"], found["position"]["pixels"]
    if not identity["worlds"]:
        return []
    table: list[tuple[str, ...]] = [("", "best during", "worst after", "at the end", "change")]
    moments = ("best", "worst_after", "end")
    for world, score in identity["worlds"].items():
        shown = [NONE if score[name] is None else f"{100 * score[name]:.1f} %" for name in moments]
        table.append((f"class of {world}", *shown, identity_change(score)))
    for world, score in mse["worlds"].items():
        extra = pixels["worlds"].get(world, {})
        shown = [_error(score[name], extra.get(name)) for name in moments]
        table.append((f"position in {world}", *shown, position_change(score)))
    title = f"What {probes} read from the representation (position: MSE on [0,1]², RMS in pixels)"
    changes = {"class": identity_change(identity["mean"]), "position": position_change(mse["mean"])}
    means = ", ".join(f"{what} {change}" for what, change in changes.items() if change != NONE)
    return [title, *(f"  {line}" for line in aligned(table)), *([f"  mean change: {means}"] if means else [])]


def aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table, in columns."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]


def identity_change(score: Mapping[str, float | None]) -> str:
    """The change of a probe's accuracy, in words."""
    return NONE if score["change"] is None else f"{100 * score['change']:+.1f} points"


def position_change(score: Mapping[str, float | None]) -> str:
    """The change of a probe's mean squared error, in words."""
    return NONE if score["change"] is None else f"{score['change']:+.1e}"


def _error(mse: float | None, pixels: float | None) -> str:
    if mse is None:
        return NONE
    return f"{mse:.1e}" + ("" if pixels is None else f" ({pixels:.1f} px)")


def _speed(found: dict[str, Any]) -> str:
    minutes, seconds = divmod(round(found["seconds"]), 60)
    rate = f", {found['steps_per_second']:.1f} steps/s" if found["steps_per_second"] else ""
    return (
        f"{found['steps']:,} steps in {minutes} min {seconds} s{rate}; preset {found['preset']}, seed {found['seed']}"
    )


def _list(latents: Sequence[int]) -> str:
    return ", ".join(map(str, latents)) or "none"


def _count(number: int, what: str) -> str:
    plural = "es" if what.endswith("ch") else "s"
    return f"{number} {what}" if number == 1 else f"{'no' if number == 0 else f'{number:,}'} {what}{plural}"
