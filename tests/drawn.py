"""What a reader of a figure sees: its words, none of them cut off or written over another."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text


def texts(figure: Figure) -> list[Text]:
    """Texts that are really drawn (matplotlib keeps labels of ticks outside the view, too)."""
    drawn: dict[int, Text] = {}
    draw = Text.draw

    def record(self: Text, *args: Any, **kwargs: Any) -> None:
        drawn[id(self)] = self
        draw(self, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Text, "draw", record)
        FigureCanvasAgg(figure).draw()
    return [text for text in drawn.values() if text.get_text().strip()]


def words(figure: Figure) -> str:
    """All of them, line by line."""
    return "\n".join(text.get_text() for text in texts(figure))


def assert_readable(figure: Figure, *, slanted: bool = False) -> str:
    """No text lies on another or leaves the page; returns the words.

    With `slanted`, slanted texts are left out: the boxes around them overlap where they do not.
    """
    page = figure.bbox.padded(1)
    shown = texts(figure)
    upright = [text for text in shown if not slanted or text.get_rotation() % 90 == 0]
    boxes = [(text.get_text(), text.get_window_extent().padded(-1)) for text in upright]
    boxes = [(text, box) for text, box in boxes if box.width > 0 and box.height > 0]
    for text, box in boxes:
        inside = page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1
        assert inside, f"{text!r} is cut off"
    for (one, a), (other, b) in combinations(boxes, 2):
        assert not a.overlaps(b), f"{one!r} lies on {other!r}"
    return "\n".join(text.get_text() for text in shown)
