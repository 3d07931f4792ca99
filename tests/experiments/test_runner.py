"""Experiments from the command line: what is run, exported, checked and printed."""

import dataclasses
import json
import shutil
import sys

import pytest

from vase import cli
from vase.experiments import Analysis, Condition, Experiment, Result, Results, jobs_of, results_of
from vase.experiments.common.conditions import TABLES, chosen
from vase.experiments.common.figures import pictures
from vase.experiments.registry import EXPERIMENTS
from vase.experiments.runner import compare, missing
from vase.experiments.tables import Table

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
    tables={"counts": _counts, **chosen(TABLES, "detection", "sharing", "quality", "disentanglement")},
)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The small experiment, run once through the command line: its folder with results/ and runs/."""
    folder = tmp_path_factory.mktemp("study")
    patch = pytest.MonkeyPatch()
    patch.setitem(EXPERIMENTS, "small", f"{__name__}:SMALL")
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
        assert {"commit", "cpu"} <= content.keys()
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

    def test_a_lost_result_is_exported_again_from_its_run(self, study):
        path = study / "results/small/smoke/none-0.json"
        before = path.read_bytes()
        path.unlink()
        assert cli.main(["experiment", "run", "small", "--preset", "smoke", "--quiet"]) == 0
        assert path.read_bytes() == before

    def test_a_dry_run_lists_what_is_to_do(self, study, capsys):
        words = ["experiment", "run", "small", "--preset", "smoke", "--seeds", "0-1", "--only", "none", "--dry-run"]
        assert cli.main(words) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split(": ")[1] for line in lines[:2]] == ["finished", "to do"]
        assert lines[2] == "small: 1 of 2 runs are finished"
        assert lines[3].startswith("about 0 min ")

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
            pictures(Result(tmp_path / "all-0.json"))

    def test_a_summary_that_is_cut_off_is_made_again(self, study, tmp_path):
        (study / "runs/experiments/small/smoke/all-1/summary.json").write_text("")
        words = ["experiment", "run", "small", "--preset", "smoke", "--quiet", "--only", "all", "--seeds", "1"]
        assert cli.main([*words, "--results", str(tmp_path)]) == 0
        assert Result(tmp_path / "small/smoke/all-1.json").summary["complete"]

    @pytest.mark.parametrize("action", ["table", "figure"])
    def test_nor_is_it_shown(self, study, monkeypatch, capsys, action):
        other = dataclasses.replace(SMALL, steps={"smoke": 61}, figures={"one": lambda results: None})
        monkeypatch.setattr(sys.modules[__name__], "SMALL", other)
        assert cli.main(["experiment", action, "small", "--preset", "smoke"]) == 2
        assert "all-0.json was made with another steps than small has now" in capsys.readouterr().err

    def test_a_result_that_cannot_be_exported_fails_alone(self, study, tmp_path, monkeypatch, capsys):
        def analyse(model, plan, record):
            if plan.settings.seed == 0:
                raise RuntimeError("no answer")
            return Analysis({"seed": plan.settings.seed})

        asked = dataclasses.replace(SMALL, conditions=(Condition("all", seeds=(0, 1)),), analyse=analyse)
        monkeypatch.setattr(sys.modules[__name__], "SMALL", asked)
        words = ["experiment", "run", "small", "--preset", "smoke", "--quiet", "--results", str(tmp_path)]
        assert cli.main(words) == 1
        assert (
            "all-0 failed: trained, but its result could not be exported: RuntimeError('no answer')"
            in capsys.readouterr().err
        )
        assert [path.name for path in tmp_path.rglob("*.json")] == ["all-1.json"]
        assert cli.main(["--traceback", *words]) == 1
        assert "in analyse" in capsys.readouterr().err


class TestCommand:
    def test_list_counts_what_is_finished(self, study, capsys):
        assert cli.main(["experiment", "list", "--preset", "smoke"]) == 0
        text = capsys.readouterr().out
        assert "small: two conditions" in text
        assert "3 of 3 runs finished" in text
        assert "ablation: " in text
        assert "no folder" not in text
        assert cli.main(["experiment", "list", "--results", "nowhere"]) == 0
        assert "No folder nowhere here" in capsys.readouterr().out

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
