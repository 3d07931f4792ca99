"""`vase data suggest`: reasons in words, and a command that trains with what they say."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from photographs import night, photographs
from PIL import Image

from vase.cli import main
from vase.cli.options import assignments
from vase.config import preset
from vase.suggestions import suggest
from vase.worlds import from_folder


def write(folder: Path, images: np.ndarray) -> None:
    """Pictures of 96×128 pixels, each pixel of the images three or four times."""
    folder.mkdir(parents=True)
    large = np.repeat(np.repeat((255 * images).astype(np.uint8), 3, 2), 4, 3)
    for i, pixels in enumerate(np.moveaxis(large, 1, 3)):
        Image.fromarray(pixels).save(folder / f"{i:03d}.png")


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    images = photographs(60, np.random.default_rng(0), side=32)
    write(tmp_path / "day", images[:40])
    write(tmp_path / "late night", night(images[40:]))


def lines_of(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["data", "suggest", *words]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.usefixtures("folders")
def test_the_command_trains_with_what_the_reasons_say(capsys: pytest.CaptureFixture[str]) -> None:
    *reasons, empty, command = lines_of(capsys, "folder:day,folder:late night")
    assert empty == ""
    assert reasons[0].startswith("canvas = 64: the longer side of the pictures is 128 pixels")
    assert [line.partition(" = ")[0] for line in reasons[1:4]] == [
        "network.likelihood",
        "capacity.c_max",
        "network.latents",
    ]
    words = shlex.split(command)
    assert words[:6] == ["vase", "train", "--stream", "folder:day,folder:late night", "--canvas", "64"]
    assert words[6::2][:-1] == ["--set"] * (len(words[6:-2]) // 2)
    found = suggest([from_folder(name, size=64, split="train") for name in ("day", "late night")], resize=False)
    usual = preset("laptop", (3, 64, 64))
    assert found.values["network.likelihood"] == "gaussian" != usual.network.likelihood
    assert usual.with_values(assignments(words[7:-2:2])) == usual.with_values(found.values)


@pytest.mark.usefixtures("folders")
def test_a_canvas_that_is_given_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(capsys, "folder:day", "--canvas", "16")
    assert lines[0] == "canvas = 16: as you ask; images are squares."
    assert "--canvas 16" in lines[-1]


def test_named_worlds_have_the_usual_canvas(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(capsys, "digits*50,glyphs", "--sprite", "24")
    assert lines[-1].startswith("vase train --stream 'digits*50,glyphs' --canvas 32 --sprite 24 ")
    assert "network.likelihood" not in lines[-1]  # bernoulli, as laptop has it


def test_a_folder_that_does_not_exist(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["data", "suggest", f"folder:{tmp_path / 'nowhere'}"]) == 2
    assert "does not exist" in capsys.readouterr().err


@pytest.mark.usefixtures("folders")
def test_a_broken_picture_is_one_line_without_code() -> None:
    """In a process of its own: pytest replaces the way in which warnings are printed."""
    Path("day/bad.jpg").write_bytes(b"no picture")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-m", "vase", "data", "suggest", "folder:day"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    (line,) = [line for line in done.stderr.splitlines() if "skipped" in line]
    assert line.startswith("vase: warning: 1 of ")
    assert "bad.jpg' cannot be read" in line
    assert ".py" not in done.stderr
    assert "return " not in done.stderr
