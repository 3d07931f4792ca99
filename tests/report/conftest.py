"""One short run that all tests of the report share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from visits import Visit

from vase.report.build import write_report
from vase.training import RunDirectory, RunSettings, train


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


@pytest.fixture
def visit(chromium: Any, report: Path) -> Iterator[Visit]:
    """The report in a browser; nothing may be complained about or fetched."""
    opened = Visit(chromium, report)
    yield opened
    opened.page.close()
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith(("file:", "data:"))] == []
