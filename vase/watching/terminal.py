"""What a watch shows on a terminal: a timeline that grows, or plain lines, or rows as JSON."""

from __future__ import annotations

import json
import math
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from vase.plots.style import WORLD_COLOURS
from vase.rows import Row
from vase.training.progress import is_interactive
from vase.watching.observer import Observer
from vase.watching.records import Watched, heading

_BARS = "▁▂▃▄▅▆▇█"
_GREY = "#8C8C8C"
_LISTED = 12  # environments in the legend
_RATE_OVER = 20  # batches over which frames per second are measured
_SMALLEST, _FACTOR = 0.25, 2.5  # effect of the second bar, and how many times as much each further bar stands for


def printable(text: str) -> str:
    """A text without control characters, which names of files may hold.

    >>> printable("a\\x1b[2Jb.png")
    'a�[2Jb.png'
    """
    return "".join(letter if letter.isprintable() else "�" for letter in text)


def told(seen: Watched) -> str | None:
    """A switch in words; None if there is none to tell."""
    if seen.change is None:
        return None
    place = f"{_place(seen.label, seen.time)}; since about {_place(seen.since, seen.since_time)}"
    return printable(f"{heading(seen.change)} [{place}]: {seen.change.sentence}")


def _place(label: str | None, moment: str | float | None) -> str:
    if isinstance(moment, float | int):
        moment = f"{int(moment) // 60}:{moment % 60:04.1f}"
    return f"{label}" if moment is None else f"{label}, {moment}"


class Lines(Observer):
    """Plain lines: one per switch and note, and one every `every` batches."""

    def __init__(self, every: int = 100, stream: TextIO | None = None) -> None:
        self.every, self.stream = every, stream or sys.stdout

    def on_start(self, source: str, step: int) -> None:
        """Say what is watched."""
        self.on_note(f"watching {source}" + (f", resumed after {step:,} batches" if step else ""))

    def on_note(self, text: str) -> None:
        """One line."""
        print(printable(text), file=self.stream, flush=True)

    def on_step(self, seen: Watched) -> None:
        """A switch, or the numbers of a batch now and then."""
        if (text := told(seen)) is not None:
            self.on_note(text)
        elif seen.step % self.every == 0:
            self.on_note(status(seen))


class JsonLines(Observer):
    """Rows as JSON lines, without example images; notes go to standard error."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout

    def on_note(self, text: str) -> None:
        """One line."""
        print(printable(text), file=sys.stderr, flush=True)

    def on_row(self, row: Row) -> None:
        """One row."""
        change = row.get("change")
        if change:
            row = row | {"change": {name: value for name, value in change.items() if name not in ("before", "after")}}
        print(json.dumps(row, allow_nan=False), file=self.stream, flush=True)


class Timeline(Observer):
    """A live timeline: the environment of every batch as a coloured strip, and how strange the last batches were."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console()
        self._live = Live(console=self.console, refresh_per_second=4)
        self._source = ""
        self._periods: list[tuple[int, int]] = []  # (first batch, environment)
        self._effects: deque[float] = deque(maxlen=400)
        self._batches: Counter[int] = Counter()
        self._clock: deque[tuple[float, int]] = deque(maxlen=_RATE_OVER)

    def on_start(self, source: str, step: int) -> None:
        """Begin to draw."""
        self._source = printable(source)
        self._live.update(Text(f"watching {self._source}: waiting for the first batch", style="bold"))
        self._live.start()

    def on_note(self, text: str) -> None:
        """A line above the timeline."""
        self.console.print(Text(printable(text)))

    def on_step(self, seen: Watched) -> None:
        """Draw again."""
        if (text := told(seen)) is not None:
            self.console.print(Text(text, style="bold"))
        if not self._periods or self._periods[-1][1] != seen.environment:
            self._periods.append((seen.step, seen.environment))
        self._effects.append(seen.effect)
        self._batches[seen.environment] += 1
        self._clock.append((time.perf_counter(), seen.frames))
        self._live.update(self.picture(seen))

    def close(self) -> None:
        """Leave the last picture on the screen."""
        self._live.stop()

    def picture(self, seen: Watched) -> Group:
        """The timeline as it is now."""
        width = max(10, self.console.width - 2)
        head = Text.assemble((f"watching {self._source}  ", "bold"), status(seen), self._rate())
        recent = list(self._effects)[-width:]
        curve = Text(sparkline(recent), style=_GREY)
        legend = Text("  ").join(
            Text.assemble(("█ ", colour(s)), f"{'unknown' if s < 0 else s}: {count:,}")
            for s, count in self._batches.most_common(_LISTED)
        )
        words = Text(f"distance of the last {len(recent)} batches from their environment", style=_GREY)
        return Group(head, strip(self._periods, seen.step, width), legend, curve, words)

    def _rate(self) -> str:
        (begin, first), (end, last) = self._clock[0], self._clock[-1]
        return f", {(last - first) / (end - begin):,.0f} frames/s" if end > begin else ""


def strip(periods: list[tuple[int, int]], last: int, width: int) -> Text:
    """The environments since the first batch, one cell for as many batches as are needed.

    >>> strip([(1, 0), (5, 1)], 8, 4).plain, [str(span.style) for span in strip([(1, 0), (5, 1)], 8, 4).spans]
    ('████', ['#0072B2', '#0072B2', '#D55E00', '#D55E00'])
    """
    first = periods[0][0]
    cells = min(width, last - first + 1)
    text = Text()
    for cell in range(cells):
        batch = first + (2 * cell + 1) * (last - first + 1) // (2 * cells)  # the middle of the cell
        environment = next(s for start, s in reversed(periods) if start <= batch)
        text.append("█", style=colour(environment))
    return text


def sparkline(values: Iterable[float]) -> str:
    """Values as bars on a logarithmic scale; a blank where nothing was measured.

    The bars begin at 0, 0.25, 0.63, 1.6, 3.9, 9.8, 24 and 61 standard deviations.

    >>> sparkline([0.0, 0.5, 2.0, 100.0, float("nan")])
    '▁▂▄█ '
    """

    def bar(value: float) -> str:
        if math.isnan(value):
            return " "
        level = 0 if value < _SMALLEST else 1 + int(math.log(value / _SMALLEST, _FACTOR))
        return _BARS[min(level, len(_BARS) - 1)]

    return "".join(bar(value) for value in values)


def colour(environment: int) -> str:
    """The colour of an environment."""
    return _GREY if environment < 0 else WORLD_COLOURS[environment % len(WORLD_COLOURS)]


def status(seen: Watched) -> str:
    """The numbers of a batch."""
    where = "unknown" if seen.unknown else f"environment {seen.environment}"
    parts = [f"batch {seen.step:,}", f"{seen.frames:,} frames", where + (" (a batch is held)" if seen.held else "")]
    if seen.broken:
        parts.append(f"{seen.broken:,} broken")
    if math.isfinite(seen.loss):
        parts.append(f"loss {seen.loss:.1f}")
    return ", ".join(parts)


def terminal(*, json_lines: bool = False, quiet: bool = False) -> Observer:
    """What suits where the output goes."""
    if json_lines:
        return JsonLines()
    return Lines() if quiet or not is_interactive() else Timeline()
