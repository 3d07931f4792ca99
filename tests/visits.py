"""A page in a browser, for tests that look at it as a person would."""

from __future__ import annotations

from pathlib import Path
from typing import Any


class Visit:
    """A page that was opened from a file, what it complained about, and what it asked for."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page = browser.new_page(**{"viewport": {"width": 1400, "height": 900}, **options})
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_function("document.querySelector('#facts h2') !== null")

    def text(self, selector: str) -> str:
        """What the first element of a kind says."""
        return str(self.page.locator(selector).first.inner_text())

    def picture(self) -> str:
        """The big picture after the next frames are drawn."""
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return str(self.page.evaluate("document.querySelector('.answer').toDataURL()"))
