"""Costs of a long life: measured on a small case, and lines worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import growth
from benchmarks.growth import Cost


def test_the_line_and_the_table_by_hand(tmp_path: Path) -> None:
    costs = [(2, 10.0, 1_000_000, 2_000_000), (100, 10.98, 1_098_000, 2_490_000)]
    run = {"steps": 10, "rows_bytes_per_step": 50.0, "early": 2_000_000, "late": 2_000_000}
    result = {"command": "python -m x", "run": run, "costs": [vars(Cost(*one)) for one in costs]}
    (tmp_path / "growth.json").write_text(json.dumps(result))
    points = [{"step": 10, "resident_bytes": 100, "step_ms": 9.0}, {"step": 20, "resident_bytes": 101, "step_ms": 27.0}]
    (tmp_path / "soak.json").write_text(json.dumps({"points": points}))
    text = growth.results_table(tmp_path / "growth.json", tmp_path / "soak.json")
    # 0.01 ms, 1,000 and 5,000 bytes per environment, 998 environments after the second
    assert "| 1,000 (arithmetic) | 20.0 | 2.00 | 6.99 |" in text
    assert "5.0 hours of one core at 18.0 ms a step, and 50 MB of rows" in text  # 18 ms · 10⁶ / 3.6·10⁶
    assert "after 20 steps differs by +1.0 % from that after 10" in text


@pytest.mark.parametrize(("first", "last", "at", "found"), [(1.0, 1.0, 9, 1.0), (0.0, 2.0, 7, 5.0)])
def test_lines(first: float, last: float, at: int, found: float) -> None:
    assert growth.line(first, last, (2, 4), at) == found


def test_sizes_are_those_of_all_files(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(bytes(7))
    (tmp_path / "c").write_bytes(bytes(5))
    assert growth.folder_bytes(tmp_path) == 12
