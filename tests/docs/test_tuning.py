"""docs/tuning.md: its example runs on folders of photographs, and its knobs exist."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_sample_images

from vase import VASEConfig

TEXT = (Path(__file__).parents[2] / "docs" / "tuning.md").read_text()
FIELDS = {
    f"{part}.{name}" for part, fields in VASEConfig().to_dict().items() if isinstance(fields, dict) for name in fields
}


def test_knobs_are_fields_of_the_configuration() -> None:
    named = set(re.findall(r"`((?:capacity|network|independence|environments|dreaming|mask)\.[a-z_]+)", TEXT))
    assert len(named) > 10
    assert named <= FIELDS


def photographs(folder: Path, photo: np.ndarray, rng: np.random.Generator, count: int = 24) -> None:
    """Crops of a real photograph as JPEGs of 640×480."""
    folder.mkdir()
    for i in range(count):
        height = int(rng.integers(200, 400))
        width = height * 4 // 3
        top, left = rng.integers(0, photo.shape[0] - height), rng.integers(0, photo.shape[1] - width)
        part = Image.fromarray(photo[top : top + height, left : left + width])
        part.resize((640, 480)).save(folder / f"{i}.jpg", quality=85)


def test_a_shift_between_folders_of_photographs_is_found_and_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    for name, photo in zip(("monday", "tuesday"), load_sample_images().images, strict=True):
        photographs(tmp_path / name, photo, rng)
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"^```python\n(.*?)^```$", TEXT, flags=re.DOTALL | re.MULTILINE)
    shorter = code.replace("Stage(first, 60), Stage(second, 30)", "Stage(first, 20), Stage(second, 5)")
    assert shorter != code
    exec(shorter, names := {})
    *_, found = capsys.readouterr().out.splitlines()
    assert found.startswith("24 "), "20 batches of one world, and a verdict on 256 images of the next"
    assert len(names["model"].environments) == 2
