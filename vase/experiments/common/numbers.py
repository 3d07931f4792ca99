"""Numbers of finished runs, one per seed, from their rows; and the notes that tables end with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vase.experiments.results import Result, Results
from vase.experiments.tables import Spread, spread
from vase.metrics.forgetting import Metric, final, forgetting, maximum
from vase.rows import Row

MEASURES = ("MIG", "SAP", "DCI disentanglement", "DCI completeness", "DCI informativeness", "FactorVAE")
Numbers = list[float | None]
"""One number per seed; None where it was not measured."""


def best(runs: Sequence[Result], metric: Metric, worlds: Iterable[str] | None = None) -> Numbers:
    """Per seed: the best score of each world while it was trained on, averaged over worlds ("Max", "Min")."""
    return [_number(maximum(r.rows, r.timeline.stages, metric, worlds).mean) for r in runs]


def change(runs: Sequence[Result], metric: Metric, worlds: Iterable[str] | None = None) -> Numbers:
    """Per seed: worst score after a world minus best score during it, averaged over worlds ("Change")."""
    return [_number(forgetting(r.rows, r.timeline.stages, metric, worlds).mean) for r in runs]


def last(runs: Sequence[Result], metric: Metric, worlds: Iterable[str] | None = None) -> Numbers:
    """Per seed: the score of each world at the end of the stream, averaged over worlds."""
    return [_number(final(r.rows, metric, worlds).mean) for r in runs]


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


def note(results: Results) -> str:
    """Where the numbers of a table come from."""
    modes = sorted({mode for run in results.runs for mode in run.summary["probes"]})
    return (
        f"Preset {results.preset}, {stage_lengths(results)} steps per stage, {' and '.join(modes) or 'no'} probes; "
        "mean ± standard deviation over seeds."
    )


def measure_of(row: Mapping[str, Any], name: str) -> float | None:
    """One of MEASURES from a "measures" row."""
    if name.startswith("DCI"):
        return row["dci"][name.split()[1]] if row.get("dci") else None
    return row[{"MIG": "mig", "SAP": "sap", "FactorVAE": "factor_vae"}[name]]


def measured(run: Result, world: str) -> list[Row]:
    """The "measures" rows of a world along the stream, each with the environment ("home") that stood for it."""
    home = run.record.environment_of.get(world)
    return [{**row, "home": home} for row in run.of("measures") if row["world"] == world]
