"""The run along its steps: stages, environments, switches with their images, losses, atypicality and probe scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vase.learners.change import Change
from vase.metrics.forgetting import Metric, Probes
from vase.metrics.record import Record
from vase.plots.curves import score_metrics
from vase.report.pictures import data_uri
from vase.rows import Row

COLUMNS = 900  # points of a curve at most; longer runs are averaged
LOSSES = ("deviance", "reconstruction", "kl", "capacity", "loss", "dream_decoder", "dream_encoder", "effect")
_SCORES: dict[Metric, tuple[str, str]] = {
    "accuracy": ("Class read by {}", "%"),
    "pixels": ("Position error of {}", "px"),
    "mse": ("Position error of {}", "MSE"),
}
_PROBES: dict[Probes, str] = {"appendix": "probes", "frozen": "fresh probes on the frozen encoder"}


def timeline(record: Record) -> dict[str, Any]:
    """All of it, ready for JSON."""
    groups = _groups(record.of("step"))
    return {
        "total": max(1, record.total),
        "stages": [{"world": span.name, "start": span.start, "end": span.end} for span in record.visits],
        "periods": [{"environment": p.environment, "start": p.start, "end": p.end} for p in record.environments],
        "switches": [_switch(row) for row in record.switches],
        "steps": [group[-1]["step"] for group in groups],
        "losses": _losses(groups),
        "atypicality": _atypicality(groups),
        "masked": [_masked(group[-1].get("mask", ())) for group in groups],
        "threshold": record.threshold,
        "probes": _probes(record),
    }


def _groups(rows: list[Row]) -> list[list[Row]]:
    """Neighbouring rows together, so that there are at most COLUMNS groups."""
    size = max(1, -(-len(rows) // COLUMNS))
    return [rows[i : i + size] for i in range(0, len(rows), size)]


def _losses(groups: list[list[Row]]) -> dict[str, list[float | None]]:
    """The mean of each loss in each group; losses that the run never reports are left out."""
    found = {name: [_mean([row.get(name) for row in group]) for group in groups] for name in LOSSES}
    return {name: values for name, values in found.items() if any(values)}


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return _short(sum(known) / len(known)) if known else None


def _atypicality(groups: list[list[Row]]) -> list[list[float | None]]:
    """α of each latent, its largest value in each group; empty for a learner without atypicality."""
    columns = [[row["atypicality"] for row in group if row.get("atypicality")] for group in groups]
    if not any(columns):
        return []
    width = max(len(alpha) for column in columns for alpha in column)
    return [
        [max((_short(alpha[n]) for alpha in column if alpha[n] is not None), default=None) for n in range(width)]
        for column in columns
    ]


def _masked(mask: list[bool]) -> list[int]:
    return [latent for latent, active in enumerate(mask) if not active]


def _short(value: float) -> float:
    """Four digits are more than a curve shows."""
    return float(f"{value:.4g}")


def _switch(row: Mapping[str, Any]) -> dict[str, Any]:
    """An announced switch: the truth beside it, the reasons, and images before and after where the row has them."""
    names = ("step", "world", "environment", "is_new", "from", "delay", "false_alarm", "reasons")
    change = Change.from_row(row["change"]) if row.get("change") else None
    return {
        **{name: row[name] for name in names},
        "sentence": change.sentence if change else "",
        "before": [data_uri(image) for image in change.before] if change else [],
        "after": [data_uri(image) for image in change.after] if change else [],
    }


def _probes(record: Record) -> list[dict[str, Any]]:
    """One panel for each kind of score and of probe that the run has."""
    return [
        {
            "title": _SCORES[metric][0].format(kind),
            "unit": _SCORES[metric][1],
            "curves": _curves(record, metric, probes),
        }
        for probes, kind in _PROBES.items()
        for metric in score_metrics(record, probes)
    ]


def _curves(record: Record, metric: Metric, probes: Probes) -> list[dict[str, Any]]:
    scale = 100 if metric == "accuracy" else 1
    return [
        {"world": world, "steps": steps.tolist(), "values": [_short(v) for v in (scale * np.asarray(values)).tolist()]}
        for world, (steps, values) in record.scores(metric, probes=probes).items()
    ]
