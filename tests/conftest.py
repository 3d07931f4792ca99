"""One thread, repeatable examples, shapes that are checked at run time, and a real browser where there is one."""

import shutil
from collections.abc import Iterator
from typing import Any

import hypothesis
import jaxtyping
import pytest
import torch

# The modules that only the program calls. In the others bad input comes from people, and must meet their own messages.
jaxtyping.install_import_hook(["vase.method", "vase.nn"], "beartype.beartype")

torch.set_num_threads(1)
torch.set_warn_always(True)  # else a warning is an error in the first test that meets it only
hypothesis.settings.register_profile("vase", deadline=None, derandomize=True, max_examples=60)
hypothesis.settings.load_profile("vase")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")


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
