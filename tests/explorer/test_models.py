from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from vase.explorer.models import Model, Models, atypicality_of_latents, kl_of_latents
from vase.report.decoder import export_decoder
from vase.training import RunDirectory, RunSettings, train
from vase.training.lock import LostDirectory


def test_every_checkpoint_of_every_run_can_be_chosen(run: RunDirectory) -> None:
    found = Models([run.path, run.path]).choices()
    assert [choice["id"] for choice in found] == ["0@60", "0@120", "1@60", "1@120"]
    assert [choice["newest"] for choice in found] == [False, True, False, True]
    assert {choice["run"] for choice in found} == {"run"}


def test_an_older_checkpoint_knows_less(models: Models) -> None:
    assert len(models.open("0@60").data["environments"]) == 1
    assert len(models.open("0@120").data["environments"]) == 2
    assert models.open("0@120") is models.open("0@120")


@pytest.mark.parametrize("name", [None, "", "0@61", "1@120", "0@120@", "../0@120", 3, ["0@120"]])
def test_other_names_are_refused(models: Models, name: object) -> None:
    with pytest.raises(ValueError, match=r"no checkpoint of this name; choose one of: 0@60, 0@120"):
        models.open(name)


def test_a_run_without_checkpoint_is_named(run: RunDirectory, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="is not a run"):
        Models([run.path, tmp_path])
    (tmp_path / "config.json").write_bytes((run.path / "config.json").read_bytes())
    with pytest.raises(FileNotFoundError, match=r"no checkpoint to explore; train first"):
        Models([tmp_path])


def test_names_are_not_saved_with_a_run_that_took_the_place_of_the_explored_one(
    run: RunDirectory, tmp_path: Path
) -> None:
    shutil.copytree(run.path, tmp_path / "run")
    explored = Models([tmp_path / "run"]).directories[0]
    (tmp_path / "run").rename(tmp_path / "gone")
    shutil.copytree(run.path, tmp_path / "run")
    named = RunDirectory(tmp_path / "run").latent_names()
    with pytest.raises(LostDirectory, match="Nothing was written to it"):
        explored.write_latent_names({2: "slant 17"})
    assert RunDirectory(tmp_path / "run").latent_names() == named


def test_the_page_has_what_sliders_need_but_no_weights(model: Model) -> None:
    live = model.data["live"]
    assert "decoder" not in live
    assert live["seen"] == export_decoder(model.learner)["seen"]
    assert live["shape"] == [1, 32, 32]
    assert [len(live["kl"][s]) for s in (0, 1)] == [model.learner.n_latents] * 2


def test_kl_of_a_latent_by_hand() -> None:
    mean, std = np.array([[1.0, 0.0], [3.0, 0.0]]), np.array([[1.0, 1.0], [1.0, np.e]])
    # latent 0: ½(1 + 9)/2 = 2.5; latent 1: (0 + ½(e² − 1 − 2))/2
    assert kl_of_latents(mean, std) == [2.5, round((np.e**2 - 3) / 4, 4)]


def test_atypicality_of_a_latent_by_hand() -> None:
    mean, std = np.array([[1.0], [3.0]]), np.array([[1.0], [1.0]])
    # the batch has mean 2 and variance 1 + 1: ½(2 + 4 − 1 − ln 2)
    assert atypicality_of_latents(mean, std) == [round(0.5 * (5 - np.log(2)), 4)]


def test_a_learner_of_another_kind_has_the_report_and_no_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "training"))
    settings = RunSettings.of("smoke", stream="digits", steps=20, learner="random_projection:RandomProjection")
    train(tmp_path / "run", settings)
    other = Models([tmp_path / "run"]).open("0@20")
    assert other.data["live"] is None
    with pytest.raises(ValueError, match="a learner of class RandomProjection cannot be asked this"):
        _ = other.answers
