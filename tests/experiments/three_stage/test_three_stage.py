"""The appendix's table, by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vase.experiments import load_experiment, results_of
from vase.experiments.results import checked_results
from vase.experiments.tables import Entry, Spread
from vase.experiments.three_stage.analysis import appendix, appendix_frozen

ROOT = Path(__file__).parents[3]


def _write(folder: Path, condition: str, seed: int, mnist: list[float], fashion: list[float]) -> None:
    """Stages of 10 steps, scored at their ends by probes along the stream; fresh ones read 0.1 less of everything."""
    rows: list[dict[str, Any]] = []
    for mode, less in (("periodic", 0.0), ("frozen", 0.1)):
        for world, scores in (("mnist", mnist), ("fashion", fashion)):
            for step, score in zip((30, 20, 10), reversed(scores), strict=False):
                rows.append(
                    {"kind": "probe", "step": step, "world": world, "mode": mode, "accuracy": score - less, "error": 0}
                )
    content = {
        "settings": {"seed": seed},
        "stages": [["mnist", 10], ["fashion", 10], ["mnist", 10]],
        "summary": {"probes": ["periodic"]},
        "rows": rows,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{condition}-{seed}.json").write_text(json.dumps(content))


def values(entry: Entry) -> tuple[float, ...]:
    """One number per seed."""
    assert isinstance(entry, Spread)
    return entry.values


def test_decrease_maximum_and_distance_by_hand(tmp_path: Path) -> None:
    folder = tmp_path / "three-stage" / "laptop"
    _write(folder, "disentangled-SDA", 0, [0.9, 0.88, 0.94], [0.8, 0.79])  # loses 2 of MNIST, 1 of Fashion
    _write(folder, "disentangled-SDA", 1, [0.9, 0.87, 0.94], [0.8, 0.78])  # 3 and 2
    _write(folder, "disentangled-none", 0, [0.9, 0.80, 0.94], [0.8, 0.74])  # 10 and 6
    _write(folder, "disentangled-none", 1, [0.9, 0.78, 0.94], [0.8, 0.72])  # 12 and 8
    results = results_of(load_experiment("three-stage"), "laptop", tmp_path)
    for table, maximum in ((appendix(results), 87), (appendix_frozen(results), 77)):
        rows = {row[1]: row for row in table.rows if row[0] == "disentangled"}
        ours, none = rows["SDA (VASE)"], rows["– (CCI-VAE)"]
        assert values(ours[3]) == pytest.approx((-1.5, -2.5))
        assert values(none[3]) == pytest.approx((-8, -10))
        assert values(none[6]) == pytest.approx((maximum, maximum))
        # means −2 and −9; standard errors of two values d apart: d/2, that is, 0.5 and 1
        assert (ours[5], none[5]) == ("–", pytest.approx(7 / 1.25**0.5))
        assert [str(entry) for entry in (ours[4], none[4])] == ["−0.9", "−4.4"]
        assert rows["SD"][2] == 0
        assert rows["SD"][5] == "–"


def test_committed_results_are_those_of_the_experiment_now() -> None:
    found = checked_results(load_experiment("three-stage"), "laptop", ROOT / "results")
    assert "disentangled-SDA" in {condition.name for condition, _ in found.finished}
