"""The pages say what the results say."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("pages", ROOT / "tools" / "pages.py")
assert spec is not None
assert spec.loader is not None
pages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pages)


def test_every_page_of_results_is_filled():
    results = {f"docs/results/{page.name}" for page in (ROOT / "docs" / "results").glob("*.md")}
    assert {"README.md", *results} - set(pages.PAGES) == {"docs/results/reading.md"}


@pytest.mark.parametrize("name", pages.PAGES)
def test_tables_are_those_of_the_committed_results(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    page = ROOT / name
    assert pages.fill(page, draw=False) == page.read_text(), "out of date: run python tools/pages.py"


@pytest.mark.parametrize("name", pages.PAGES)
def test_pictures_of_a_page_are_there(name):
    text = (ROOT / name).read_text()
    pictures = pages.re.findall(r"!\[[^]]*\]\(([^)]+)\)", text)
    assert not [path for path in pictures if not ((ROOT / name).parent / path).is_file()]


def test_a_block_is_replaced_and_the_rest_stays(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    text = "before\n<!-- $ vase experiment table some -->\n{}\n<!-- end -->\nafter\n"
    page.write_text(text.format("old"))
    monkeypatch.setattr(pages, "run", lambda words: f"new: {words}")
    assert pages.fill(page, draw=False) == text.format(
        "`vase experiment table some`\n\nnew: experiment table some --format markdown"
    )


def test_a_table_of_a_benchmark_takes_its_place(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("<!-- $ python -m benchmarks.faults --table -->\nold\n<!-- end -->\n")
    monkeypatch.setattr("benchmarks.faults.results_table", lambda: "new")
    assert pages.fill(page, draw=False) == "<!-- $ python -m benchmarks.faults --table -->\nnew\n<!-- end -->\n"
