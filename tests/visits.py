"""A page in a browser, for tests that look at it as a person would."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


class Visit:
    """A page that was opened from a file or a server, what it complained about, and what it asked for."""

    def __init__(self, browser: Any, address: Path | str, **options: Any) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page = browser.new_page(**{"viewport": {"width": 1400, "height": 900}, **options})
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.set_default_timeout(120_000)
        self.page.goto(address.as_uri() if isinstance(address, Path) else address)
        self.page.locator("#facts h2").first.wait_for()

    def text(self, selector: str) -> str:
        """What the first element of a kind says."""
        return str(self.page.locator(selector).first.inner_text())

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait for something that the page does in its own time."""
        for _ in range(1_200):
            if holds():
                return
            self.page.wait_for_timeout(50)
        raise AssertionError("it did not happen within a minute")

    def picture(self) -> str:
        """The big picture after the next frames are drawn."""
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return str(self.page.evaluate("document.querySelector('.answer').toDataURL()"))
