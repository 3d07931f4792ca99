"""The tables of docs/scaling.md, from the files that benchmarks.speed or `vase bench --out` wrote.

python -m benchmarks.tables [results/speed/laptop.json ...]    prints Markdown
"""

from __future__ import annotations

import json
import sys
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
        blocks.append(table(list(found["rows"][0]), [[cell(v) for v in row.values()] for row in found["rows"]]))
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


def main() -> None:
    """Print every part of every file."""
    paths = [Path(name) for name in sys.argv[1:]] or sorted(RESULTS.glob("*.json"))
    for path in paths:
        record = json.loads(path.read_text())
        if "parts" in record:
            command = f"python -m benchmarks.speed {path.stem}" if path.parent == RESULTS else record["command"]
            print(f"`{command}` → {path.name}; {record['cpu']}, {record['cores']} cores\n")
            print("\n\n".join(part(found) for found in record["parts"].values()), end="\n\n")


if __name__ == "__main__":
    main()
