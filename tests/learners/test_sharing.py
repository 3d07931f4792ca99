"""Learners saved for others: what is left out, what stays the same, by which names they are found, and the Hub."""

from __future__ import annotations

import json
import logging
import re
import sys
from pathlib import Path
from typing import Any

import huggingface_hub
import numpy as np
import pytest
import yaml
from dark_and_light import CONFIG, images, learner
from huggingface_hub import ModelCard

from vase import VASE, checkpoint
from vase.checkpoint import CheckpointError, split_tensors
from vase.learners import sharing
from vase.learners.card import markdown_table
from vase.learners.sharing import shareable_state, shipped_models


@pytest.fixture(scope="module")
def model() -> VASE:
    return learner()


@pytest.fixture
def shared(model: VASE, tmp_path: Path) -> Path:
    return model.save_pretrained(tmp_path / "dark-and-light")


def front_matter(text: str) -> dict[str, Any]:
    return yaml.safe_load(text.split("---\n")[1])


def test_a_shared_learner_answers_like_the_original(model: VASE, shared: Path) -> None:
    again = VASE.from_pretrained(shared, device="cpu")
    for light in (False, True):
        asked = images(8, light=light, seed=99)
        np.testing.assert_array_equal(again.transform(asked), model.transform(asked))
        assert again.encode(asked).environment == model.encode(asked).environment == int(light)
        np.testing.assert_array_equal(again.reconstruct(asked), model.reconstruct(asked))
    np.testing.assert_array_equal(again.dream(4, 0, seed=1), model.dream(4, 0, seed=1))
    assert again.steps == model.steps == 48


def test_a_shared_learner_holds_no_images_and_no_optimiser(model: VASE, shared: Path) -> None:
    """Of all tensors of a checkpoint, these are missing: moments of Adam, averaged weights, images of the visit."""
    model.save(shared.parent / "whole")

    def tensors(folder: Path) -> dict[str, tuple[int, ...]]:
        _, groups = split_tensors(checkpoint.read(folder, checkpoint.LEARNER))
        return {name: tuple(tensor.shape) for name, tensor in groups["learner"].items()}

    whole, part = tensors(shared.parent / "whole"), tensors(shared)
    assert {name.partition("/")[0] for name in whole.keys() - part.keys()} == {
        "optimiser",
        "ema",
        "recent",
        "visit",
    }
    assert [name for name, shape in whole.items() if shape[1:] == CONFIG.image_shape]
    assert not [name for name, shape in part.items() if shape[1:] == CONFIG.image_shape]


def test_held_batches_are_left_out() -> None:
    model = learner(20)
    assert model.partial_fit(images(8, light=False) * 0 + 0.5).held
    state = model.state_dict()
    assert len(state["detector"]["held"]) == 1
    assert shareable_state(state)["detector"] == {**state["detector"], "held": {}}


def test_codes_of_single_images_are_left_out(model: VASE, shared: Path) -> None:
    """Those that were observed for the next rotation: the decoder would show the images."""
    assert model.rotator_.means
    again = VASE.from_pretrained(shared, device="cpu")
    assert not again.rotator_.means
    assert not again.rotator_.noise
    assert again.rotator_.environment == model.rotator_.environment == 1


@pytest.mark.parametrize("light", [True, False])
def test_a_shared_learner_goes_on_learning(shared: Path, light: bool) -> None:
    """Also if the first batches after loading are foreign, when it has no image of its environment to compare with."""
    again = VASE.from_pretrained(shared, device="cpu")
    assert again.environment == 1
    before = again.transform(images(8, light=light))
    steps = [again.partial_fit(images(8, light=light, seed=50 + i)) for i in range(6)]
    assert again.environment == int(light)
    assert [step.is_new for step in steps if step.switched] == ([] if light else [False])
    assert np.isfinite(steps[-1].loss)
    assert np.abs(again.transform(images(8, light=light)) - before).max() > 0
    again.save(shared.parent / "later")  # a whole checkpoint again


def test_a_foreign_world_right_after_loading_is_described(shared: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "vase.learners")
    again = VASE.from_pretrained(shared, device="cpu")
    stripes = np.tile(np.arange(16) % 4 < 2, (8, 1, 16, 1)).astype(np.float32)
    told = [step for _ in range(8) if (step := again.partial_fit(stripes)).switched]
    assert len(told) == 1
    assert told[0].is_new
    assert told[0].change is not None
    assert re.fullmatch(r"step \d+: environment 1 → 2 \(a new one\)", caplog.messages[-1])


def test_the_card_says_what_it_knows_and_how_to_use_it(shared: Path) -> None:
    text = (shared / "README.md").read_text()
    assert front_matter(text)["library_name"] == "vase-lifelong"
    assert 'VASE.from_pretrained("dark-and-light")' in text
    assert "grey images of 16×16" in text
    assert "2 environments after 48 batches" in text
    assert "\n| 1 | 24 | " in text
    assert text.index("## Use") < text.index("## What it knows") < text.index("## Limits")
    assert ModelCard(text).data.license == "apache-2.0"
    assert json.loads((shared / "config.json").read_text())["batch_size"] == 8


