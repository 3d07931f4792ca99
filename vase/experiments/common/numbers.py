"""Numbers of finished runs, one per seed, from their rows; and the notes that tables end with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from vase.experiments.common.earlier import earlier_preset
from vase.experiments.results import Result, Results
from vase.experiments.tables import Spread, spread
from vase.metrics.forgetting import Metric, Probes, final, forgetting, maximum, score_error
from vase.metrics.latents import Information
from vase.rows import Row

MEASURES = ("MIG", "SAP", "DCI disentanglement", "DCI completeness", "DCI informativeness", "FactorVAE")
AXES = ("|r| of x", "|r| of x, next", "|r| of y", "|r| of y, next")
SEEN_MEASURES = ("MIG", "MIG error", "SAP", "DCI disentanglement", "DCI completeness", "DCI informativeness", *AXES)
"""Adjusted for chance, of the latents that the environment sees."""
Codes = Literal["means", "samples"]
Numbers = list[float | None]
"""One number per seed; None where it was not measured."""


def best(
    runs: Sequence[Result], metric: Metric, worlds: Iterable[str] | None = None, probes: Probes = "appendix"
) -> Numbers:
    """Per seed: the best score of each world while it was trained on, averaged over worlds ("Max", "Min")."""
    return [_number(maximum(r.rows, r.timeline.stages, metric, worlds, probes=probes).mean) for r in runs]


def change(
    runs: Sequence[Result], metric: Metric, worlds: Iterable[str] | None = None, probes: Probes = "appendix"
) -> Numbers:
    """Per seed: worst score after a world minus best score during it, averaged over worlds ("Change")."""
    return [_number(forgetting(r.rows, r.timeline.stages, metric, worlds, probes=probes).mean) for r in runs]


def last(
    runs: Sequence[Result], metric: Metric, worlds: Iterable[str] | None = None, probes: Probes = "appendix"
) -> Numbers:
    """Per seed: the score of each world at the end of the stream, averaged over worlds."""
    return [_number(final(r.rows, metric, worlds, probes=probes).mean) for r in runs]


def image_error(runs: Sequence[Result], metric: Metric, worlds: Iterable[str] | None = None) -> Numbers:
    """Per seed: the standard error of one score of the frozen-encoder probe over test images, averaged over worlds."""
    return [_number(score_error(r.rows, metric, worlds).mean) for r in runs]


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def percent(values: Numbers) -> Spread:
    """Shares as percent."""
    return spread(values, scale=100)


def tenthousandths(values: Numbers) -> Spread:
    """Squared errors in units of 1e-4, as the paper prints them."""
    return spread(values, scale=1e4)


def summary_values(runs: Sequence[Result], name: str) -> list[Any]:
    """One entry of the summary of each run whose learner infers environments."""
    return [run.summary[name] for run in runs if run.infers_environments]


def stage_lengths(results: Results) -> str:
    """The steps of the stages of all runs: "1,500"."""
    return ", ".join(f"{n:,}" for n in sorted({steps for run in results.runs for _, steps in run.timeline.stages}))


PROBES: dict[Probes, str] = {
    "frozen": "fresh probes on the frozen encoder",
    "kept": "probes of the end of a visit",
    "settled": "probes of soon after a visit",
}


def note(results: Results, probes: Probes = "appendix") -> str:
    """Where the numbers of a table come from."""
    modes = sorted({mode for run in results.runs for mode in run.summary["probes"]})
    told = f"{' and '.join(modes) or 'no'} probes" if probes == "appendix" else PROBES[probes]
    return (
        f"Preset {results.preset}, {stage_lengths(results)} steps per stage, {told}; "
        f"mean ± standard deviation over seeds.{earlier_preset(results)}"
    )


def has_seen(results: Results) -> bool:
    """Whether any run measured the latents that environments see; those of earlier versions did not."""
    return any("seen" in row for run in results.runs for row in run.of("measures"))


def seen_of(row: Mapping[str, Any], codes: Codes, name: str) -> float | None:
    """One of SEEN_MEASURES from a "measures" row, of the latents that the environment sees; None if it has none."""
    found = row.get("seen", {}).get(codes)
    if found is None:
        return None
    if name.startswith("|r|"):
        axis = found.get("axes", {}).get("x" if name.startswith("|r| of x") else "y")
        return None if axis is None else axis["second"] if name.endswith("next") else abs(axis["correlation"])
    return found["mig_error"] if name == "MIG error" else measure_of(found, name)


def information_of(row: Mapping[str, Any], codes: Codes | None = None) -> Information:
    """Factor -> information of each latent, from a "measures" row; empty if a row has none of these codes."""
    found: Information = (
        row["information"] if codes is None else row.get("seen", {}).get(codes, {}).get("information", {})
    )
    return found


def measure_of(row: Mapping[str, Any], name: str) -> float | None:
    """One of MEASURES from a "measures" row."""
    if name.startswith("DCI"):
        return row["dci"][name.split()[1]] if row.get("dci") else None
    return row[{"MIG": "mig", "SAP": "sap", "FactorVAE": "factor_vae"}[name]]


def measured(run: Result, world: str) -> list[Row]:
    """The "measures" rows of a world along the stream, each with the environment ("home") that stood for it."""
    home = run.record.environment_of.get(world)
    return [{**row, "home": home} for row in run.of("measures") if row["world"] == world]
