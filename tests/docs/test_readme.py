"""README.md: its ten lines run, its commands are understood, experiments that any page names exist, and it is short."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from code_blocks import blocks

from vase.cli import make_parser
from vase.config import VASEConfig
from vase.experiments.registry import EXPERIMENTS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text()
PAGES = ("README.md", "CONTRIBUTING.md", *(str(p.relative_to(ROOT)) for p in sorted((ROOT / "docs").rglob("*.md"))))


def test_the_ten_lines_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With embedded worlds, short stages and small networks."""
    (code,) = blocks(TEXT, "python")
    assert len([line for line in code.splitlines() if line]) <= 12
    shorter = code.replace("moving-fashion,mnist,moving-mnist", "digits,glyphs").replace("steps=3000", "steps=16")
    assert shorter.count("steps=16") == 2
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(VASEConfig, "laptop", lambda stage_steps: VASEConfig.smoke())
    names: dict[str, Any] = {}
    exec(shorter, names)
    assert names["step"].environment == 1
    assert (tmp_path / "my-model").is_dir()


@pytest.mark.parametrize("line", [line for block in blocks(TEXT, "sh") for line in block.splitlines()])
def test_commands_are_understood(line: str) -> None:
    program, *words = shlex.split(line, comments=True)
    if program == "make":
        assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    else:
        assert callable(make_parser().parse_args(words).run)


@pytest.mark.parametrize("page", PAGES)
def test_experiments_that_a_page_names_exist(page: str) -> None:
    named = re.findall(
        r"vase experiment (?:run|table|figure|check) ([a-z][\w-]*)(?![\w:.-])", (ROOT / page).read_text()
    )
    assert set(named) <= set(EXPERIMENTS)


def test_it_is_a_screen_and_a_half() -> None:
    assert len(TEXT.splitlines()) <= 110
