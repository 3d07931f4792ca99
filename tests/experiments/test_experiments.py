"""Experiments: what is run, what is kept of it, and what is read from it."""

import dataclasses
import json
import math
import shutil

import pytest

from vase import cli
from vase.cli.experiment_jobs import compare, missing
from vase.config import preset as configuration
from vase.experiments import EXPERIMENTS, Condition, Experiment, Result, Results, ablation, jobs_of, results_of
from vase.experiments.analysis import change, detection, disentanglement, measure_of, quality, sharing
from vase.experiments.study import Findings
from vase.experiments.tables import Reported, Spread, Table
from vase.training import RunSettings

STREAM = "digits:28,glyphs:16,digits:28"
OFF = {"environments.enabled": "no", "dreaming.enabled": "no", "mask.enabled": "no"}


def _counts(results: Results) -> Table:
    rows = tuple((c.name, len(results.of(c.name))) for c in results.experiment.conditions)
    return Table("Counts", ("condition", "runs"), rows)


SMALL = Experiment(
    name="small",
    title="two conditions on a stream of stand-ins",
    stream=STREAM,
    steps={"smoke": 60},
    conditions=(Condition("all", seeds=(0, 1), shown=True), Condition("none", OFF, seeds=(0,))),
    tables={"counts": _counts, "detection": detection, "sharing": sharing, "quality": quality, "dis": disentanglement},
)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The small experiment, run once through the command line: its folder with results/ and runs/."""
    folder = tmp_path_factory.mktemp("study")
    patch = pytest.MonkeyPatch()
    patch.setitem(EXPERIMENTS, "small", SMALL)
    patch.chdir(folder)
    assert cli.main(["experiment", "run", "small", "--preset", "smoke", "--jobs", "1", "--quiet"]) == 0
    yield folder
    patch.undo()


@pytest.fixture
def results(study):
    return results_of(SMALL, "smoke", study / "results")


class TestRun:
    def test_one_file_per_run_and_pictures_of_the_shown_one(self, study):
        names = sorted(path.name for path in (study / "results/small/smoke").iterdir())
        assert names == ["all-0.json", "all-0.npz", "all-1.json", "none-0.json"]

    def test_a_file_holds_what_a_reader_needs(self, results):
        content = results.of("none")[0].content
        assert content["command"] == "vase experiment run small --preset smoke --only none --seeds 0"
        assert content["settings"]["overrides"] == OFF
        assert content["config"]["mask"]["enabled"] is False
        assert {"python", "torch", "vase"} <= content["versions"].keys()
        assert content["seconds"] > 0
        assert content["summary"]["complete"]

    def test_step_rows_of_the_shown_run_only(self, results):
        first, second = results.of("all")
        assert len(first.of("step")) == 18
        assert not second.of("step")
        assert len(first.of("probe")) == len(second.of("probe")) > 0

    def test_rows_are_those_of_the_run(self, study, results):
        text = (study / "runs/experiments/small/smoke/all-0/rows.jsonl").read_text()
        assert results.of("all")[0].rows == [json.loads(line) for line in text.splitlines()]

    def test_every_world_met_is_measured_at_the_end_of_each_stage(self, results):
        found = [(row["stage"], row["world"]) for row in results.of("all")[0].of("measures")]
        pairs = [(stage, world) for stage in (1, 2) for world in ("digits:28", "glyphs:16")]
        assert found == [(0, "digits:28"), *pairs]

    def test_given_again_it_trains_nothing(self, study, capsys):
        before = (study / "results/small/smoke/all-1.json").stat().st_mtime_ns
        assert cli.main(["experiment", "run", "small", "--preset", "smoke", "--quiet"]) == 0
        assert "3 of 3 runs are finished" in capsys.readouterr().out
        assert (study / "results/small/smoke/all-1.json").stat().st_mtime_ns == before

    def test_a_lost_result_is_kept_again_from_its_run(self, study):
        path = study / "results/small/smoke/none-0.json"
        before = path.read_bytes()
        path.unlink()
        assert cli.main(["experiment", "run", "small", "--preset", "smoke", "--quiet"]) == 0
        assert path.read_bytes() == before

    def test_a_dry_run_lists_what_is_to_do(self, study, capsys):
        words = ["experiment", "run", "small", "--preset", "smoke", "--seeds", "0-1", "--only", "none", "--dry-run"]
        assert cli.main(words) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split(": ")[1] for line in lines] == ["finished", "to do"]

    def test_check_trains_again_and_finds_the_same_rows(self, study, capsys):
        assert cli.main(["experiment", "check", "small", "none-0", "--preset", "smoke", "--quiet", "--jobs", "1"]) == 0
        assert "none-0: the same" in capsys.readouterr().out
        assert not (study / "runs/again/small/smoke/none-0").exists()

    def test_check_does_not_take_a_finished_run_for_one_trained_again(self, study, capsys):
        words = ["experiment", "check", "small", "none-0", "--preset", "smoke", "--runs", "runs/experiments"]
        assert cli.main(words) == 2
        assert "none-0 exists: delete it, or name another folder" in capsys.readouterr().err

    def test_check_tells_a_result_that_cannot_be_made_again(self, study, tmp_path, capsys):
        shutil.copytree(study / "results", tmp_path / "results")
        path = tmp_path / "results/small/smoke/none-0.json"
        path.write_text(path.read_text().replace('"accuracy": 0.', '"accuracy": 1.', 1))
        words = ["experiment", "check", "small", "none-0", "--preset", "smoke", "--quiet", "--jobs", "1"]
        assert cli.main([*words, "--results", str(tmp_path / "results")]) == 1
        assert "1 of " in (said := capsys.readouterr().out)
        assert "(the run is in runs/again/small/smoke/none-0)" in said
        shutil.rmtree(study / "runs/again")

    def test_check_needs_something_to_compare_with(self, study, capsys):
        assert cli.main(["experiment", "check", "small", "none-7", "--preset", "smoke"]) == 2
        assert "small has no run 'none-7'; it has all-0, none-0, all-1" in capsys.readouterr().err

    def test_a_result_of_other_settings_is_an_error(self, study):
        longer = dataclasses.replace(SMALL, steps={"smoke": 61})
        with pytest.raises(ValueError, match=r"all-0\.json was made with another steps"):
            missing(jobs_of(longer, "smoke", study / "results", study / "runs"))

    @pytest.mark.parametrize("text", ["", "{", "3", "[]", "{}", '{"rows": []}'])
    def test_a_damaged_result_is_told_with_its_name(self, study, tmp_path, capsys, text):
        shutil.copytree(study / "results", tmp_path / "results")
        (tmp_path / "results/small/smoke/all-0.json").write_text(text)
        for words in (["table", "small", "quality"], ["run", "small"]):
            assert cli.main(["experiment", *words, "--preset", "smoke", "--results", str(tmp_path / "results")]) == 2
            assert "all-0.json is damaged" in capsys.readouterr().err

    def test_so_is_one_with_foreign_settings(self, study, tmp_path):
        path = tmp_path / "all-0.json"
        content = json.loads((study / "results/small/smoke/all-0.json").read_text())
        path.write_text(json.dumps({**content, "settings": {**content["settings"], "colour": "red"}}))
        with pytest.raises(ValueError, match=r"all-0\.json is damaged \(settings: .*colour"):
            _ = Result(path).settings

    def test_so_are_cut_pictures(self, study, tmp_path):
        whole = (study / "results/small/smoke/all-0.npz").read_bytes()
        (tmp_path / "all-0.pictures.npz").write_bytes(whole[: len(whole) // 2])
        with pytest.raises(ValueError, match=r"all-0\.pictures\.npz is damaged"):
            _ = Result(tmp_path / "all-0.json").pictures

    def test_a_summary_that_is_cut_off_is_made_again(self, study, tmp_path):
        (study / "runs/experiments/small/smoke/all-1/summary.json").write_text("")
        words = ["experiment", "run", "small", "--preset", "smoke", "--quiet", "--only", "all", "--seeds", "1"]
        assert cli.main([*words, "--results", str(tmp_path)]) == 0
        assert Result(tmp_path / "small/smoke/all-1.json").summary["complete"]

    @pytest.mark.parametrize("action", ["table", "figure"])
    def test_nor_is_it_shown(self, study, monkeypatch, capsys, action):
        other = dataclasses.replace(SMALL, steps={"smoke": 61}, figures={"one": lambda results: None})
        monkeypatch.setitem(EXPERIMENTS, "small", other)
        assert cli.main(["experiment", action, "small", "--preset", "smoke"]) == 2
        assert "all-0.json was made with another steps than small has now" in capsys.readouterr().err

    def test_a_result_that_cannot_be_kept_fails_alone(self, study, tmp_path, monkeypatch, capsys):
        def examine(model, plan, record):
            if plan.settings.seed == 0:
                raise RuntimeError("no answer")
            return Findings({"seed": plan.settings.seed})

        asked = dataclasses.replace(SMALL, conditions=(Condition("all", seeds=(0, 1)),), examine=examine)
        monkeypatch.setitem(EXPERIMENTS, "small", asked)
        words = ["experiment", "run", "small", "--preset", "smoke", "--quiet", "--results", str(tmp_path)]
        assert cli.main(words) == 1
        assert (
            "all-0 failed: trained, but no result could be kept: RuntimeError('no answer')" in capsys.readouterr().err
        )
        assert [path.name for path in tmp_path.rglob("*.json")] == ["all-1.json"]
        assert cli.main(["--traceback", *words]) == 1
        assert "in examine" in capsys.readouterr().err


class TestCommand:
    def test_list_counts_what_is_finished(self, study, capsys):
        assert cli.main(["experiment", "list", "--preset", "smoke"]) == 0
        text = capsys.readouterr().out
        assert "small: two conditions" in text
        assert "3 of 3 runs finished" in text
        assert "ablation: " in text

    def test_table_prints_the_main_one(self, study, capsys):
        assert cli.main(["experiment", "table", "small", "--preset", "smoke", "--format", "csv"]) == 0
        assert capsys.readouterr().out.splitlines() == ["condition,runs", "all,2", "none,1"]

    @pytest.mark.parametrize("form", ["text", "json", "csv", "markdown", "latex"])
    def test_all_tables_in_every_format(self, study, capsys, form):
        words = ["experiment", "table", "small", "all", "--preset", "smoke", "--format", form]
        assert cli.main(words) == 0
        text = capsys.readouterr().out
        assert "nan" not in text
        if form == "json":
            titles = [table["title"] for table in json.loads(text)]
            assert titles[0] == "Counts"
            assert len(titles) == len(SMALL.tables)
        if form == "csv":
            assert text.startswith("# Counts\n")

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["table", "nothing"], "no experiment 'nothing'; there are ablation, "),
            (["table", "small", "tab"], "small has no table 'tab'; it has counts, detection"),
            (["figure", "small", "fig"], "small has no figures; its tables: counts, detection"),
            (["figure", "ablation", "fig"], "ablation has no figure 'fig'; it has figure2"),
            (["table", "small", "--preset", "paper"], "holds no result: stand in a clone"),
            (["run", "small", "--only", "some"], "small has no condition 'some'; it has all, none"),
            (["run", "small", "--seeds", "x"], "--seeds x: write whole numbers"),
            (["run", "small", "--preset", "big"], "unknown preset 'big'"),
            (["table", "small", "--preset", "big"], "unknown preset 'big'"),
        ],
    )
    def test_errors_name_the_remedy(self, study, capsys, words, message):
        assert cli.main(["experiment", *words]) == 2
        assert message in capsys.readouterr().err

    def test_a_damaged_result_is_named(self, study, tmp_path, capsys):
        path = tmp_path / "small/smoke/all-0.json"
        path.parent.mkdir(parents=True)
        path.write_text("{")
        words = ["experiment", "table", "small", "detection", "--preset", "smoke", "--results", str(tmp_path)]
        assert cli.main(words) == 2
        assert "all-0.json is damaged" in capsys.readouterr().err


class TestOrder:
    def test_seed_by_seed_so_that_a_cut_study_has_every_condition(self):
        jobs = jobs_of(SMALL, "smoke", "results", "runs")
        assert [job.name for job in jobs] == ["all-0", "none-0", "all-1"]

    def test_other_seeds_than_its_own(self):
        jobs = jobs_of(SMALL, "smoke", "results", "runs", only=["none"], seeds=[7, 8])
        assert [job.name for job in jobs] == ["none-7", "none-8"]


# ------------------------------------------------------------------------------------------ the experiments themselves


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("preset", ["laptop", "paper", "smoke"])
def test_every_condition_is_a_valid_configuration(name, preset):
    for job in jobs_of(EXPERIMENTS[name], preset, "results", "runs", seeds=[0]):
        assert RunSettings.from_dict(job.settings.to_dict()) == job.settings
        configuration(preset, (1, 64, 64)).with_values(dict(job.settings.overrides))


def test_values_of_the_papers_table_of_hyperparameters():
    five = EXPERIMENTS["five-datasets"]
    assert five.settings(five.conditions[0], 0, "paper").overrides == {"dreaming.tau": 5_000}
    assert five.settings(five.conditions[0], 0, "paper").steps == 150_000
    assert five.settings(five.conditions[0], 0, "laptop").overrides == {}


def test_the_sixteen_conditions_switch_what_their_letters_say():
    found = {c.name: c.overrides for c in EXPERIMENTS["ablation"].conditions}
    assert len(found) == 16
    assert found["entangled-SD"] == {
        "environments.enabled": "yes",
        "dreaming.enabled": "yes",
        "mask.enabled": "no",
        "capacity.objective": "elbo",
    }
    assert found["disentangled-none"] == OFF
    assert "capacity.objective" not in found["disentangled-A"]


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


class TestCompare:
    ROWS = ({"kind": "probe", "step": 10, "accuracy": 0.5}, {"kind": "end", "step": 20})

    def test_the_same(self):
        assert compare(self.ROWS, [dict(row) for row in self.ROWS]) == ""

    def test_another_number_is_named(self):
        other = [{**self.ROWS[0], "accuracy": 0.25}, self.ROWS[1]]
        assert compare(self.ROWS, other) == (
            "1 of 2 rows differ, first in a probe row at step 10: accuracy = 0.5 before, 0.25 now"
        )

    def test_a_row_less(self):
        assert compare(self.ROWS, self.ROWS[:1]) == "2 rows before, 1 now"

    def test_a_field_that_said_nothing_is_gone(self):
        assert "left = None before" in compare([{**self.ROWS[0], "left": None}, self.ROWS[1]], self.ROWS)

    def test_a_new_field(self):
        assert "extra = None before, 1 now" in compare(self.ROWS, [{**self.ROWS[0], "extra": 1}, self.ROWS[1]])


class TestTable1:
    @pytest.fixture
    def results(self, tmp_path):
        folder = tmp_path / "ablation" / "laptop"
        _hand_made(folder, "disentangled-SDA", 0, (0.8, 0.7, 0.6, 0.6), (2e-4, 4e-4, 6e-4))
        _hand_made(folder, "disentangled-SDA", 1, (0.9, 0.9, 0.6, 0.6), (2e-4, 2e-4, 2e-4))
        _hand_made(folder, "disentangled-SD", 0, (0.8, 0.6, 0.6, 0.4), (2e-4, 9e-4, 6e-4))
        _hand_made(folder, "disentangled-SD", 1, (0.8, 0.6, 0.6, 0.3), (2e-4, 7e-4, 6e-4))
        return results_of(EXPERIMENTS["ablation"], "laptop", tmp_path)

    def test_eight_columns_by_hand(self, results):
        row = next(row for row in ablation.table1(results).rows if row[:2] == ("disentangled", "SDA (VASE)"))
        assert row[2] == 2
        highest, paper, changed, *_ = row[3:]
        assert highest.values == pytest.approx((70.0, 75.0))
        assert paper == Reported("88.6 ± 0.4")
        assert changed.values == pytest.approx((-5.0, 0.0))
        assert row[7].values == pytest.approx((4.0, 2.0))
        assert row[9].values == pytest.approx((2.0, 0.0))
        assert (str(row[8]), str(row[10])) == ("3.2 ± 0.03", "3.0 ± 0.2")

    def test_all_sixteen_rows_also_those_without_runs(self, results):
        rows = ablation.table1(results).rows
        assert len(rows) == 16
        assert sum(row[2] == 0 for row in rows) == 14
        assert all(isinstance(row[3], Spread) for row in rows)

    def test_longer_stages_have_the_rows_of_their_conditions(self, tmp_path):
        _hand_made(tmp_path / "longer/laptop", "entangled-SDA", 0, (0.8, 0.6, 0.6, 0.4), (2e-4, 9e-4, 6e-4))
        longer = EXPERIMENTS["longer"]
        rows = ablation.table1(results_of(longer, "laptop", tmp_path)).rows
        assert [(row[0], row[1].split()[0], row[2]) for row in rows] == [
            ("disentangled", "SDA", 0),
            ("entangled", "SDA", 1),
        ]
        short = EXPERIMENTS["ablation"]
        assert all(c.overrides == short.condition(c.name).overrides for c in longer.conditions)
        assert longer.steps["laptop"] == 2 * short.steps["laptop"]

    def test_a_condition_without_scores_has_no_place(self, results, tmp_path):
        path = tmp_path / "ablation/laptop/disentangled-SD-0.json"
        for seed in (0, 1):
            path.with_name(f"entangled-S-{seed}.json").write_text(
                json.dumps({**json.loads(path.read_text()), "rows": []})
            )
        assert not any("entangled S" in row[2].split(" (") for row in ablation.ranking(results).rows)

    def test_labels(self, results):
        names = {row[:2] for row in ablation.table1(results).rows}
        assert ("disentangled", "– (CCI-VAE)") in names
        assert ("entangled", "SD (stand-in for lifelong generative modelling)") in names

    def test_ranking_puts_the_least_forgetful_first_with_its_lead(self, results):
        rows = [row for row in ablation.ranking(results).rows if row[0] == "ID change (%)"]
        assert [row[2] for row in rows] == ["disentangled SDA (VASE)", "disentangled SD"]
        # changes −5, 0 and −20, −25: means 20 apart, errors 2.5 and 2.5
        assert rows[1][-1] == pytest.approx(20 / math.hypot(2.5, 2.5))

    def test_a_condition_that_forgets_less_is_not_behind(self, tmp_path):
        folder = tmp_path / "ablation" / "laptop"
        for seed in (0, 1):
            _hand_made(folder, "disentangled-SDA", seed, (0.8, 0.6 - 0.1 * seed, 0.6, 0.6), (2e-4, 4e-4, 6e-4))
            _hand_made(folder, "entangled-SDA", seed, (0.8, 0.8 - 0.1 * seed, 0.6, 0.6), (2e-4, 4e-4, 6e-4))
        results = results_of(EXPERIMENTS["ablation"], "laptop", tmp_path)
        rows = [row for row in ablation.ranking(results).rows if row[0] == "ID change (%)"]
        # changes −10, −15 and 0, −5: 10 apart, errors 2.5 and 2.5
        assert [(row[2], row[-1]) for row in rows] == [
            ("entangled SDA", pytest.approx(-10 / math.hypot(2.5, 2.5))),
            ("disentangled SDA (VASE)", "–"),
        ]

    def test_twins_are_compared_seed_by_seed(self, tmp_path):
        folder = tmp_path / "ablation" / "laptop"
        for seed, ours, theirs in ((0, 0.6, 0.7), (1, 0.5, 0.8), (2, 0.1, None)):
            _hand_made(folder, "disentangled-SDA", seed, (0.8, ours, 0.6, 0.6), (2e-4, 4e-4, 6e-4))
            if theirs is not None:
                _hand_made(folder, "entangled-SDA", seed, (0.8, theirs, 0.6, 0.6), (2e-4, 4e-4, 6e-4))
        table = ablation.twins(results_of(EXPERIMENTS["ablation"], "laptop", tmp_path))
        (twin,) = [row for row in table.rows if row[0] == "ID change (%)"]
        # over two worlds: −10 and −15 against −5 and 0; seed 2 has no twin
        assert twin[1:3] == ("SDA", 2)
        assert [entry.values for entry in twin[3:6]] == [
            pytest.approx((-10, -15)), pytest.approx((-5, 0)), pytest.approx((-5, -15)),
        ]  # fmt: skip
        assert twin[6] == pytest.approx(-10 / 5)

    def test_position_is_ranked_the_other_way_round(self, results):
        errors = [row for row in ablation.ranking(results).rows if row[0].startswith("position")]
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
        assert ablation.masks_position_where_nothing_moves(Result(tmp_path / "a-0.json")) is expected

    def test_table_by_hand(self, tmp_path):
        folder = tmp_path / "ablation" / "laptop"
        _hand_made(folder, "disentangled-SDA", 0, (0.8, 0.7, 0.6, 0.6), (2e-4, 4e-4, 6e-4))
        path = folder / "disentangled-SDA-0.json"
        content = json.loads(path.read_text())
        used = [[True, True, False, False], [True, False, True, False]]
        content["summary"]["shared"] = [0]
        content["rows"] += [*self.GOOD, {"kind": "end", "step": 30, "environments": [{"used": u} for u in used]}]
        path.write_text(json.dumps(content))
        results = results_of(EXPERIMENTS["ablation"], "laptop", tmp_path)
        (row,) = ablation.latents(results).rows
        assert [entry.values for entry in row[2:5]] == [(3,), (1,), (1,)]
        assert row[5] == "1 of 1"
        content["rows"][-1]["environments"].pop()  # only one environment was found
        path.write_text(json.dumps(content))
        (row,) = ablation.latents(results_of(EXPERIMENTS["ablation"], "laptop", tmp_path)).rows
        assert [entry.values for entry in row[2:5]] == [(2,), (1,), ()]


def _announce(step, environment, new, came_from):
    return {
        "kind": "switch", "step": step, "environment": environment, "is_new": new, "from": came_from,
    }  # fmt: skip


class TestReadings:
    def content(self, rows, summary=None):
        base = {"environments": 2, "worlds": 2, "delays": [4, 6], "false_alarms": 0, "missed": [], "probes": []}
        return {
            "stages": [["a", 10], ["b", 10], ["a", 10]],
            "config": {"mask": {"threshold": 0.6}},
            "summary": {**base, **(summary or {})},
            "rows": rows,
        }

    def results(self, folder, *contents):
        conditions = (Condition("one", seeds=tuple(range(len(contents)))),)
        experiment = dataclasses.replace(SMALL, conditions=conditions)
        path = folder / "small" / "laptop"
        path.mkdir(parents=True)
        for seed, content in enumerate(contents):
            (path / f"one-{seed}.json").write_text(json.dumps(content))
        return results_of(experiment, "laptop", folder)

    def test_returns_are_counted(self, tmp_path):
        back = [_announce(11, 1, True, 0), _announce(21, 0, False, 1), {"kind": "end", "step": 30}]
        lost = [_announce(11, 1, True, 0), _announce(21, 2, True, 1), {"kind": "end", "step": 30}]
        results = self.results(tmp_path, self.content(back), self.content(lost, {"environments": 3, "false_alarms": 1}))
        (row,) = detection(results).rows
        named = dict(zip(detection(results).columns, row, strict=True))
        assert named["returns"] == "1 of 2"
        assert named["exact"] == 1
        assert named["false alarms"] == 1
        assert named["delay (batches)"].values == (4, 6, 4, 6)

    def test_a_return_that_nobody_announced_is_not_recognised(self, tmp_path):
        results = self.results(tmp_path, self.content([{"kind": "end", "step": 30}], {"environments": 1}))
        (row,) = detection(results).rows
        named = dict(zip(detection(results).columns, row, strict=True))
        assert (named["returns"], named["exact"]) == ("0 of 1", 0)

    def test_as_many_environments_as_worlds_can_still_be_the_wrong_ones(self, tmp_path):
        rows = [_announce(5, 1, True, 0), {"kind": "end", "step": 30}]  # in the middle of a, and b goes unnoticed
        (row,) = detection(self.results(tmp_path, self.content(rows, {"false_alarms": 1}))).rows
        assert row[detection(self.results(tmp_path / "again", self.content(rows))).columns.index("exact")] == 0

    def test_latents_that_mean_the_same(self, tmp_path):
        def measured(world, x):
            return {"kind": "measures", "step": 30, "world": world, "information": {"x": x, "label": [1.0, 0.0]}}

        same = [measured("a", [0.0, 1.0]), measured("b", [0.0, 0.5])]
        other = [measured("a", [0.0, 1.0]), measured("b", [1.0, 0.0])]
        results = self.results(tmp_path, self.content(same), self.content(other))
        row = next(row for row in sharing(results).rows if row[2] == "x")
        assert row[1] == "a and b"
        assert row[3].values == (0.5, 1.0)  # the smaller of the two largest
        assert row[4] == "1 of 2"
        assert row[5].values == pytest.approx((1.0, 0.0))

    def test_measures_by_name(self):
        row = {"mig": 0.1, "sap": 0.2, "factor_vae": None, "dci": {"disentanglement": 0.3}}
        assert measure_of(row, "MIG") == 0.1
        assert measure_of(row, "DCI disentanglement") == 0.3
        assert measure_of(row, "FactorVAE") is None

    def test_an_album_that_was_not_kept(self, tmp_path):
        results = self.results(tmp_path, self.content([]))
        with pytest.raises(FileNotFoundError, match="one-0"):
            _ = Result(results.of("one")[0].path).album
