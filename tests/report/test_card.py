"""vase share: the learner of a run as a folder, with a card that holds the run's numbers and figures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from cheap_runs import cheap

from vase import VASE
from vase.cli import main
from vase.learners import sharing
from vase.report.card import share_run
from vase.training import RunDirectory, train
from vase.training.summary import summary


@pytest.fixture(scope="module")
def shared(run: RunDirectory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return share_run(run.path, tmp_path_factory.mktemp("share") / "moving-digits")


def test_the_card_holds_the_numbers_of_the_run(run: RunDirectory, shared: Path) -> None:
    text, found = (shared / "README.md").read_text(), summary(run.path)
    headings = re.findall(r"^## (.*)", text, re.MULTILINE)
    assert headings[:3] == ["Use", "What it knows", "Training"]
    assert {"Switches", "Environments", "Probes", "Fresh probes", "Figures"} <= set(headings)
    assert headings[-1] == "Limits"
    assert "The learner saw 120 batches of 32 images: moving digits, then inverse digits" in text
    best = found["identity"]["worlds"]["moving-digits"]["best"]
    assert f"| class of moving digits | {100 * best:.1f} % |" in text
    assert "vase train --preset smoke --stream moving-digits,inverse-digits" in text
    assert "embedded: scikit-learn's handwritten digits" in text


def test_the_figures_of_the_card_are_there(shared: Path) -> None:
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", (shared / "README.md").read_text())
    assert sorted(pictures) == ["overview.png", "reconstructions.png", "traversals.png"]
    assert sorted(path.name for path in shared.glob("*.png")) == sorted(pictures)


def test_the_learner_is_that_of_the_run(run: RunDirectory, shared: Path) -> None:
    again = VASE.from_pretrained(shared, device="cpu")
    assert again.steps == 120
    assert len(again.environments) == summary(run.path)["environments"]


def test_the_command(
    run: RunDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed = []

    def push(*given: Any, **named: Any) -> str:
        pushed.append((given, named))
        return "the commit"

    monkeypatch.setattr(sharing, "push_folder", push)
    out = tmp_path / "mine"
    assert main(["share", str(run.path), "--out", str(out), "--push", "me/mine", "--private"]) == 0
    told = capsys.readouterr().out
    assert f"VASE.from_pretrained('{out}')" in told
    assert told.endswith("the commit\n")
    assert pushed == [((out, "me/mine"), {"private": True})]
    assert "# me/mine\n" in (out / "README.md").read_text()
    assert main(["share", str(run.path), "--out", str(out), "--private"]) == 2
    assert "--private without --push" in capsys.readouterr().err


def test_only_vase_can_be_shared(tmp_path: Path) -> None:
    train(tmp_path / "run", cheap())
    with pytest.raises(TypeError, match="learner of class RandomProjection: only VASE can be shared"):
        share_run(tmp_path / "run", tmp_path / "shared")
