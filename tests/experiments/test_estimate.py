"""Estimates of how long runs take, from hand-made results."""

import json

import pytest

from vase.experiments import jobs_of, load_experiment
from vase.experiments.estimate import estimated_seconds, job_steps, words

RETURNS = load_experiment("returns")


def finished(folder, name, seconds, steps):
    folder.mkdir(parents=True, exist_ok=True)
    content = {"seconds": seconds, "stages": [["mnist", steps], ["fashion", steps]]}
    (folder / f"{name}.json").write_text(json.dumps(content))


def jobs(results, experiment=RETURNS, **chosen):
    return jobs_of(experiment, "laptop", results, "runs", **chosen)


def test_as_long_per_step_as_finished_runs_of_the_condition(tmp_path):
    finished(tmp_path / "returns/laptop", "disentangled-SDA-0", 100.0, 500)  # 0.1 s per step
    finished(tmp_path / "returns/laptop", "disentangled-SDA-1", 300.0, 500)  # 0.3 s
    todo = jobs(tmp_path, seeds=[2, 3])
    steps = 5 * RETURNS.steps["laptop"]
    assert [job_steps(job) for job in todo] == [steps, steps]
    assert estimated_seconds(todo) == pytest.approx(0.2 * 2 * steps)


def test_a_longer_name_is_another_condition(tmp_path):
    finished(tmp_path / "imagination/laptop", "passive-0", 100.0, 500)  # 0.1 s per step
    finished(tmp_path / "imagination/laptop", "passive-128-0", 300.0, 500)  # 0.3 s
    todo = jobs(tmp_path, load_experiment("imagination"), only=["passive"], seeds=[1])
    assert estimated_seconds(todo) == pytest.approx(0.1 * job_steps(todo[0]))


def test_else_of_the_experiment_or_of_any_other_in_the_preset(tmp_path):
    finished(tmp_path / "ablation/laptop", "entangled-S-0", 50.0, 500)  # 0.05 s
    assert estimated_seconds(jobs(tmp_path, seeds=[0])) == pytest.approx(0.05 * 5 * RETURNS.steps["laptop"])
    finished(tmp_path / "returns/laptop", "other-0", 20.0, 500)  # 0.02 s
    assert estimated_seconds(jobs(tmp_path, seeds=[0])) == pytest.approx(0.02 * 5 * RETURNS.steps["laptop"])


def test_nothing_finished_nothing_known(tmp_path):
    assert estimated_seconds(jobs(tmp_path)) is None
    assert "not known" in words(None, 2)


def test_one_job_has_one_time():
    assert words(90.0, 1) == "about 1 min 30 s of one core, as far as finished runs tell"
