"""The documentation site: it builds without a warning, and the examples of its pages run."""

from __future__ import annotations

import doctest
import importlib.util
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from code_blocks import blocks

from vase.cli import make_parser

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = ("index.md", "sharing.md", "faq.md")


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """Strictly: a link or anchor that leads nowhere, or a name that the reference cannot find, is an error."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    reference = (tmp_path / "site" / "api" / "index.html").read_text()
    for name in ("partial_fit", "from_pretrained", "infer_environment", "VASEConfig"):
        assert name in reference
    assert "../examples" not in (tmp_path / "site" / "guide" / "index.html").read_text()
    pages = [path.read_text() for path in (tmp_path / "site").rglob("*.html")]
    fetched = [url for text in pages for url in re.findall(r'<(?:script|link)[^>]+(?:src|href)="(https?:[^"]+)"', text)]
    assert fetched == [], "the site needs nothing from elsewhere"


def pages_of(entry: Any) -> Iterator[str]:
    """The pages of a part of the navigation."""
    if isinstance(entry, str):
        yield entry
    for inner in entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ():
        yield from pages_of(inner)


def test_every_page_is_in_the_navigation() -> None:
    listed = list(pages_of(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    assert sorted(listed) == sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))


def test_the_gallery_is_whole() -> None:
    """Once docs/gallery is committed: every report has a card, is small, and the first page leads there."""
    folder = DOCS / "gallery"
    reports = {path.name: path.stat().st_size for path in folder.glob("*.html") if path.name != "index.html"}
    index = (folder / "index.html").read_text() if folder.is_dir() else ""
    assert sorted(re.findall(r'href="\./([^"]+)"', index)) == sorted(reports)
    assert {name: size for name, size in reports.items() if size > 3_000_000} == {}
    assert ("(gallery/index.html)" in (DOCS / "index.md").read_text()) == folder.is_dir()


def test_links_that_leave_the_pages_become_names() -> None:
    """The examples in the docstring of the hook."""
    spec = importlib.util.spec_from_file_location("site_links", ROOT / "tools" / "site_links.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert doctest.testmod(module) == (0, 2)


@pytest.mark.parametrize("page", ["index.md", "sharing.md"])
def test_the_examples_of_a_page_run(page: str, tmp_path: Path) -> None:
    """In a process of its own: importing TensorBoard warns, and warnings are errors here."""
    code = "\n".join(blocks((DOCS / page).read_text(), "python"))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    if page == "index.md":
        first, second, last = done.stdout.splitlines()
        assert first == "1 0 the first environment"
        assert re.match(r"6\d 1 \w", second)
        assert last == "1"
    else:
        assert float(done.stdout.splitlines()[-1]) < 1e-5
        assert list((tmp_path / "board").iterdir())


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_a_page_are_understood(page: str) -> None:
    text = (DOCS / page).read_text()
    lines = [line for block in blocks(text, "sh") for line in block.splitlines()]
    for line in [line for line in (*lines, *re.findall(r"`(vase [^`]+)`", text)) if line.startswith("vase ")]:
        assert callable(make_parser().parse_args(shlex.split(line, comments=True)[1:]).run)
