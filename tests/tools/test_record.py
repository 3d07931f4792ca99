"""The recorder: how frames become a GIF. The film itself needs a run, a browser and a minute."""

from __future__ import annotations

import doctest
import importlib.util
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("record", ROOT / "tools" / "record.py")
assert spec is not None
assert spec.loader is not None
record = importlib.util.module_from_spec(spec)
spec.loader.exec_module(record)


def frame(*colours: tuple[int, int, int]) -> Image.Image:
    """Stripes of 10 pixels."""
    return Image.fromarray(np.array([colours], np.uint8).repeat(10, 0).repeat(10, 1))


RED, BLUE = (200, 0, 0), (0, 0, 200)


def test_places_of_a_drag() -> None:
    assert doctest.testmod(record) == (0, 1)


def test_frames_become_a_film_that_loops() -> None:
    film = Image.open(io.BytesIO(record.assemble([frame(RED, RED), frame(RED, BLUE), frame(BLUE, BLUE)], duration=80)))
    assert (film.format, film.size, film.n_frames) == ("GIF", (20, 10), 3)
    assert film.info["loop"] == 0
    shown = []
    for i in range(3):
        film.seek(i)
        assert film.info["duration"] == 80
        pixels = film.convert("RGB")
        shown.append((pixels.getpixel((0, 0)), pixels.getpixel((19, 9))))
    assert shown == [(RED, RED), (RED, BLUE), (BLUE, BLUE)]


def test_equal_frames_are_stored_once() -> None:
    film = Image.open(io.BytesIO(record.assemble([frame(RED)] * 3 + [frame(BLUE)], duration=80)))
    assert film.n_frames == 2
    assert film.info["duration"] == 240


def test_colours_are_given_up_for_size() -> None:
    rng = np.random.default_rng(0)
    frames = [Image.fromarray(rng.integers(0, 256, (60, 60, 3), np.uint8)) for _ in range(3)]
    rich = record.assemble(frames)
    poor = record.assemble(frames, largest=len(rich) - 1)
    assert len(poor) < len(rich)
    colours = [len(Image.open(io.BytesIO(made)).convert("RGB").getcolors()) for made in (rich, poor)]
    assert colours[0] > 64 >= colours[1]
    with pytest.raises(ValueError, match=r"3 frames take 0\.0 MB in 32 colours, and 0\.0001 MB are allowed"):
        record.assemble(frames, largest=100)


def test_no_frame_is_no_film() -> None:
    with pytest.raises(ValueError, match="no frame"):
        record.assemble([])
