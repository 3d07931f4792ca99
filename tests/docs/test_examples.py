"""The examples are what they claim: one file each, and they run."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from vase import cli
from vase.config import VASEConfig
from vase.learners.checks import check_learner
from vase.nn.likelihood import Likelihood
from vase.worlds import make_world

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    *(str(page.relative_to(ROOT)) for page in sorted((ROOT / "docs").rglob("*.md"))),
)


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    for name in ("pca_learner", "pca_experiment"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def example(name: str) -> Any:
    return importlib.import_module(name)


def test_a_likelihood_learns() -> None:
    logistic = example("logistic_likelihood")
    p = logistic.Logistic(0.5)
    assert isinstance(p, Likelihood)
    # d = |0.2 − 0.7| / 0.5 = 1: 1 + 2·log(1 + e⁻¹) + log 0.5 = 1 + 0.626523 − 0.693147
    x, y = torch.full((1, 1, 1, 1), 0.2), torch.full((1, 1, 1, 1), 0.7)
    assert float(p.nll(y, x)) == pytest.approx(0.933376, abs=1e-5)
    assert float(p.floor(x)) == pytest.approx(float(p.nll(x, x)))
    model = logistic.main()
    assert len(model.environments) == 2
    digits = logistic.Schedule.parse("digits:28", steps=1, batch_size=32, seed=9).batch(0).images / 255
    assert np.square(model.reconstruct(digits, environment=0) - digits).mean() < 0.8 * np.var(digits)


def test_a_shift_test_finds_night_and_the_return_of_day() -> None:
    assert example("brightness_test").main() == [(1, 0), (93, 1), (183, 0)]


def test_an_encoder_is_saved_without_itself_and_passed_again(capsys: pytest.CaptureFixture[str]) -> None:
    model, again = example("resnet_encoder").main()
    assert "the saved learner has encoder=ResNet: pass it again" in capsys.readouterr().out
    images = make_world("glyphs:16").sample(32, np.random.default_rng(0)).images
    assert np.array_equal(model.transform(images), again.transform(images))
    assert model.partial_fit(images).loss == again.partial_fit(images).loss


def test_a_learner_keeps_the_contract() -> None:
    report = check_learner(example("pca_learner").PCALearner, VASEConfig.smoke((1, 16, 16)))
    assert not report.memory_grows


def test_a_learner_outside_the_package_is_trained_and_described(tmp_path: Path, capsys: Any) -> None:
    stream = ["--stream", "moving-digits:10*40,glyphs:10*40", "--canvas", "16", "--preset", "smoke"]
    options = ["--learner", "pca_learner:PCALearner", "--set", "learner.components=6", "--probe-every", "20"]
    assert cli.main(["train", *stream, *options, "--quiet", "--out", str(tmp_path / "run")]) == 0
    assert cli.main(["summary", str(tmp_path / "run")]) == 0
    assert "class of glyphs:10" in capsys.readouterr().out
    assert cli.main(["figures", str(tmp_path / "run")]) == 0


def vase(*words: str) -> str:
    """What a command prints, run as the examples say."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "examples"), str(ROOT)))}
    done = subprocess.run(
        [sys.executable, "-m", "vase", *words], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_experiment_outside_the_package_has_all_learners_in_every_table(tmp_path: Path) -> None:
    where = ("--preset", "smoke", "--results", str(tmp_path / "results"))
    name = "pca_experiment:EXPERIMENT"
    vase("experiment", "run", name, *where, "--runs", str(tmp_path / "runs"), "--jobs", "1", "--quiet")
    for table in ("forgetting", "detection"):
        printed = vase("experiment", "table", name, table, *where)
        assert all(re.search(rf"^{condition} ", printed, re.M) for condition in ("vase", "no-dreams", "pca")), printed


@pytest.mark.parametrize("page", PAGES)
def test_files_that_a_page_names_exist(page: str) -> None:
    text = (ROOT / page).read_text()
    named = set(re.findall(r"`((?:vase|tests|tools|benchmarks|examples)/[\w/.-]+\.py)(?:::\w+)?`", text))
    named |= set(re.findall(r"\]\(((?!http)[\w/.-]+\.(?:py|md))\)", text))
    missing = [name for name in named if not ((ROOT / name).exists() or (ROOT / page).parent.joinpath(name).exists())]
    assert missing == []


def test_tests_that_the_paper_page_names_exist() -> None:
    for file, test in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (ROOT / "docs/paper.md").read_text()):
        assert f"def {test}(" in (ROOT / file).read_text(), (file, test)
