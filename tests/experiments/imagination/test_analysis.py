"""Conditions and table of the imagination experiment, by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vase.config import preset as configuration
from vase.experiments import load_experiment, results_of
from vase.experiments.imagination.analysis import imagination_table
from vase.experiments.imagination.figures import figure4c
from vase.experiments.results import checked_results

ROOT = Path(__file__).parents[3]


def test_conditions_differ_by_what_they_are_named_after() -> None:
    whole = load_experiment("imagination")
    found = {condition.name: whole.settings(condition, 2, "laptop") for condition in whole.conditions}
    passive = found["passive"]
    assert (passive.imagination, passive.anticipation, passive.batch_size) == ("", "mnist>moving-mnist", 64)
    assert (passive.steps, passive.seed) == (3_000, 2)
    options = {name: {n: getattr(s, n) for n in s.differences(passive)} for name, s in found.items()}
    assert options == {
        "passive": {},
        "imagination": {"imagination": "mnist"},
        "random-translation": {"imagination": "mnist", "imagination_policy": "random"},
        "passive-128": {"batch_size": 128},
        "imagination-quarter": {"imagination": "mnist", "imagination_share": 0.25},
        "imagination-late": {"imagination": "mnist", "imagination_start": 1_500},
        "imagination-ramp": {"imagination": "mnist", "imagination_ramp": 1_500},
    }
    assert {condition.seeds for condition in whole.conditions} == {(0, 1, 2)}
    assert [c.name for c in whole.conditions if c.shown] == list(found)[:4]


def test_committed_results_are_those_of_the_experiment_now() -> None:
    found = checked_results(load_experiment("imagination"), "laptop", ROOT / "results")
    assert {"passive", "imagination"} <= {condition.name for condition, _ in found.finished}


def test_values_of_the_papers_table() -> None:
    whole = load_experiment("imagination")
    settings = whole.settings(whole.condition("imagination"), 0, "paper")
    assert settings.steps == 45_000
    config = configuration("paper", (1, 64, 64)).with_values(dict(settings.overrides))
    assert (config.capacity.gamma, config.capacity.c_max) == (200, 35)
    assert 1 / config.capacity.ramp_steps == pytest.approx(0.7e-5, rel=1e-5)
    assert (config.mask.threshold, config.environments.kappa, config.dreaming.tau) == (0.7, 1.5, 500)


def _probe(world: str, step: int, value: float, metric: str = "accuracy", mode: str = "periodic") -> dict[str, Any]:
    probe = "identity" if metric == "accuracy" else "position"
    return {"kind": "probe", "step": step, "world": world, "probe": probe, "mode": mode, metric: value}


def _write(
    folder: Path, condition: str, seed: int, ahead: list[float], ceiling: list[float], probes: dict[str, list[float]]
) -> None:
    """Stages of 10 steps; ahead at 15 and 20, probes at 20, 25 and 30; fresh ones read 0.01 more."""
    way = {"latents": [0, 2], "before": [3.0, 4.0], "after": [0.6, 0.8]} if condition == "imagination" else {}
    rows = [
        {
            "kind": "imagination",
            "step": step,
            "world": "mnist",
            "unmet": "moving-mnist",
            **way,
            "accuracy": a,
            "ceiling": c,
        }
        for step, a, c in zip((15, 20), ahead, ceiling, strict=True)
    ]
    rows += [_probe(w, step, v) for w, vs in probes.items() for step, v in zip((20, 25, 30), vs, strict=True)]
    rows += [
        _probe(w, step, v + 0.01, mode="frozen")
        for w, vs in probes.items()
        for step, v in zip((20, 30), vs[::2], strict=True)
    ]
    rows += [_probe("moving-mnist", 20, 1.5, "pixels"), _probe("moving-mnist", 30, 0.5, "pixels")]
    content = {
        "settings": {"seed": seed},
        "stages": [["moving-fashion", 10], ["mnist", 10], ["moving-mnist", 10]],
        "config": {"mask": {"threshold": 0.6}},
        "summary": {"probes": ["periodic"], "environments": 3, "false_alarms": seed},
        "rows": rows,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{condition}-{seed}.json").write_text(json.dumps(content))


def test_table_by_hand(tmp_path: Path) -> None:
    folder = tmp_path / "imagination" / "laptop"
    fashion, moving = [0.8, 0.8, 0.75], [0.7, 0.8, 0.9]
    probes = {"moving-fashion": fashion, "moving-mnist": moving}
    _write(folder, "passive", 0, [0.1, 0.3], [0.5, 0.8], {**probes, "mnist": [0.90, 0.9, 0.85]})
    _write(folder, "passive", 1, [0.1, 0.4], [0.5, 0.8], {**probes, "mnist": [0.92, 0.9, 0.85]})
    _write(folder, "imagination", 0, [0.5, 0.72], [0.6, 0.8], {**probes, "mnist": [0.89, 0.9, 0.95]})
    _write(folder, "imagination", 1, [0.9, 0.76], [0.6, 0.95], {**probes, "mnist": [0.93, 0.9, 0.95]})
    _write(folder, "imagination", 2, [0.9, 0.9], [0.9, 0.9], {**probes, "mnist": [0.93, 0.9, 0.95]})
    table = imagination_table(results_of(load_experiment("imagination"), "laptop", tmp_path))
    assert table.columns == ("", "passive", "imagination", "gain", "bar")
    rows = {str(row[0]): row[1:] for row in table.rows}

    def values(name: str) -> list[list[float]]:
        return [[round(value, 6) for value in entry.values] for entry in rows[name][:3]]  # type: ignore[union-attr]

    # seed 2 has no passive partner: it counts in its own column, and in no gain
    assert values("moving MNIST, classifier of what was met (%)") == [[30, 40], [72, 76, 90], [42, 36]]
    assert values("the same classifier on real moving MNIST (%)") == [[80, 80], [80, 95, 90], [0, 15]]
    assert values("what was met / real (%)") == [[37.5, 50], [90, 80, 100], [52.5, 30]]
    assert values("appendix probe of moving MNIST (%)") == [[70, 70], [70, 70, 70], [0, 0]]
    assert values("its position error (pixels)") == [[1.5, 1.5], [1.5, 1.5, 1.5], [0, 0]]
    assert values("fresh probe of MNIST (%)") == [[91, 93], [90, 94, 94], [-1, 1]]
    assert values("fresh probe of moving Fashion (%)")[0] == [81, 81]
    assert values("later: moving Fashion, end of the run, fresh probe (%)")[0] == [76, 76]
    assert values("later: MNIST, end of the run, fresh probe (%)") == [[86, 86], [96, 96, 96], [10, 10]]
    assert values("later: moving MNIST, first score in its stage, appendix probe (%)")[1] == [80, 80, 80]
    assert values("later: moving MNIST, end of the run, appendix probe (%)")[1] == [90, 90, 90]
    assert values("what was met / end of the run (%)")[1] == [80, pytest.approx(76 / 0.9), 100]
    assert values("distance from z*, before acting") == [[], [pytest.approx(12.5**0.5)] * 3, []]
    assert values("distance from z*, after acting") == [[], [pytest.approx(0.5**0.5)] * 3, []]
    assert values("false alarms") == [[0, 1], [0, 1, 2], [0, 0]]
    assert rows["what was met / real (%)"][3] == "≥ 85"
    assert "2 passive, 3 imagination" in table.notes[1]


def _study(folder: Path, conditions: dict[str, list[float]]) -> None:
    """Accuracies of the classifier of what was met, one per seed."""
    for condition, accuracies in conditions.items():
        for seed, accuracy in enumerate(accuracies):
            _write(folder, condition, seed, [0.1, accuracy], [0.5, 0.8], {"mnist": [0.9, 0.9, 0.9]})


@pytest.mark.parametrize(
    ("conditions", "columns", "first"),
    [
        ({"imagination": [0.7]}, ("imagination",), [[70]]),
        ({"passive": [0.25], "passive-128": [0.3]}, ("passive", "passive-128", "gain"), [[25], [30], [5]]),
        (
            {"random-translation": [0.5, 0.75], "imagination": [0.7, 0.8], "passive": [0.25, 0.5]},
            ("passive", "imagination", "gain", "random-translation", "gain"),
            [[25, 50], [70, 80], [45, 30], [50, 75], [25, 25]],
        ),
        (
            {"passive-128": [0.3], "random-translation": [0.5], "imagination": [0.7], "passive": [0.25]},
            ("passive", "imagination", "gain", "random-translation", "gain", "passive-128", "gain"),
            [[25], [70], [45], [50], [25], [30], [5]],
        ),
    ],
)
def test_conditions_with_results_are_columns(
    tmp_path: Path, conditions: dict[str, list[float]], columns: tuple[str, ...], first: list[list[float]]
) -> None:
    _study(tmp_path / "imagination" / "laptop", conditions)
    table = imagination_table(results_of(load_experiment("imagination"), "laptop", tmp_path))
    assert table.columns == ("", *columns, "bar")
    assert [[round(value, 6) for value in entry.values] for entry in table.rows[0][1:-1]] == first  # type: ignore[union-attr]
    assert table.rows[0][-1] == "gain ≥ 35"
    explained = [name for name in ("random-translation", "passive-128") if f"{name}: " in " ".join(table.notes)]
    assert explained == [name for name in ("random-translation", "passive-128") if name in conditions]


def test_figure_of_the_committed_results_shows_the_conditions_that_have_some() -> None:
    results = results_of(load_experiment("imagination"), "laptop", ROOT / "results")
    left, *_ = figure4c(results).get_axes()
    labels = [text.get_text() for text in left.get_legend().get_texts()]
    seeds = {name: len(results.of(name)) for name in ("imagination", "passive")}
    assert labels[:2] == [f"{name}, {count} seed{'s' * (count > 1)}" for name, count in seeds.items()]
    assert len(labels) == len(results.finished) + 1
