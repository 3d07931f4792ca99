"""The gallery: what its index links is there, and nothing in it comes from elsewhere."""

from __future__ import annotations

import doctest
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_checks import flaws

from vase.report import bundle, gallery
from vase.report.gallery import (
    Card,
    card_html,
    collage,
    file_names,
    index_page,
    known_cards,
    renew_gallery,
    renewed,
    write_gallery,
)
from vase.training import RunDirectory

CARD = Card("a.html", "a", "digits → glyphs", "seed 0", "It noticed the change.", "data:image/png;base64,AA==", 512_345)


class Halves:
    """A learner of one environment that decodes everything as grey."""

    states: tuple[int, ...] = ()

    def decode(self, z: Any, environment: int | None = None) -> np.ndarray:
        raise NotImplementedError

    def reconstruct(self, images: Any, environment: int | None = None) -> np.ndarray:
        return np.full(images.shape, 0.5, np.float32)


@pytest.fixture(scope="module")
def files(run: RunDirectory, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_gallery([run.path], tmp_path_factory.mktemp("gallery") / "made")


def test_the_index_links_every_report_with_its_size(files: list[Path]) -> None:
    index, report = files
    text = index.read_text()
    assert re.findall(r'href="\./([^"]+)"', text) == [report.name] == ["run.html"]
    assert "moving digits → inverse digits</a>" in text
    size = report.stat().st_size
    assert size < 500_000
    assert f"120 batches · {size / 1e6:.1f}\u00a0MB" in text
    assert "It noticed" in text or "It missed" in text


def test_reports_that_are_there_can_stay_in_the_index(run: RunDirectory, tmp_path: Path) -> None:
    index, other = tmp_path / "index.html", tmp_path / "a.html"
    other.write_text("a report")
    index.write_text(index_page([card_html(CARD), card_html(replace(CARD, file="gone.html"))]))
    write_gallery([run.path], tmp_path, keep=True)
    cards = known_cards(index)
    assert list(cards) == ["a.html", "run.html"]  # without the one whose report is gone
    assert cards["a.html"] == card_html(CARD)
    write_gallery([run.path], tmp_path, keep=True)
    assert known_cards(index) == cards  # written again in its place
    write_gallery([run.path], tmp_path)
    assert list(known_cards(index)) == ["run.html"]


def test_nothing_comes_from_elsewhere(files: list[Path]) -> None:
    text = files[0].read_text()
    assert "default-src 'none'; img-src data:;" in text
    assert "<script" not in text
    without_pictures = re.sub(r'src="data:[^"]+"', "", text)  # base64 has slashes too
    assert re.findall(r"(?:https?:)?//\w", without_pictures) == []
    assert [address[:5] for address in re.findall(r'src="([^"]+)"', text)] == ["data:"]


def test_titles_are_escaped() -> None:
    wicked = '"><script>alert(1)</script>&'
    text = index_page([card_html(Card("a.html", wicked, wicked, wicked, wicked, "data:,", 1))])
    assert "<script" not in text
    assert text.count("&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;") == 4


def test_cards_stand_in_the_order_given() -> None:
    text = index_page([card_html(CARD), card_html(Card("b.html", "b", "", "", "", "data:,", 42_400))])
    assert re.findall(r'href="\./(\w)\.html"', text) == ["a", "b"]
    assert "seed 0 · 0.5\u00a0MB" in text
    assert " · 42\u00a0kB" in text


def test_names_of_files() -> None:
    assert doctest.testmod(gallery).failed == 0
    with pytest.raises(ValueError, match=r"b/run: its report would be run\.html, as a/run is; rename the folder"):
        file_names(["a/run", "b/run"])
    with pytest.raises(ValueError, match="as the index is"):
        file_names(["runs/index"])
    with pytest.raises(ValueError, match="at least one run"):
        file_names([])


def test_a_report_that_is_too_large_is_refused(
    run: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gallery, "LARGEST", 100_000)
    with pytest.raises(ValueError, match=r"its report has 0\.\d MB, and a gallery takes 0\.1 MB at most"):
        write_gallery([run.path], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_folder(run: RunDirectory, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="name a folder"):
        write_gallery([run.path], tmp_path / "file")


def test_a_collage_has_images_and_what_is_decoded_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four black images of 2×2, a gap of two, four grey ones; 2 rows of 2 pixels with a gap: (5, 24), enlarged."""
    monkeypatch.setattr(gallery, "learner_states", lambda learner: [()])
    monkeypatch.setattr(gallery, "WIDTH", 24)
    black = np.zeros((5, 1, 2, 2), np.uint8)
    sheet = collage(Halves(), {0: black, 1: black})  # type: ignore[arg-type]
    assert sheet.shape == (1, 5, 24)
    row = [0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0]
    assert sheet[0, 0].tolist() == [*row, 1, 1, *(0.5 if value == 0 else 1 for value in row)]
    assert sheet[0, 2].tolist() == [1] * 24
    assert sheet[0, 3].tolist() == [*row, *[1] * 13]  # the learner does not know environment 1
    monkeypatch.setattr(gallery, "WIDTH", 25)
    assert collage(Halves(), {0: black}).shape == (1, 4, 48)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no held-out image"):
        collage(Halves(), {})  # type: ignore[arg-type]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_the_index_in_a_browser(chromium: Any, files: list[Path], scheme: str, width: int) -> None:
    page = chromium.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(files[0].as_uri())
    assert flaws(page) == {}
    assert page.locator(".run img").evaluate("(image) => image.naturalWidth") >= 640
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert complaints == []
    page.locator(".run img").click(force=True)  # the whole card is a link, which lies above the picture
    page.wait_for_url("**/run.html")
    page.close()


def test_a_gallery_is_renewed_from_its_own_data(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    before = {path: path.read_text() for path in files}
    assert renewed(files[0].parent) == before
    monkeypatch.setattr(bundle, "SCRIPTS", bundle.SCRIPTS[:-1])
    assert renewed(files[0].parent)[files[1]] != before[files[1]]
    monkeypatch.undo()
    files[1].write_text(before[files[1]].replace("</style>", "p { color: red }</style>"))
    assert renew_gallery(files[0].parent) == files
    assert {path: path.read_text() for path in files} == before


def test_the_gallery_of_the_site_has_the_present_pages() -> None:
    folder = Path(__file__).parents[2] / "docs/gallery"
    old = [path.name for path, text in renewed(folder).items() if path.read_text(encoding="utf-8") != text]
    assert not old, "other style sheets or scripts: run python tools/gallery.py --out docs/gallery --renew"


def test_only_a_gallery_can_be_renewed(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="name the folder of a gallery"):
        renewed(tmp_path)
    (tmp_path / "index.html").write_text(index_page([card_html(CARD)]))
    (tmp_path / CARD.file).write_text("a page")
    with pytest.raises(ValueError, match=rf"{CARD.file}: cannot be renewed .*write it again from its run"):
        renewed(tmp_path)
