"""docs/tutorial.md: its blocks and commands run, in order, on fewer pictures and batches; it finds what it says."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from code_blocks import blocks

from vase.cli import main, make_parser

TEXT = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text()
SHORTER = {
    "range(300)": "range(40)",
    "Stage(first, 60), Stage(second, 30)": "Stage(first, 20), Stage(second, 5)",
    "folder:monday*100,folder:tuesday*40,folder:monday*20": "folder:monday*20,folder:tuesday*6",
    "--canvas 48": "--canvas 32",
    "size=48": "size=32",
}


def shortened(text: str) -> str:
    for long, short in SHORTER.items():
        text = text.replace(long, short)
    return text


COMMANDS = [line for block in blocks(TEXT, "sh") for line in block.splitlines()]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The names that are left after the page, and what it printed."""
    names: dict[str, Any] = {"printed": []}
    names["print"] = lambda *words: names["printed"].append(" ".join(map(str, words)))
    pictures, ten_lines, questions = map(shortened, blocks(TEXT, "python"))
    assert all(long in TEXT for long in SHORTER)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("tutorial"))
        exec(pictures, names)
        exec(ten_lines, names)
        names["ten"] = names["model"]
        for line in COMMANDS:
            if not line.startswith("vase explore"):
                assert main(shlex.split(shortened(line))[1:]) == 0
        names["figure"] = Path("runs/days/figures/changes.png").resolve()
        names["report"] = Path("runs/days/report.html").resolve()
        exec(questions, names)
    return names


def test_a_shift_between_folders_of_photographs_is_found_and_explained(told: dict[str, Any]) -> None:
    found = told["printed"][0]
    assert found.startswith("24 step 24: environment 0 → 1 (new) - "), "a verdict takes 256 images of the next world"
    assert len(told["ten"].environments) == 2


def test_the_run_leaves_a_figure_and_a_report(told: dict[str, Any]) -> None:
    assert told["figure"].is_file()
    assert told["report"].is_file()


def test_the_learner_of_the_run_knows_both_days(told: dict[str, Any]) -> None:
    verdict, at_night = told["printed"][1:]
    assert verdict.startswith("environment 1 ")
    assert at_night == "new environment"
    assert told["codes"].shape[0] == 64


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_of_the_page_are_understood(line: str) -> None:
    assert callable(make_parser().parse_args(shlex.split(line)[1:]).run)
