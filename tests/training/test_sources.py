"""Folders behind a run: a run that goes on does so with the pictures it was started with."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image
from stop_at import StopAt

from vase.cli import main
from vase.training import Interrupted, RunDirectory, RunSettings, make_plan, train
from vase.training.fingerprints import fingerprint, require_same_images, world_fingerprints
from vase.worlds.sources import FACES_VARIABLE

FACES = RunSettings.of("smoke", stream="faces*6", batch_size=4, checkpoint_every=4, device="cpu", probes="none")
TINY = ["--stream", "faces*4", "--preset", "smoke", "--batch-size", "4", "--device", "cpu", "--probes", "none"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(FACES_VARIABLE, raising=False)


def draw(folder: str, seed: int, count: int = 6) -> Path:
    """A folder of pictures: five to learn from, the fifth is held out."""
    rng, path = np.random.default_rng(seed), Path(folder).absolute()
    path.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        Image.fromarray(rng.integers(0, 256, (8, 8), np.uint8)).save(path / f"{number}.png")
    return path


def contents(run: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in run.rglob("*") if path.is_file()}


# -------------------------------------------------------------------------------------------------------- whole paths


def test_every_folder_of_a_run_by_its_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    settings = RunSettings(
        stream="folder:a*5, folder:b/../c ,mnist, folder:~/d>e",
        imagination="mnist, folder:a",
        anticipation="folder:a>mnist, mnist>folder:b/../c",
        data="idx",
        faces="~/faces/",
        frames="/rooms",
    )
    found = settings.with_absolute_folders()
    assert found.names == (f"folder:{tmp_path}/a", f"folder:{tmp_path}/c", "mnist", "folder:/home/me/d>e")
    assert found.stream.startswith(f"folder:{tmp_path}/a*5,")
    assert found.imagined == ("mnist", f"folder:{tmp_path}/a")
    assert found.anticipated == ((f"folder:{tmp_path}/a", "mnist"), ("mnist", f"folder:{tmp_path}/c"))
    assert (found.data, found.faces, found.frames) == (f"{tmp_path}/idx", "/home/me/faces", "/rooms")
    assert found.with_absolute_folders() == found


def test_what_names_no_folder_stays_as_it_is() -> None:
    settings = RunSettings(stream="moving-mnist*5,mnist", imagination="mnist")
    assert settings.with_absolute_folders() == settings


# ------------------------------------------------------------------------------------------------------- fingerprints


def test_a_fingerprint_by_hand() -> None:
    assert fingerprint(np.array([3, 5])) == [2, 3, 5]
    assert fingerprint(np.full((4, 1, 2, 2), 9, np.uint8)) == [4, 9, 9, 9, 9]
    ramp = np.repeat(np.arange(64), 2)  # 32 parts of four: 0 0 1 1, 2 2 3 3, ...
    assert fingerprint(ramp) == [128, *(2 * part + 0.5 for part in range(32))]
    assert fingerprint(ramp[:, None, None] * np.ones((1, 2, 2))) == fingerprint(ramp)


def test_a_mirrored_picture_is_another_one() -> None:
    image = np.arange(0, 256, 16, np.uint8).reshape(1, 4, 4)
    assert abs(fingerprint(image)[1] - fingerprint(image[:, :, ::-1])[1]) > 1


def test_only_folders_have_world_fingerprints() -> None:
    draw("a", 0)
    np.save(draw("rooms", 0) / "outdoors.npy", np.zeros((5, 32, 32, 3), np.uint8))
    settings = RunSettings(stream="folder:a,soft-faces,digits", faces="a")
    assert list(found := world_fingerprints(make_plan(settings))) == ["folder:a", "soft-faces"]
    assert [parts[0] for parts in found["folder:a"]] == [5, 1], "images of both splits, no labels"
    (rooms,) = world_fingerprints(make_plan(RunSettings(stream="outdoors", frames="rooms"))).values()
    assert rooms == [[4, 0, 0, 0, 0], [1, 0]]


# ------------------------------------------------------------------------------------------------- the same or others


A, B = [[2, 100.0, 50.0]], [[2, 100.0, 51.0]]


def check(
    before: str, now: str, kept: dict[str, Any] | None, found: dict[str, Any], world: str = "faces", **settings: Any
) -> None:
    plan: Any = SimpleNamespace(sources={world: now}, settings=RunSettings(**settings))
    require_same_images(Path("run"), plan, {world: before}, kept, found)


@pytest.mark.parametrize(
    ("before", "now", "kept", "found"),
    [
        ("mnist (package mnist)", "mnist (cache)", {}, {}),
        ("mnist (your folder)", "mnist (mirrors)", None, {}),
        ("faces (ORL, package x)", "faces (ORL, cache)", {}, {}),
        ("outdoors (rendered, 9 frames)", "outdoors (rendered, 8 frames)", None, {}),
        ("2 pictures in mine", "2 pictures in /home/mine", {"faces": A}, {"faces": A}),
        ("2 pictures in mine", "2 pictures in mine", {"faces": A}, {"faces": [[2, 100.04, 49.96]]}),
        ("2 pictures in mine", "2 pictures in mine", None, {"faces": A}),
    ],
)
def test_what_may_go_on(before: str, now: str, kept: Any, found: Any) -> None:
    check(before, now, kept, found)


@pytest.mark.parametrize(
    ("before", "now", "kept", "found", "words"),
    [
        ("2 pictures in a", "2 pictures in b", {"faces": A}, {"faces": B}, "a for the .* be 2 pictures in b: restore"),
        ("2 pictures in a", "2 pictures in a", {"faces": A}, {"faces": B}, "its images have changed: restore the"),
        ("2 pictures in a", "3 pictures in a", {"faces": A}, {"faces": [[3, 9, 9, 9]]}, "now it would be 3 pictures"),
        ("40 pictures in a", "41 pictures in a", {"faces": [[40] + 32 * [7]]}, {"faces": [[41] + 32 * [7]]}, "be 41"),
        ("2 pictures in a", "faces (ORL, cache)", {"faces": A}, {}, r"faces \(ORL, cache\)"),
        ("faces (ORL, cache)", "2 pictures in a", {}, {"faces": A}, r"faces \(ORL, cache\)"),
        ("2 pictures in a", "2 pictures in b", None, {"faces": A}, "2 pictures in b"),
        ("2 pictures in a", "faces (ORL, cache)", None, {}, "2 pictures in a"),
        ("2 frames in a", "2 frames in b", None, {"faces": A}, "2 frames in b"),
    ],
)
def test_what_may_not(before: str, now: str, kept: Any, found: Any, words: str) -> None:
    with pytest.raises(ValueError, match=f"run was started with .*{words}.* another run with another --out"):
        check(before, now, kept, found, faces="a")


def test_the_environment_variable_is_named_only_where_it_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    change: Any = ("2 pictures in a", "faces (ORL, cache)", {"faces": A}, {})
    with pytest.raises(ValueError, match="VASE_FACES is not set in the environment, set it to its original value"):
        check(*change)
    monkeypatch.setenv(FACES_VARIABLE, "/b")
    with pytest.raises(ValueError, match="VASE_FACES is /b in the environment"):
        check(*change)
    with pytest.raises(ValueError, match="restore the original images"):
        check(*change, faces="a")
    with pytest.raises(ValueError, match="restore the original images"):
        check("2 pictures in faces", "2 pictures in faces", {}, {"folder:faces": A}, world="folder:faces")


# ------------------------------------------------------------------------------------------------------ runs that go on


def test_a_run_goes_on_with_its_own_faces_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, run = draw("a", 0), draw("b", 1), tmp_path / "run"
    monkeypatch.setenv(FACES_VARIABLE, str(first))
    train(tmp_path / "straight", FACES)
    with pytest.raises(Interrupted):
        train(run, FACES, callbacks=[StopAt(3)])
    saved = contents(run)

    monkeypatch.setenv(FACES_VARIABLE, str(second))
    words = rf"started with faces \(5 pictures in {first}\) for the world 'faces', and now it would be .*{second}\)"
    for settings in (None, FACES):
        with pytest.raises(ValueError, match=words):
            train(run, settings, resume=True)
    assert contents(run) == saved

    moved = Path(shutil.copytree(first, tmp_path / "moved"))
    monkeypatch.setenv(FACES_VARIABLE, str(moved))
    assert train(run, resume=True)["steps"] == 6
    assert (run / "rows.jsonl").read_bytes() == (tmp_path / "straight" / "rows.jsonl").read_bytes()


def test_pictures_that_change_in_their_place(tmp_path: Path) -> None:
    settings = replace(FACES, stream="folder:mine*6")
    draw("mine/one", 0)
    draw("mine/two", 1)
    with pytest.raises(Interrupted):
        train(tmp_path / "run", settings, callbacks=[StopAt(3)])
    other, copy = draw("mine/two", 2), tmp_path / "copy"
    with pytest.raises(
        ValueError, match=r"10 pictures in mine, .* for the world 'folder:mine', and its images have ch"
    ):
        train(Path(shutil.copytree(tmp_path / "run", copy)), settings, resume=True)
    other.rename(tmp_path / "mine" / "zoo")
    draw("mine/two", 1)
    with pytest.raises(ValueError, match="now it would be 15 pictures"):
        train(copy, settings, resume=True)
    shutil.rmtree(tmp_path / "mine" / "zoo")
    assert train(copy, replace(settings, stream="folder:./mine*6"), resume=True)["steps"] == 6


def test_other_classes_are_told_before_probes_meet_them(tmp_path: Path) -> None:
    draw("a/one", 0)
    draw("a/two", 1)
    settings = replace(FACES, faces="a", probes="periodic")
    with pytest.raises(Interrupted):
        train(tmp_path / "run", settings, callbacks=[StopAt(3)])
    draw("a/three", 2)
    with pytest.raises(ValueError, match=r"started with faces \(10 pictures in a\).*now it would be faces \(15 pict"):
        train(tmp_path / "run", settings, resume=True)


def test_the_command_keeps_the_folder_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = draw("a", 0)
    draw("b", 1)
    monkeypatch.setenv(FACES_VARIABLE, "a")
    for out, words in (("mine", ["train"]), ("given", ["train", "--faces", "a/../b"])):
        assert main([*words, *TINY, "--out", out, "--quiet"]) == 0
    assert [RunDirectory(out).settings().faces for out in ("mine", "given")] == [str(first), str(tmp_path / "b")]
    monkeypatch.setenv(FACES_VARIABLE, "b")
    assert main(["train", "--resume", "--out", "mine", "--quiet"]) == 0, "of the environment it needs nothing"
    assert main(["train", "--resume", "--out", "mine", "--faces", "b", "--quiet"]) == 2
    assert f"was started with faces = '{first}': leave it out to resume" in capsys.readouterr().err
    assert main(["train", *TINY, "--stream", "digits*2", "--out", "digits", "--quiet"]) == 0
    assert RunDirectory("digits").settings().faces is None


def test_so_does_a_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = draw("a", 0), draw("b", 1)
    assert main(["train", *TINY, "--faces", "a", "--out", "out/seed0", "--quiet"]) == 0
    sweep = ["sweep", *TINY, "--out", "out", "--dry-run"]
    monkeypatch.setenv(FACES_VARIABLE, "a")
    assert main(sweep) == 0
    assert "out/seed0: finished" in capsys.readouterr().out
    monkeypatch.setenv(FACES_VARIABLE, "b")
    assert main(sweep) == 2
    assert f"faces = '{second}', but out/seed0 was started with faces = '{first}'" in capsys.readouterr().err


def test_the_fingerprint_is_kept_with_the_state(tmp_path: Path) -> None:
    draw("a", 0)
    train(tmp_path / "run", replace(FACES, faces="a"))
    kept = RunDirectory(tmp_path / "run").load()["callbacks"]["Fingerprints"]["worlds"]
    assert [parts[0] for parts in kept["faces"]] == [5, 1]
