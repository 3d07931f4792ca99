"""What a benchmark found: rows, ratios with their bars, remarks; as tables and as JSON."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from vase.bench.timing import Ratio, Spread
from vase.machine import cpu_name
from vase.training.directory import versions


@dataclass(frozen=True)
class Part:
    """One part of the benchmark."""

    name: str
    title: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    """Rows of one table, with the same keys in all of them; of a Spread, the median is shown."""
    ratios: list[Ratio] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        rows = [{key: vars(v) if isinstance(v, Spread) else v for key, v in row.items()} for row in self.rows]
        return {
            "title": self.title,
            "rows": rows,
            "ratios": [ratio.to_dict() for ratio in self.ratios],
            "notes": self.notes,
        }

    def show(self, console: Console) -> None:
        """Print it."""
        console.print(f"\n{self.title}", style="bold", highlight=False)
        if self.rows:
            table = Table()
            for number, key in enumerate(self.rows[0]):
                table.add_column(key, justify="left" if number == 0 else "right")
            for row in self.rows:
                table.add_row(*(_cell(value) for value in row.values()))
            console.print(table)
        if self.ratios:
            table = Table("ratio", "median", "quartiles", "bar", "")
            for ratio in self.ratios:
                bar = "" if ratio.bar is None else f"{ratio.sense} {ratio.bar:g}"
                held = {None: "", True: "held", False: "missed"}[ratio.held]
                quartiles = f"{ratio.low:.3f} to {ratio.high:.3f}"
                table.add_row(ratio.name, f"{ratio.median:.3f}", quartiles, bar, held)
            console.print(table)
        for note in self.notes:
            console.print(note, markup=False, highlight=False)


def _cell(value: object) -> str:
    if isinstance(value, Spread):
        return _number(value.median)
    return _number(value) if isinstance(value, float) else "" if value is None else str(value)


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def machine() -> dict[str, Any]:
    """What the numbers were measured with."""
    return {
        "versions": versions(),
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS"),
    }


def write(path: Path, record: dict[str, Any]) -> None:
    """Write a record as JSON, numbers to six digits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_rounded(record), indent=1, ensure_ascii=False) + "\n")


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value
