"""Folders of pictures that an experiment is given: they reach its runs, and no result file tells where they were."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from vase import cli
from vase.experiments import Job, jobs_of
from vase.experiments.ambiguity.settings import AMBIGUITY
from vase.experiments.registry import EXPERIMENTS
from vase.experiments.writer import without_path
from vase.training import RunSettings
from vase.worlds.spec import FACES_VARIABLE, StreamSpec

ROOMS = dataclasses.replace(AMBIGUITY, name="rooms", stream="outdoors")


class TestFolders:
    @pytest.fixture
    def planned(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[RunSettings]:
        """The settings of what a command would train."""
        monkeypatch.delenv(FACES_VARIABLE, raising=False)
        monkeypatch.chdir(tmp_path)
        settings: list[RunSettings] = []

        def note(experiment: Any, *args: Any, **kwargs: Any) -> list[Job]:
            jobs = jobs_of(experiment, *args, **kwargs)
            settings.extend(job.settings for job in jobs)
            return jobs

        monkeypatch.setattr("vase.experiments.jobs_of", note)
        return settings

    def test_faces_reach_the_run(self, planned: list[RunSettings], tmp_path: Path) -> None:
        (tmp_path / "mine").mkdir()
        assert cli.main(["experiment", "run", "ambiguity", "--faces", "mine", "--dry-run"]) == 0
        assert {settings.faces for settings in planned} == {str(tmp_path / "mine")}

    def test_so_do_those_of_the_environment_variable(
        self, planned: list[RunSettings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(FACES_VARIABLE, str(tmp_path))
        assert cli.main(["experiment", "run", "ambiguity", "--dry-run"]) == 0
        assert cli.main(["experiment", "run", "ablation", "--seeds", "0", "--dry-run"]) == 0
        assert [settings.faces for settings in planned] == [str(tmp_path)] * 3 + [None] * 16

    def test_frames_reach_the_run(
        self, planned: list[RunSettings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(EXPERIMENTS, "rooms", f"{__name__}:ROOMS")
        assert cli.main(["experiment", "run", "rooms", "--frames", str(tmp_path), "--dry-run"]) == 0
        assert {(settings.frames, settings.faces) for settings in planned} == {(str(tmp_path), None)}

    @pytest.mark.parametrize("words", [["run", "EXP", "--dry-run"], ["check", "EXP", "disentangled-SDA-0"]])
    @pytest.mark.parametrize(
        ("experiment", "given", "message"),
        [
            ("ablation", ["--faces", "."], "--faces .: ablation has no world of faces; leave --faces out"),
            ("ambiguity", ["--frames", "."], "--frames .: ambiguity has no world of frames"),
            ("ambiguity", ["--faces", "nowhere"], "nowhere' of faces does not exist: name another one with --faces"),
        ],
    )
    def test_errors_name_the_remedy(
        self,
        planned: list[RunSettings],
        capsys: pytest.CaptureFixture[str],
        words: list[str],
        experiment: str,
        given: list[str],
        message: str,
    ) -> None:
        assert cli.main(["experiment", *(experiment if word == "EXP" else word for word in words), *given]) == 2
        assert message in capsys.readouterr().err

    def test_worlds_of_a_stream(self) -> None:
        assert StreamSpec.parse("faces,soft-inverse-fashion:32").picture_folders == {"faces"}
        assert StreamSpec.parse("mnist, soft-inverse-faces*500").picture_folders == {"faces"}
        assert StreamSpec.parse("outdoors,indoors").picture_folders == {"frames"}
        assert StreamSpec.parse("moving-fashion,folder:faces").picture_folders == set()

    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            ("faces (320 pictures in /home/me/my faces/train)", "faces (320 pictures in DIR)"),
            ("500 frames in /data/outdoors/train.npy", "500 frames in DIR"),
            ("fashion (cache)", "fashion (cache)"),
            ("faces (ORL, your folder)", "faces (ORL, your folder)"),
        ],
    )
    def test_sources_without_paths(self, source: str, expected: str) -> None:
        assert without_path(source) == expected
