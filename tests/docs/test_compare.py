"""docs/compare.md: its lines are those of the example, which puts a method of one's own into the table of rivals."""

from __future__ import annotations

import ast
import importlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from code_blocks import blocks
from tiny import tiny

from vase.experiments import export, jobs_of, results_of
from vase.experiments.rivals.analysis import methods
from vase.experiments.rivals.figures import cost
from vase.experiments.rivals.settings import METHODS, RIVALS
from vase.experiments.tables import words
from vase.learners.checks import learner_checks, state_bytes
from vase.learners.registry import LEARNERS
from vase.training import RunDirectory, train

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/compare.md").read_text()


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    monkeypatch.delitem(sys.modules, "compare_own_method", raising=False)
    return importlib.import_module("compare_own_method")


def plain(source: str) -> dict[str, str]:
    """Top-level names of a module -> their code, without annotations and docstrings."""
    module = ast.parse(source)
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for argument in (*node.args.args, *node.args.kwonlyargs):
                argument.annotation = None
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            node.body = node.body[1:]
        if isinstance(node, ast.Call):
            node.keywords = [keyword for keyword in node.keywords if keyword.arg != "strict"]
    named = [(node.name, node) for node in module.body if isinstance(node, ast.ClassDef)]
    named += [(str(node.targets[0].id), node) for node in module.body if isinstance(node, ast.Assign)]  # type: ignore[attr-defined]
    return {name: ast.unparse(node) for name, node in named}


def test_the_page_shows_the_example() -> None:
    (block,) = blocks(TEXT, "python")
    assert len(block.splitlines()) <= 30
    shown, whole = plain(block), plain((ROOT / "examples/compare_own_method.py").read_text())
    assert shown.keys() == {"AveragedVAE", "OWN", "MINE"}
    assert shown == {name: whole[name] for name in shown}


def test_a_method_of_ones_own_appears_in_the_table(example: Any, tmp_path: Path) -> None:
    few = {"only": ["averaged", "dgr-told"], "seeds": [0], "device": "cpu"}
    for job in jobs_of(example.SMALL, "smoke", tmp_path / "results", tmp_path / "runs", **few):
        train(job.path, replace(job.settings, stream="moving-digits:12*12,glyphs:12*8"))
        export(job)
    results = results_of(example.SMALL, "smoke", tmp_path / "results")
    table = methods(results)
    theirs, mine = (dict(zip(table.columns, map(words, row), strict=True)) for row in table.rows)
    assert (theirs["method"], theirs["told boundaries"]) == ("generative replay, told", "yes")
    assert (mine["method"], mine["told boundaries"], mine["Rand index"]) == ("averaged", "no", "–")
    measured = set(table.columns) - {"Rand index"}
    assert all("–" not in row[name] for row in (theirs, mine) for name in measured if "change" not in name)
    networks = state_bytes(RunDirectory(tmp_path / "runs/small/smoke/averaged-0").load()["learner"]["networks"])
    assert float(mine["memory (MB)"]) == pytest.approx(networks / 1e6, abs=0.02)  # the average of the weights
    assert len(cost(results).axes) == 2


@pytest.mark.parametrize("check", ["save_and_load", "copies"])
def test_the_example_keeps_the_contract(example: Any, check: str) -> None:
    dict(learner_checks(example.AveragedVAE, tiny()))[check]()


def test_the_page_names_every_rival_and_its_stream() -> None:
    for name in LEARNERS.keys() - {"vase"}:
        assert f"(`{name}`" in TEXT, name
    assert all(learner in LEARNERS for _, learner, _ in METHODS.values())
    assert f"| {RIVALS.steps['laptop']:,} |" in TEXT
