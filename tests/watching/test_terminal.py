"""What a watch shows: a timeline, plain lines, or rows."""

from __future__ import annotations

import io
import json

import pytest
from films import DAY, NIGHT, film
from rich.console import Console

from vase.watching.session import watch
from vase.watching.settings import WatchSettings
from vase.watching.terminal import JsonLines, Lines, Timeline, colour, sparkline, strip, terminal

SETTINGS = WatchSettings(learner="monitor", size=16, batch_size=16, overrides={"environments.patience": 3})
SCENES = ((DAY, 192), (NIGHT, 96))  # 12 batches and 6; the night is announced with batch 15


def test_lines_tell_switches_and_numbers_now_and_then() -> None:
    out = io.StringIO()
    list(watch(film(*SCENES), settings=SETTINGS, observers=[Lines(every=9, stream=out)]))
    lines = out.getvalue().splitlines()
    assert lines[0] == "watching arrays"
    assert lines[1] == "batch 9, 144 frames, environment 0"
    assert lines[2].startswith("batch 15: environment 0 → 1 (new) [frame 240; since about frame 193]: darker")
    assert lines[3] == "batch 18, 288 frames, environment 1"


def test_rows_as_json_have_no_images() -> None:
    out = io.StringIO()
    list(watch(film(*SCENES), settings=SETTINGS, observers=[JsonLines(out)]))
    rows = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [row["kind"] for row in rows].count("step") == 18
    change = next(row["change"] for row in rows if row["kind"] == "switch" and row["change"])
    assert change["sentence"].startswith("darker")
    assert "before" not in change


def test_the_timeline_has_a_cell_per_batch_in_the_colour_of_its_environment() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system="truecolor")
    shown = Timeline(console)
    steps = list(watch(film(*SCENES), settings=SETTINGS, observers=[shown]))
    head, cells, legend, curve, words = shown.picture(steps[-1]).renderables
    assert "batch 18, 288 frames, environment 1" in head.plain
    assert [str(span.style) for span in cells.spans] == [colour(0)] * 14 + [colour(1)] * 4
    assert legend.plain == "█ 0: 14  █ 1: 4"
    assert len(curve.plain) == 18
    assert "last 18 batches" in words.plain
    assert "environment 0 → 1 (new)" in console.file.getvalue()


def test_a_long_watch_is_squeezed_into_the_width() -> None:
    """1,000 batches in 10 cells: the change after 500 is in the middle."""
    cells = strip([(1, 0), (501, 1)], 1000, 10)
    assert [str(span.style) for span in cells.spans] == [colour(0)] * 5 + [colour(1)] * 5


def test_bars_are_logarithmic() -> None:
    """Each bar begins at 2.5 times the one before: 0.25, 0.625, 1.5625, 3.9, 9.8, 24.4, 61."""
    assert sparkline([0, 0.24, 0.26, 0.63, 1.57, 4, 10, 25, 62, 1e9, float("nan")]) == "▁▁▂▃▄▅▆▇██ "


def test_names_of_files_cannot_write_to_the_terminal() -> None:
    out = io.StringIO()
    Lines(stream=out).on_note("a\x1b]0;title\x07.png is skipped")
    assert out.getvalue() == "a�]0;title�.png is skipped\n"


def test_what_is_shown_suits_the_output(monkeypatch: pytest.MonkeyPatch) -> None:
    assert type(terminal()) is Lines  # no terminal here
    assert type(terminal(json_lines=True)) is JsonLines
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert type(terminal(quiet=True)) is Lines
