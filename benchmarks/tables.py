"""The tables of docs/scaling.md, from the files that benchmarks.speed or `vase bench --out` wrote.

python -m benchmarks.tables [results/speed/laptop.json ...]    prints Markdown
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent.parent / "results" / "speed"


def cell(value: Any) -> str:
    """A number to three digits; of a spread, the median."""
    if isinstance(value, dict):
        value = value["median"]
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return "" if value is None else str(value)


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def part(found: dict[str, Any]) -> str:
    """One part of a benchmark: rows, ratios, remarks."""
    blocks = [f"**{found['title']}**"]
    if found["rows"]:
        columns = list(dict.fromkeys(name for row in found["rows"] for name in row))
        blocks.append(table(columns, [[cell(row.get(name)) for name in columns] for row in found["rows"]]))
    if found["ratios"]:
        rows = []
        for ratio in found["ratios"]:
            bar = "" if ratio["bar"] is None else f"{ratio['sense']} {ratio['bar']:g}"
            held = {None: "", True: "held", False: "**missed**"}[ratio["held"]]
            rows.append(
                [ratio["name"], f"{ratio['median']:.3f}", f"{ratio['low']:.3f} to {ratio['high']:.3f}", bar, held]
            )
        blocks.append(table(["ratio", "median", "quartiles", "bar", ""], rows))
    return "\n\n".join([*blocks, *found["notes"]])


def document(paths: Iterable[Path]) -> str:
    """Every part of every file."""
    blocks = []
    for path in paths:
        record = json.loads(path.read_text())
        if "parts" in record:
            blocks.append(f"`{record['command']}` → {path.name}; {record['cpu']}, {record['cores']} cores")
            blocks += [part(found) for found in record["parts"].values()]
    return "\n\n".join(blocks)


def results_table() -> str:
    """What `vase bench` measured of the present recipe."""
    found = (path for path in sorted(RESULTS.glob("*.json")) if "vase bench" in json.loads(path.read_text())["command"])
    return document(found)


def main() -> None:
    """Print every part of every file."""
    print(document([Path(name) for name in sys.argv[1:]] or sorted(RESULTS.glob("*.json"))))


if __name__ == "__main__":
    main()
