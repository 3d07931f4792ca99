"""Tables of the ablation from hand-made results."""

import json
import math

import pytest

from vase.experiments import Result, results_of
from vase.experiments.ablation.analysis import latents, masks_position_where_nothing_moves, ranking, table1, twins
from vase.experiments.ablation.reuse import reuse
from vase.experiments.ablation.settings import ABLATION, LONGER
from vase.experiments.common.numbers import change
from vase.experiments.tables import Reported


def _probe(world, step, value, kind="accuracy"):
    probe = "identity" if kind == "accuracy" else "position"
    return {"kind": "probe", "step": step, "world": world, "probe": probe, "mode": "periodic", kind: value}


def _hand_made(folder, condition, seed, accuracies, errors):
    """A run of 10 steps per stage: moving Fashion scored at 10 and 30, MNIST at 20 and 30."""
    rows = [
        _probe("moving-fashion", 10, accuracies[0]),
        _probe("moving-fashion", 30, accuracies[1]),
        _probe("mnist", 20, accuracies[2]),
        _probe("mnist", 30, accuracies[3]),
        _probe("moving-fashion", 10, errors[0], "mse"),
        _probe("moving-fashion", 30, errors[1], "mse"),
        _probe("moving-mnist", 30, errors[2], "mse"),
    ]
    stages = [["moving-fashion", 10], ["mnist", 10], ["moving-mnist", 10]]
    content = {
        "stages": stages,
        "config": {"mask": {"threshold": 0.6}},
        "summary": {"probes": ["periodic"]},
        "rows": rows,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{condition}-{seed}.json").write_text(json.dumps(content))


class TestTable1:
    @pytest.fixture
    def results(self, tmp_path):
        folder = tmp_path / "ablation" / "laptop"
        _hand_made(folder, "disentangled-SDA", 0, (0.8, 0.7, 0.6, 0.6), (2e-4, 4e-4, 6e-4))
        _hand_made(folder, "disentangled-SDA", 1, (0.9, 0.9, 0.6, 0.6), (2e-4, 2e-4, 2e-4))
        _hand_made(folder, "disentangled-SD", 0, (0.8, 0.6, 0.6, 0.4), (2e-4, 9e-4, 6e-4))
        _hand_made(folder, "disentangled-SD", 1, (0.8, 0.6, 0.6, 0.3), (2e-4, 7e-4, 6e-4))
        return results_of(ABLATION, "laptop", tmp_path)

    def test_eight_columns_by_hand(self, results):
        row = next(row for row in table1(results).rows if row[:2] == ("disentangled", "SDA (VASE)"))
        assert row[2] == 2
        highest, paper, changed, *_ = row[3:]
        assert highest.values == pytest.approx((70.0, 75.0))
        assert paper == Reported("88.6 ± 0.4")
        assert changed.values == pytest.approx((-5.0, 0.0))
        assert row[7].values == pytest.approx((4.0, 2.0))
        assert row[9].values == pytest.approx((2.0, 0.0))
        assert (str(row[8]), str(row[10])) == ("3.2 ± 0.03", "3.0 ± 0.2")

    def test_only_conditions_with_runs_have_rows(self, results):
        assert [(row[1].split()[0], row[2]) for row in table1(results).rows] == [("SD", 2), ("SDA", 2)]

    def test_longer_stages_have_the_settings_of_the_ablation(self, tmp_path):
        _hand_made(tmp_path / "longer/laptop", "entangled-SDA", 0, (0.8, 0.6, 0.6, 0.4), (2e-4, 9e-4, 6e-4))
        rows = table1(results_of(LONGER, "laptop", tmp_path)).rows
        assert [(row[0], row[1].split()[0], row[2]) for row in rows] == [("entangled", "SDA", 1)]
        assert all(c.overrides == ABLATION.condition(c.name).overrides for c in LONGER.conditions)
        assert LONGER.steps["laptop"] > ABLATION.steps["laptop"]

    def test_a_condition_without_scores_has_no_place(self, results, tmp_path):
        path = tmp_path / "ablation/laptop/disentangled-SD-0.json"
        for seed in (0, 1):
            path.with_name(f"entangled-S-{seed}.json").write_text(
                json.dumps({**json.loads(path.read_text()), "rows": []})
            )
        assert not any("entangled S" in row[2].split(" (") for row in ranking(results).rows)

    def test_labels(self, tmp_path):
        for name in ("disentangled-none", "entangled-SD"):
            _hand_made(tmp_path / "ablation/laptop", name, 0, (0.8, 0.6, 0.6, 0.4), (2e-4, 9e-4, 6e-4))
        assert [row[:2] for row in table1(results_of(ABLATION, "laptop", tmp_path)).rows] == [
            ("disentangled", "– (CCI-VAE)"),
            ("entangled", "SD (stand-in for lifelong generative modelling)"),
        ]

    def test_ranking_puts_the_least_forgetful_first_with_its_lead(self, results):
        rows = [row for row in ranking(results).rows if row[0] == "ID change (%)"]
        assert [row[2] for row in rows] == ["disentangled SDA (VASE)", "disentangled SD"]
        # changes −5, 0 and −20, −25: means 20 apart, errors 2.5 and 2.5
        assert rows[1][-1] == pytest.approx(20 / math.hypot(2.5, 2.5))

    def test_a_condition_that_forgets_less_is_not_behind(self, tmp_path):
        folder = tmp_path / "ablation" / "laptop"
        for seed in (0, 1):
            _hand_made(folder, "disentangled-SDA", seed, (0.8, 0.6 - 0.1 * seed, 0.6, 0.6), (2e-4, 4e-4, 6e-4))
            _hand_made(folder, "entangled-SDA", seed, (0.8, 0.8 - 0.1 * seed, 0.6, 0.6), (2e-4, 4e-4, 6e-4))
        results = results_of(ABLATION, "laptop", tmp_path)
        rows = [row for row in ranking(results).rows if row[0] == "ID change (%)"]
        # changes −10, −15 and 0, −5: 10 apart, errors 2.5 and 2.5
        assert [(row[2], row[-1]) for row in rows] == [
            ("entangled SDA", pytest.approx(-10 / math.hypot(2.5, 2.5))),
            ("disentangled SDA (VASE)", "–"),
        ]

    def test_twins_are_compared_seed_by_seed(self, tmp_path):
        folder = tmp_path / "ablation" / "laptop"
        for seed, ours, theirs in ((0, 0.6, 0.7), (1, 0.5, 0.8), (2, 0.1, None), (3, 0.55, 0.75)):
            _hand_made(folder, "disentangled-SDA", seed, (0.8, ours, 0.6, 0.6), (2e-4, 4e-4, 6e-4))
            if theirs is not None:
                _hand_made(folder, "entangled-SDA", seed, (0.8, theirs, 0.6, 0.6), (2e-4, 4e-4, 6e-4))
        table = twins(results_of(ABLATION, "laptop", tmp_path))
        (twin,) = [row for row in table.rows if row[0] == "ID change (%)"]
        # over two worlds: −10, −15 and −12.5 against −5, 0 and −2.5; seed 2 has no twin
        assert twin[1:3] == ("SDA", 3)
        assert [entry.values for entry in twin[3:6]] == [
            pytest.approx((-10, -15, -12.5)), pytest.approx((-5, 0, -2.5)), pytest.approx((-5, -15, -10)),
        ]  # fmt: skip
        assert twin[6] == pytest.approx(-10 / (5 / math.sqrt(3)))
        for path in folder.glob("*-3.json"):
            path.unlink()
        (twin,) = [row for row in twins(results_of(ABLATION, "laptop", tmp_path)).rows if row[0] == "ID change (%)"]
        assert (twin[2], twin[6]) == (2, "–")  # two pairs say nothing about their error

    def test_reuse_compares_the_third_world_seed_by_seed(self, tmp_path):
        folder = tmp_path / "ablation" / "laptop"
        for seed, ours, theirs in ((0, 2e-4, 6e-4), (1, 3e-4, 5e-4)):
            _hand_made(folder, "disentangled-SDA", seed, (0.8, 0.7, 0.6, 0.6), (2e-4, 4e-4, ours))
            _hand_made(folder, "entangled-SDA", seed, (0.8, 0.7, 0.6, 0.6), (2e-4, 4e-4, theirs))
        _hand_made(folder, "disentangled-SDA", 2, (0.8, 0.7, 0.6, 0.6), (2e-4, 4e-4, 1e-4))
        path = folder / "disentangled-SDA-0.json"
        content = json.loads(path.read_text())
        content["rows"].append(_probe("moving-mnist", 20, 9e-4, "mse"))  # before it began
        path.write_text(json.dumps(content))
        (row,) = reuse(results_of(ABLATION, "laptop", tmp_path)).rows
        assert row[:3] == ("position (1e-4)", "10", 2)  # scored at 30, the stage began at 20; seed 2 has no twin
        assert [entry.values for entry in row[3:6]] == [
            pytest.approx((2, 3)), pytest.approx((6, 5)), pytest.approx((4, 2)),
        ]  # fmt: skip
        assert row[6] == pytest.approx(3)

    def test_position_is_ranked_the_other_way_round(self, results):
        errors = [row for row in ranking(results).rows if row[0].startswith("position")]
        assert [row[2] for row in errors] == ["disentangled SDA (VASE)", "disentangled SD"]

    def test_change_is_none_where_nothing_was_measured(self, results):
        assert change(results.of("disentangled-SDA"), "accuracy", ("moving-mnist",)) == [None, None]


def _stage(mask, used, position=None):
    row = {"kind": "stage", "step": 1, "mask": mask, "used": used}
    return row | (
        {"position": {axis: {"latent": n} for axis, n in zip("xy", position, strict=True)}} if position else {}
    )


class TestLatents:
    """Three latents: x is 0, y is 1, shape is 2."""

    GOOD = (
        _stage([True] * 3, [True] * 3, (0, 1)),
        _stage([False, False, True], [False, False, True]),
        _stage([True] * 3, [True] * 3),
    )

    @pytest.mark.parametrize(
        ("stage", "replacement", "expected"),
        [
            (0, None, True),
            (0, _stage([True] * 3, [True, False, True], (0, 1)), False),
            (0, _stage([True] * 3, [True] * 3, (0, 0)), False),
            (1, _stage([False, True, True], [False, False, True]), False),
            (2, _stage([True] * 3, [True, False, True]), False),
        ],
    )
    def test_position_pattern(self, tmp_path, stage, replacement, expected):
        rows = list(self.GOOD)
        rows[stage] = replacement or rows[stage]
        (tmp_path / "a-0.json").write_text(json.dumps({"rows": rows}))
        assert masks_position_where_nothing_moves(Result(tmp_path / "a-0.json")) is expected

    def test_table_by_hand(self, tmp_path):
        folder = tmp_path / "ablation" / "laptop"
        _hand_made(folder, "disentangled-SDA", 0, (0.8, 0.7, 0.6, 0.6), (2e-4, 4e-4, 6e-4))
        path = folder / "disentangled-SDA-0.json"
        content = json.loads(path.read_text())
        used = [[True, True, False, False], [True, False, True, False]]
        content["summary"] |= {"shared": [0], "environments": 2}
        content["rows"] += [*self.GOOD, {"kind": "end", "step": 30, "environments": [{"used": u} for u in used]}]
        path.write_text(json.dumps(content))
        results = results_of(ABLATION, "laptop", tmp_path)
        (row,) = latents(results).rows
        assert [entry.values for entry in row[2:5]] == [(3,), (1,), (1,)]
        assert row[5] == "1 of 1"
        content["rows"][-1]["environments"].pop()  # only one environment was found
        path.write_text(json.dumps(content))
        (row,) = latents(results_of(ABLATION, "laptop", tmp_path)).rows
        assert [entry.values for entry in row[2:5]] == [(2,), (1,), ()]
