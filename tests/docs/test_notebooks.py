"""The notebooks: their cells run in order, and show what their text says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from vase.learners.sharing import shipped_models

ROOT = Path(__file__).parents[2]


def run(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names that are left when all cells of a notebook have run."""
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {"__name__": "notebook"}
    for cell in json.loads((ROOT / "notebooks" / name).read_text())["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "commit notebooks without outputs"
            exec(compile("".join(cell["source"]), f"{name} {cell['id']}", "exec"), names)
    return names


@pytest.mark.skipif("three-worlds" not in shipped_models(), reason="the model is not shipped")
def test_five_minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = run("five_minutes.ipynb", tmp_path, monkeypatch)
    assert len(found["dreams"]) == len(found["model"].environments) - 1
    assert found["walks"].shape[1] == 8
    with Image.open(tmp_path / "latents.png") as figure, Image.open(tmp_path / "latents.gif") as film:
        assert figure.width > 1000, "a figure for a slide"
        assert getattr(film, "n_frames", 1) > 24, "there and back"
    assert found["step"].environment == len(found["dreams"]), "the letters are the new environment"


def test_own_camera(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four stretches: the room, dark (new), the room (known), a chair (new); a verdict takes 256 frames, 16 batches."""
    found = run("own_camera.ipynb", tmp_path, monkeypatch)
    assert found["seen"] == [(40 + 16, 1, True), (70 + 16, 0, False), (90 + 16, 2, True)]
    assert len(found["model"].environments) == 3
    assert found["z"].environment == 1
    assert (tmp_path / "my-room" / "README.md").exists()
