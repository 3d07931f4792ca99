"""Rules of the house that no linter knows: sizes, late imports, and underscores that belong to somebody else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "vase").rglob("*.py"))
PAGE = sorted((ROOT / "vase").glob("*/page/*"))
MAX_FILE, MAX_FUNCTION, MAX_LINE = 400, 60, 120
LIBRARIES = ("torch", "np", "numpy", "os", "sys", "signal", "F", "aten")
"""Private names of other people's libraries are another matter."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    return {name(path): tree(path) for path in FILES}


def test_no_file_is_too_long() -> None:
    lengths = {name(path): len(path.read_text().splitlines()) for path in (*FILES, *PAGE)}
    assert {path: n for path, n in lengths.items() if n > MAX_FILE} == {}


def test_no_line_of_the_page_is_too_long() -> None:
    lines = [(name(path), line) for path in PAGE for line in path.read_text().splitlines()]
    wide = [f"{path}: {line.strip()[:40]}" for path, line in lines if len(line) > MAX_LINE]
    assert wide == []


def test_no_function_is_too_long(trees: dict[str, ast.Module]) -> None:
    long = [
        f"{path}: {node.name} has {size} lines"
        for path, module in trees.items()
        for node in ast.walk(module)
        if isinstance(node, Function) and (size := (node.end_lineno or 0) - node.lineno + 1) > MAX_FUNCTION
    ]
    assert long == []


def test_nothing_is_imported_late_outside_the_command_line(trees: dict[str, ast.Module]) -> None:
    late = [
        f"{path}:{inner.lineno}"
        for path, module in trees.items()
        if not path.startswith("vase/cli/")
        for node in ast.walk(module)
        if isinstance(node, Function)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Import | ast.ImportFrom)
    ]
    assert late == []


def private(text: str) -> bool:
    return text.startswith("_") and not text.startswith("__") and text != "_"


def foreign(module: ast.Module) -> list[str]:
    """Private names that a module imports, and private attributes that it reads of anything but itself.

    An attribute is its own if it hangs on self or cls, or if the module defines a class, method or attribute of that
    name.
    """
    own = {node.name for node in ast.walk(module) if isinstance(node, Function | ast.ClassDef)}
    own |= {
        node.attr
        for node in ast.walk(module)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
    }
    found = []
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("vase"):
            found += [f"line {node.lineno}: imports {alias.name}" for alias in node.names if private(alias.name)]
        if isinstance(node, ast.Attribute) and private(node.attr) and node.attr not in own:
            root = node.value
            while isinstance(root, ast.Attribute):
                root = root.value
            if not (isinstance(root, ast.Name) and root.id in LIBRARIES):
                found.append(f"line {node.lineno}: reads .{node.attr}")
    return found


def test_nobody_touches_a_foreign_underscore(trees: dict[str, ast.Module]) -> None:
    assert {path: found for path, module in trees.items() if (found := foreign(module))} == {}


def test_tests_use_public_names() -> None:
    tests = [path for path in sorted((ROOT / "tests").rglob("*.py")) if path.name != Path(__file__).name]
    assert {name(path): found for path in tests if (found := foreign(tree(path)))} == {}


def test_what_counts_as_foreign() -> None:
    module = ast.parse(
        "from vase.x import _y\n"
        "class A:\n"
        "    def _own(self): return self._mine\n"
        "    def twin(self, other): return other._mine + other._own()\n"
        "    def thief(self, other): return other._theirs\n"
        "torch._foreach_lerp_()\n"
        "x.__name__\n"
    )
    assert foreign(module) == ["line 1: imports _y", "line 5: reads ._theirs"]


def test_tests_stand_in_the_tree_of_the_code() -> None:
    folders = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")}
    strangers = {folder for folder in folders if not (ROOT / "vase" / folder).is_dir()}
    assert strangers <= {Path("docs"), Path("benchmarks"), Path("tools")}
