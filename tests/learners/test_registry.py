"""Learners by name, and what is wrong with a name."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from vase import VASE, VASEConfig
from vase.learners.protocol import Learner
from vase.learners.registry import load_learner_class, make_learner

CONFIG = VASEConfig.smoke(image_shape=(1, 32, 32))


@pytest.fixture(autouse=True)
def _path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "training"))
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "needy.py").write_text("import a_package_that_is_not_there")
    yield
    sys.modules.pop("needy", None)


def test_the_names() -> None:
    assert load_learner_class("vase") is load_learner_class("vase.learners.vase:VASE") is VASE
    found = make_learner("random_projection:RandomProjection", CONFIG, seed=1, options={"size": "3"})
    assert isinstance(found, Learner)
    assert found.n_latents == 3


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("vasé", r"learner='vasé': must be one of vase, fine-tuning, .*, or package.module:Class, e.g. mine.pca:PCA"),
        ("random_projection:", "must be one of vase, fine-tuning, .*, or package.module:Class"),
        ("nowhere.at.all:Learner", "no module 'nowhere'; install it, or add its folder to PYTHONPATH"),
        ("vase.nowhere:Learner", "no module 'vase.nowhere'"),
        ("random_projection:PCA", "module random_projection has no class 'PCA'; check the spelling"),
        ("random_projection:np", "has no class 'np'"),
        ("random_projection:NoPosterior", "is not a Learner: it lacks posterior, load_state_dict; see"),
        ("random_projection:NoSteps", "is not a Learner: it lacks steps; see vase.learners.protocol"),
    ],
)
def test_bad_names_say_what_is_wrong(name: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make_learner(name, CONFIG)


def test_an_option_that_the_class_does_not_take() -> None:
    with pytest.raises(
        ValueError, match=r"with options \{'depth': '3'\}: .*'depth'; it is built as RandomProjection\("
    ):
        make_learner("random_projection:RandomProjection", CONFIG, options={"depth": "3"})


def test_a_package_that_the_learner_needs_is_named_by_python() -> None:
    with pytest.raises(ModuleNotFoundError, match="a_package_that_is_not_there"):
        load_learner_class("needy:Learner")
