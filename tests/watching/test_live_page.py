"""The live page: what it is told, who may ask, and that a browser draws it and follows the watch."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from films import DAY, NIGHT, film
from page_checks import flaws

from vase.rows import Row
from vase.watching.live_page import LivePage, page_data, thinned
from vase.watching.session import watch
from vase.watching.settings import WatchSettings

SETTINGS = WatchSettings(learner="monitor", size=16, batch_size=16, overrides={"environments.patience": 3})
SCENES = ((DAY, 192), (NIGHT, 96))  # 12 batches and 6; the night is announced with batch 15


def step(number: int, environment: int = 0, stage: int = 0) -> Row:
    place = {"kind": "step", "step": number, "stage": stage, "world": "ab"[stage]}
    return {**place, "environment": environment, "held": False, "effect": 0.5, "atypicality": [], "mask": []}


def test_sources_become_stages_and_unknown_is_no_environment() -> None:
    switch = {"kind": "switch", "step": 3, "stage": 1, "world": "b", "from": 0, "environment": -1, "is_new": True}
    switch |= {"delay": None, "false_alarm": False, "reasons": [], "change": None}
    shown = page_data([step(1), step(2), switch, step(3, -1, 1)], "b")
    assert shown["timeline"]["stages"] == [
        {"world": "a", "start": 0, "end": 2},
        {"world": "b", "start": 2, "end": 3},
    ]
    assert [period["environment"] for period in shown["timeline"]["periods"]] == [0]
    assert len(shown["environments"]) == 1
    assert page_data([], "b")["timeline"] is None


def test_of_very_many_rows_every_other_batch_is_kept() -> None:
    switch = {"kind": "switch", "step": 2}
    assert thinned([step(1), switch, step(2), step(3)]) == [step(1), switch, step(3)]


def test_only_who_has_the_address_sees_the_page_and_only_news_are_sent(tmp_path: Path) -> None:
    said: list[str] = []
    page = LivePage(tmp_path / "out", ready=said.append)
    steps = watch(film(*SCENES), out=tmp_path / "out", settings=SETTINGS, observers=[page])
    next(steps)
    assert said == [f"live page: {page.address}"]
    root, token, _ = page.address.rsplit("/", 2)
    with urlopen(f"{page.address}news?after=0") as answer:
        assert answer.status == 200
    with urlopen(f"{page.address}news?after=2") as answer:  # the first switch and the first batch
        assert answer.status == 204
    for wrong in (f"{root}/news?after=0", f"{root}/{token[:-1]}x/news?after=0"):
        with pytest.raises(HTTPError, match="403"):
            urlopen(wrong)
    steps.close()  # type: ignore[attr-defined]
    with pytest.raises(OSError, match="refused"):
        urlopen(page.address)


def test_a_resumed_watch_shows_what_was_before(tmp_path: Path) -> None:
    out = tmp_path / "out"
    list(watch(film(*SCENES), out=out, settings=SETTINGS))
    page = LivePage(out, ready=lambda text: None)
    list(watch(film((DAY, 32)), out=out, resume=True, observers=[page]))
    shown = page.news(-1)
    assert shown is not None
    assert shown["timeline"]["total"] == 20
    assert [switch["step"] for switch in shown["timeline"]["switches"]] == [15]


def test_a_browser_draws_the_timeline_and_follows_the_watch(chromium: Any, tmp_path: Path) -> None:
    page = LivePage(tmp_path / "out", ready=lambda text: None)
    steps = watch(film(*SCENES), out=tmp_path / "out", settings=SETTINGS, observers=[page])
    for _ in range(14):
        next(steps)
    browser = chromium.new_page(viewport={"width": 1000, "height": 800})
    problems: list[str] = []
    browser.on("console", lambda message: message.type in ("error", "warning") and problems.append(message.text))
    browser.on("pageerror", lambda error: problems.append(str(error)))
    browser.set_default_timeout(120_000)
    browser.goto(page.address)
    browser.wait_for_selector(".stages .bar")
    assert browser.locator(".card h4").count() == 0
    assert "Batch 14, 224 frames, environment 0" in browser.locator("[role=status]").inner_text()
    next(steps)
    browser.wait_for_selector("text=Switch at step 15")
    assert "0 → 1, a new environment." in browser.locator(".card").first.inner_text()
    assert browser.locator(".card .tiles img").count() >= 8
    for width in (390, 1400):
        browser.set_viewport_size({"width": width, "height": 844})
        browser.wait_for_selector(".tracks .moment" if width == 390 else ".timeline > .moment")
        assert flaws(browser) == {}
    assert problems == []
    steps.close()  # type: ignore[attr-defined]
    browser.wait_for_selector("text=The watch has ended")
    browser.close()
