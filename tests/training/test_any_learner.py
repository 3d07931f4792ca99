"""A learner of one's own in a run: named as package.module:Class, it is trained, probed, measured and resumed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from stop_at import StopAt

from vase import VASE
from vase.checkpoint import CheckpointError
from vase.cli import main
from vase.plots.run import write_run_figures
from vase.sweeps.grid import grid
from vase.training import Interrupted, RunDirectory, RunSettings, describe, train
from vase.training.summary import summary

NAME = "random_projection:RandomProjection"
SETTINGS = RunSettings.of(
    "smoke",
    stream="moving-digits*10,digits:12*8",
    batch_size=8,
    probe_every=6,
    checkpoint_every=7,
    rows_every=4,
    measures=True,
    device="cpu",
    learner=NAME,
    overrides={"learner.size": "4"},
)


@pytest.fixture(scope="module", autouse=True)
def _elsewhere() -> object:
    """The module of the learner is on the path, as an installed package would be."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent))
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    path = tmp_path_factory.mktemp("runs") / "run"
    train(path, SETTINGS)
    return RunDirectory(path)


def test_rows_lack_what_the_learner_cannot_tell(run: RunDirectory) -> None:
    rows = run.rows()
    assert {row["kind"] for row in rows} == {"step", "probe", "stage", "measures", "end"}
    step = next(row for row in rows if row["kind"] == "step")
    assert step["loss"] > 0
    assert (step["environment"], step["held"], step["kl"], step["atypicality"], step["mask"]) == (
        0,
        False,
        None,
        [],
        [],
    )
    stages = [row for row in rows if row["kind"] == "stage"]
    assert [row.keys() - {"kind", "step", "stage", "world"} for row in stages] == [
        {"environments", "held", "dropped", "position"},
        {"environments", "held", "dropped"},
    ]
    assert stages[0]["position"].keys() == {"world", "x", "y"}
    measures = [row for row in rows if row["kind"] == "measures"]
    assert [(row["stage"], row["world"]) for row in measures] == [
        (0, "moving-digits"),
        (1, "moving-digits"),
        (1, "digits:12"),
    ]
    assert {len(values) for row in measures for values in row["information"].values()} == {4}, "--set learner.size=4"
    assert all(row["environment"] is None and "samples" not in row for row in measures)


def test_resume_is_exact(run: RunDirectory, tmp_path: Path) -> None:
    path = tmp_path / "run"
    with pytest.raises(Interrupted):
        train(path, SETTINGS, callbacks=[StopAt(9)])
    train(path, resume=True)
    assert (path / "rows.jsonl").read_bytes() == run.rows_path.read_bytes()
    assert RunDirectory(path).is_complete()
    with pytest.raises(ValueError, match=r"learner_options = .*'size': '9'.* was started with learner_options = "):
        train(path, replace(SETTINGS, learner_options={"size": "9"}), resume=True)


def test_the_learner_of_a_run_directory(run: RunDirectory) -> None:
    learner = run.learner()
    assert (learner.steps, learner.n_latents) == (18, 4)
    images = np.zeros((3, 1, 32, 32), np.uint8)
    again = run.learner()
    assert np.array_equal(learner.posterior(images)[0], again.posterior(images)[0])


def test_summary_and_figures(run: RunDirectory) -> None:
    found = summary(run.path)
    assert (found["complete"], found["environments"], found["latents"], found["shared"]) == (True, 0, None, [])
    assert found["identity"]["worlds"].keys() == {"moving-digits", "digits:12"}
    text = describe(found)
    assert "Environments: the learner infers none in a stream of 2 worlds" in text
    assert "Position in moving-digits: " in text
    assert "class of digits:12" in text
    assert "None" not in text
    assert "no switch was announced" not in text
    files = [path.name for path in write_run_figures(run.path)]
    assert {"overview.png", "probes.png"} <= set(files)
    assert not {"traversals.png", "reconstructions.png", "latents.png"} & set(files)


def test_settings_name_the_learner_only_if_it_is_another_one(run: RunDirectory) -> None:
    assert not {"learner", "learner_options"} & RunSettings().to_dict().keys()
    saved = json.loads((run.path / "config.json").read_text())["settings"]
    assert (saved["learner"], saved["learner_options"], saved["overrides"]) == (NAME, {"size": "4"}, {})
    assert RunSettings.from_dict(saved) == SETTINGS
    assert SETTINGS.differences(replace(SETTINGS, learner="vase")) == ["learner"]


def test_options_of_the_learner_can_be_varied() -> None:
    settings = replace(SETTINGS, learner_options={})
    cells = grid(Path("out"), settings, [0], {"learner.noise": ["0.1", "0.2"], "network.latents": ["6"]})
    assert [cell.name for cell in cells] == [
        "learner.noise=0.1-network.latents=6-seed0",
        "learner.noise=0.2-network.latents=6-seed0",
    ]
    assert [cell.settings.learner_options for cell in cells] == [{"noise": "0.1"}, {"noise": "0.2"}]
    assert cells[0].settings.overrides == {"network.latents": "6"}
    with pytest.raises(ValueError, match=r"learner.size is both set and varied"):
        grid(Path("out"), SETTINGS, [0], {"learner.size": ["1"]})


# ------------------------------------------------------------------------------------------------------------ VASE.load


def vase_run(path: Path) -> RunDirectory:
    train(path, RunSettings.of("smoke", stream="digits*3", batch_size=4, probes="none", device="cpu"))
    return RunDirectory(path)


def test_vase_load_opens_a_run_directory_and_its_checkpoint(tmp_path: Path) -> None:
    run = vase_run(tmp_path / "run")
    images = np.random.default_rng(0).integers(0, 256, (4, 1, 32, 32), np.uint8)
    codes = [
        learner.posterior(images)[0]
        for learner in (VASE.load(run.path), VASE.load(str(run.checkpoints.path(3))), run.learner())
    ]
    assert VASE.load(run.path).steps == 3
    assert np.array_equal(codes[0], codes[1])
    assert np.array_equal(codes[0], codes[2])


def test_vase_load_refuses_a_run_of_another_learner(run: RunDirectory) -> None:
    words = rf"holds a learner of class {NAME}, not VASE; use RunDirectory\(.*\)\.learner\(\)"
    for path in (run.path, run.checkpoints.path(run.checkpoints.steps()[-1])):
        with pytest.raises(CheckpointError, match=words):
            VASE.load(path)


def test_vase_load_of_a_run_without_checkpoint(tmp_path: Path) -> None:
    run = vase_run(tmp_path / "run")
    run.checkpoints.folder.rename(tmp_path / "gone")
    with pytest.raises(CheckpointError, match=r"run: no state.json in it; name a folder that was saved"):
        VASE.load(run.path)
    with pytest.raises(CheckpointError, match=r"no state.json of a usable step in it"):
        run.learner()


# ---------------------------------------------------------------------------------------------------------- refusals


def test_a_learner_that_cannot_be_built_leaves_no_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="learner='nowhere:Learner': no module 'nowhere'"):
        train(tmp_path / "run", replace(SETTINGS, learner="nowhere:Learner"))
    words = ["train", "--preset", "smoke", "--stream", "digits*2", "--set", "learner.size=4", "--out", "run"]
    assert main(words) == 2
    assert "--learner vase with options {'size': '4'}" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_imagination_needs_a_differentiable_encoder(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="RandomProjection"):
        train(tmp_path / "run", replace(SETTINGS, imagination="digits:12"))
    assert not (tmp_path / "run").exists()
