"""One short run that all tests of the report share, and a real browser where there is one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from visits import Visit

from vase.report.build import write_report
from vase.training import RunDirectory, RunSettings, train

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """Moving digits, then their negatives: two environments, labels and positions."""
    path = tmp_path_factory.mktemp("report") / "run"
    settings = RunSettings.of("smoke", stream="moving-digits,inverse-digits", steps=60, probe_every=30, device="cpu")
    train(path, settings)
    return RunDirectory(path)


@pytest.fixture(scope="session")
def report(run: RunDirectory) -> Path:
    """The report of that run."""
    return write_report(run.path)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Headless Chromium, closed with its module: its event loop would be in the way of other tests."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("needs a browser: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(QUIET))
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Any, report: Path) -> Iterator[Visit]:
    """The report in a browser; nothing may be complained about or fetched."""
    opened = Visit(chromium, report)
    yield opened
    opened.page.close()
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith(("file:", "data:"))] == []