def test_a_card_of_your_own(model: VASE, tmp_path: Path) -> None:
    folder = model.save_pretrained(tmp_path / "mine", card="mine\n")
    assert (folder / "README.md").read_text() == "mine\n"
    assert model.save_pretrained(folder) == folder  # replaced
    assert "# mine" in (folder / "README.md").read_text()


def test_a_bar_in_a_cell_is_escaped() -> None:
    assert markdown_table(["a", "b"], [["x|y", "1"]]).splitlines()[-1] == "| x\\|y | 1 |"


# ---------------------------------------------------------------------------------------------------- names


def test_shipped_models_are_found_by_name(model: VASE, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model.save_pretrained(tmp_path / "shipped" / "dark-and-light")
    (tmp_path / "shipped" / "half").mkdir()
    monkeypatch.setattr(sharing, "SHIPPED", tmp_path / "shipped")
    monkeypatch.chdir(tmp_path)
    assert shipped_models() == ("dark-and-light",)
    assert VASE.from_pretrained("dark-and-light", device="cpu").steps == 48
    with pytest.raises(
        FileNotFoundError, match=r"named 'dark-n-light'; did you mean 'dark-and-light'\? Shipped: dark-and-light; "
    ):
        VASE.from_pretrained("dark-n-light")


@pytest.mark.parametrize("name", shipped_models())
def test_every_shipped_model_is_small_and_works(name: str) -> None:
    folder = sharing.SHIPPED / name
    assert sum(path.stat().st_size for path in folder.iterdir()) < 5_000_000
    assert f'VASE.from_pretrained("{name}")' in (folder / "README.md").read_text()
    model = VASE.from_pretrained(name, device="cpu")
    dreams = model.dream(8, environment=0, seed=0)
    assert np.isfinite(model.transform(dreams)).all()
    assert dreams.std(axis=0).max() > 0.05


def test_a_damaged_folder_is_refused(shared: Path) -> None:
    (weights,) = shared.glob("*.safetensors")
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    with pytest.raises(CheckpointError, match="checksum differs"):
        VASE.from_pretrained(shared)


# ---------------------------------------------------------------------------------------------------- the Hub


class FakeHub:
    """Repositories in memory, in place of the two calls of `huggingface_hub` that would need a network."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: dict[str, Any] = {}
        monkeypatch.setattr(huggingface_hub.HfApi, "create_repo", self.create_repo)
        monkeypatch.setattr(huggingface_hub.HfApi, "upload_folder", self.upload_folder)

    def create_repo(self, **asked: Any) -> Any:
        self.asked |= asked
        return huggingface_hub.RepoUrl(f"https://huggingface.co/{asked['repo_id']}")

    def upload_folder(self, *, folder_path: Path, **asked: Any) -> str:
        self.asked |= asked
        self.files = {path.name: path.read_bytes() for path in Path(folder_path).iterdir()}
        return "the commit"


def test_what_is_pushed_is_what_is_loaded(model: VASE, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = FakeHub(monkeypatch)
    assert model.push_to_hub("me/dark-and-light", private=True, token="t") == "the commit"
    assert (hub.asked["repo_id"], hub.asked["private"]) == ("me/dark-and-light", True)
    assert sorted(name.partition("-")[0] for name in hub.files) == ["README.md", "config.json", "learner", "state.json"]
    assert 'VASE.from_pretrained("me/dark-and-light")' in hub.files["README.md"].decode()

    def download(repo_id: str, **asked: Any) -> str:
        assert (repo_id, asked["revision"]) == ("me/dark-and-light", "v1")
        for name, data in hub.files.items():
            (tmp_path / name).write_bytes(data)
        return str(tmp_path)

    def config(filename: str, **_: Any) -> str:
        (tmp_path / filename).write_bytes(hub.files[filename])
        return str(tmp_path / filename)

    monkeypatch.setattr("huggingface_hub.hub_mixin.hf_hub_download", config)
    monkeypatch.setattr("vase.learners.hub.snapshot_download", download)
    again = VASE.from_pretrained("me/dark-and-light", revision="v1", device="cpu")
    asked = images(8, light=True, seed=7)
    np.testing.assert_array_equal(again.transform(asked), model.transform(asked))


def test_without_the_extra_folders_still_work(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    monkeypatch.delitem(sys.modules, "vase.learners.hub", raising=False)
    model = VASE.from_pretrained(shared, device="cpu")
    for ask in (lambda: VASE.from_pretrained("me/model"), lambda: model.push_to_hub("me/model")):
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'vase-lifelong\[hub\]'"):
            ask()
