"""Tables of plasticity from hand-made results: two worlds of five, ten steps each."""

import json

import pytest

from vase.experiments import jobs_of, results_of
from vase.experiments.five_datasets.analysis import latents, plasticity, reconstruction_accuracy
from vase.experiments.five_datasets.settings import FIVE_DATASETS, FIVE_LONGER


def probe(world, step, accuracy):
    names = {"kind": "probe", "probe": "identity", "mode": "frozen"}
    return {**names, "step": step, "world": world, "accuracy": accuracy}


def switch(step, environment, world):
    return {"kind": "switch", "step": step, "world": world, "environment": environment, "is_new": True}


def write(folder, name, worlds, rows):
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "stages": [[world, 10] for world in worlds],
        "config": {},
        "summary": {"probes": ["periodic"], "environments": len(worlds)},
        "rows": rows,
    }
    (folder / f"{name}.json").write_text(json.dumps(content))


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "five-datasets" / "laptop"
    environments = [{"used": [True, True, False, False]}, {"used": [False, True, True, True]}]
    rows = [
        *(switch(1, 0, "fashion"), switch(11, 1, "mnist")),
        *(probe("fashion", 10, 0.8), probe("fashion", 20, 0.6), probe("mnist", 20, 0.72)),
        {"kind": "end", "step": 20, "environments": environments},
    ]
    write(folder, "disentangled-SDA-0", ("fashion", "mnist"), rows)
    write(folder, "alone-fashion-0", ("fashion",), [probe("fashion", 10, 0.7)])
    write(folder, "alone-fashion-1", ("fashion",), [probe("fashion", 10, 0.9)])
    write(folder, "alone-mnist-0", ("mnist",), [probe("mnist", 10, 0.9)])
    return results_of(FIVE_DATASETS, "laptop", tmp_path)


def test_shares_of_what_a_learner_of_one_world_reaches(results):
    first, second = plasticity(results).rows
    assert first[:2] == (1, "Fashion")
    assert [entry.mean for entry in first[2:]] == pytest.approx([80, 80, 60, 100, 75])
    assert [entry.mean for entry in second[2:]] == pytest.approx([90, 72, 72, 80, 80])


def test_used_own_and_spare_latents(results):
    first, second = latents(results).rows
    assert [entry.mean for entry in first[2:]] == [2, 1, 2]
    assert [entry.mean for entry in second[2:]] == [3, 2, 0]


def test_a_world_that_nobody_met_alone_has_no_share(results, tmp_path):
    (results.folder / "alone-mnist-0.json").unlink()
    assert str(plasticity(results_of(FIVE_DATASETS, "laptop", tmp_path)).rows[1][5]) == "–"


def test_each_world_alone_has_its_own_stream():
    streams = {job.condition.name: job.settings.stream for job in jobs_of(FIVE_DATASETS, "laptop", "results", "runs")}
    assert streams["disentangled-SDA"] == FIVE_DATASETS.stream
    assert streams["alone-inverse-fashion"] == "inverse-fashion"
    assert len(streams) == 7


def test_accuracy_of_reconstructions_is_divided_by_that_of_a_learner_of_one_world(tmp_path) -> None:
    folder = tmp_path / "five-longer" / "laptop"
    write_findings(folder, "disentangled-SDA-0", ("mnist", "fashion"), {"mnist": 0.6})
    write_findings(folder, "disentangled-SDA-all-dreams-0", ("mnist", "fashion"), {"mnist": 0.72})
    write_findings(folder, "alone-mnist-0", ("mnist",), {"mnist": 0.8})
    measured, other = reconstruction_accuracy(results_of(FIVE_LONGER, "laptop", tmp_path)).rows
    assert [str(entry) for entry in measured] == ["MNIST", "90.0", "80.0", "60.0", "72.0", "75.0", "90.0"]
    assert [str(entry) for entry in other] == ["Fashion", *"––––––"]  # was not measured
    assert FIVE_LONGER.steps["laptop"] == 3 * FIVE_DATASETS.steps["laptop"]


def write_findings(folder, name, worlds, reconstructions):
    write(folder, name, worlds, [])
    path = folder / f"{name}.json"
    found = {world: {"images": 0.9, "reconstructions": value} for world, value in reconstructions.items()}
    path.write_text(json.dumps({**json.loads(path.read_text()), "findings": {"reconstruction_accuracy": found}}))
