"""The orderings of Table 1 from hand-made results."""

import json

import pytest

from vase.experiments import results_of
from vase.experiments.ablation.orderings import orderings
from vase.experiments.ablation.settings import ABLATION


def write(folder, condition, points, squares):
    """Runs that lose so many points of moving Fashion while MNIST is trained on, and so many 1e-4 of its position."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (lost, worse) in enumerate(zip(points, squares, strict=True)):
        rows = [
            {"kind": "probe", "probe": probe, "mode": "frozen", "world": "moving-fashion", "step": step, metric: value}
            for probe, metric, values in (
                ("identity", "accuracy", (0.8, 0.8 - lost / 100)),
                ("position", "mse", (1e-3, 1e-3 + worse / 1e4)),
            )
            for step, value in zip((10, 20), values, strict=True)
        ]
        content = {
            "stages": [["moving-fashion", 10], ["mnist", 10], ["moving-mnist", 10]],
            "config": {},
            "summary": {"probes": ["frozen"]},
            "rows": rows,
        }
        (folder / f"{condition}-{seed}.json").write_text(json.dumps(content))


@pytest.fixture
def table(tmp_path):
    """Identity in the paper: SDA loses 5.4, SD 12.9, – 15.2, A 24.5, entangled SDA 6.5. Position: 3, 20, 24.8, 67.6."""
    folder = tmp_path / "ablation" / "laptop"
    write(folder, "disentangled-SDA", (1, 2, 3), (1, 2, 3))  # mean 2, standard error 1/√3
    write(folder, "disentangled-SD", (6, 7, 8), (0, 1, 2))
    write(folder, "disentangled-none", (4,), (9,))
    write(folder, "disentangled-A", (1, 2, 3), (10, 20, 90))
    write(folder, "entangled-SDA", (0, 1, 3), (1, 3, 4))
    return orderings(results_of(ABLATION, "laptop", tmp_path))


@pytest.fixture
def rows(table):
    assert len(table.rows) == 32
    return {row[:3]: dict(zip(table.columns, row, strict=True)) for row in table.rows}


def test_identity_by_hand(rows):
    best = rows["ID change (%)", "disentangled", "SDA"]
    assert best["vs SD"] == "yes, 6.1"  # 5 / √(2/3), p = 0.004
    assert best["vs –"] == "yes?"  # one run: no standard error
    assert best["vs D"] == "–"
    assert best["vs A"] == "no?, 0.0"
    assert best["vs entangled"] == "no?, 2.0"  # differences −1, −1, 0: mean −2/3, standard error 1/3, p = 0.18
    assert rows["ID change (%)", "disentangled", "SD"]["vs A"] == "no, 6.1"
    assert rows["ID change (%)", "entangled", "SDA"]["vs SD"] == "–"
    assert rows["ID change (%)", "entangled", "SDA"]["vs entangled"] == ""
    assert rows["ID change (%)", "disentangled", "A"]["vs SD"] == ""  # stands in the row of SD


def test_position_by_hand(rows):
    best = rows["position change (1e-4)", "disentangled", "SDA"]
    assert best["vs SD"] == "no?, 1.2"  # 1 / √(2/3), p = 0.29
    assert best["vs A"] == "yes?, 1.5"  # 38 / √(1900/3 + 1/3), p = 0.27
    assert best["vs –"] == "yes?"


def test_pairs_that_the_paper_does_not_tell_apart_are_open(rows):
    assert rows["position change (1e-4)", "disentangled", "A"]["vs –"] == "open"  # 67.6 ± 107 beside 24.8 ± 13.5
    assert rows["ID change (%)", "disentangled", "SD"]["vs S"] == "open"  # −12.9 ± 1.9 beside −13.9 ± 1.9
    assert rows["ID change (%)", "disentangled", "SA"]["vs A"] == "–"  # −28.1 ± 0.08 beside −24.5 ± 1.0


def test_the_orderings_are_counted(table):
    identity, position = table.notes[1:3]
    assert identity.startswith("ID change (%): the paper orders 56 of 64 pairs; here 1 the same, ")
    assert "1 the other way round, " in identity
    assert "1 the other way round within noise" in position
