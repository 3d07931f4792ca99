"""The file: where it goes, what is in it, and that nothing in it can break out of its place."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from vase.cli import make_parser
from vase.cli.options import given_settings, new_settings
from vase.report import build
from vase.report.build import write_report
from vase.report.bundle import SCRIPTS, STYLES, page, source
from vase.report.facts import commands
from vase.report.pictures import data_uri
from vase.report.tables import rows_of
from vase.training import RunDirectory, RunSettings
from vase.training.lock import LostDirectory

PAGE = Path(__file__).parents[2] / "vase" / "report" / "page"


def data_of(text: str) -> dict[str, object]:
    return json.loads(re.findall(r'id="data">(.*?)</script>', text, re.DOTALL)[0])


def test_the_report_stands_in_the_folder_of_the_run(run: RunDirectory, report: Path) -> None:
    assert report == run.path / "report.html"
    assert report.stat().st_size < 500_000
    data = data_of(report.read_text())
    assert data["title"] == "moving digits → inverse digits"
    assert len(data["environments"]) == 2
    assert len(data["live"]["images"]) == 16
    assert sorted(data["live"]["order"]) == list(range(10))


def test_no_report_is_written_into_a_run_that_took_the_place_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    path.mkdir()

    def take_its_place(run_dir: Path, data: str | None) -> tuple[dict[str, str]]:
        path.rename(tmp_path / "gone")
        path.mkdir()
        return ({"title": "the run before"},)

    monkeypatch.setattr(build, "open_report", take_its_place)
    with pytest.raises(LostDirectory):
        write_report(path)
    assert not list(path.iterdir())


def test_nothing_is_fetched(report: Path) -> None:
    text = report.read_text()
    modules = re.findall(r"(?:src|href)=", text)
    assert modules == []
    assert set(re.findall(r"https?://[^\"' ]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in text


def test_a_folder_is_no_file(run: RunDirectory, tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="is a folder; name a file"):
        write_report(run.path, tmp_path)


def test_a_name_cannot_end_the_script() -> None:
    wicked = "</script><script>alert(1)</script>"
    text = page(wicked, {"name": wicked})
    assert "alert(1)</script>" not in text
    assert data_of(text) == {"name": wicked}


def test_every_file_of_the_page_is_used() -> None:
    used = {*(f"{name}.js" for name in SCRIPTS), *(f"{name}.css" for name in STYLES), "main.js", "report.html"}
    assert {path.name for path in PAGE.iterdir()} == used | {"gallery.html", "gallery.css"}
    for name in SCRIPTS:
        imported = re.findall(r'from "vase/(\w+)\.js"', source(f"{name}.js"))
        assert set(imported) <= set(SCRIPTS)


@pytest.mark.parametrize(
    "settings",
    [
        RunSettings.of("laptop", steps=600),
        RunSettings.of("smoke", stream="digits,glyphs*50", seed=3, measures=True, overrides={"capacity.gamma": "7"}),
        RunSettings.of("smoke", stream="digits", imagination="digits", imagination_share=0.25, imagination_ramp=5),
        RunSettings.of("smoke", learner="random_projection:RandomProjection", overrides={"learner.size": "4"}),
    ],
)
def test_the_command_repeats_the_run(settings: RunSettings) -> None:
    train, again = commands(settings)
    words = shlex.split(train)
    arguments = make_parser().parse_args(words[1:])
    assert new_settings(given_settings(arguments)) == settings
    assert again == "vase report runs/again"


def test_pictures_of_one_and_three_channels() -> None:
    for channels in (1, 3):
        assert data_uri(np.zeros((channels, 4, 4), np.uint8)).startswith("data:image/png;base64,")


def test_a_configuration_in_lines() -> None:
    assert rows_of({"a": {"b": 1, "c": {}}, "d": [1, 2]}) == [("a.b", "1"), ("a.c", "{}"), ("d", "[1, 2]")]


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_can_be_read(theme: int) -> None:
    colours = [dict(re.findall(r"--(\w+): (#\w{6})", part)) for part in source("base.css").split("@media")][theme]
    for text in ("ink", "soft", "accent"):
        for ground in ("paper", "surface", "faint"):
            light, dark = sorted((luminance(colours[text]), luminance(colours[ground])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (text, ground)
