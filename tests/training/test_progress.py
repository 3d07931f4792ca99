"""Progress of a run: lines in a log, a live display."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import numpy as np
from rich.console import Console

from vase.learners.records import Step
from vase.training.progress import Display, Lines, Watcher


def at(step: int, **values: Any) -> Any:
    """A run of 1000 steps with two environments."""
    return SimpleNamespace(**{"step": step, "total": 1000, "world": "digits", "environments": 2, **values})


def a_step(step: int, loss: float = 12.34) -> Step:
    return Step(
        step,
        environment=1,
        held=bool(np.isnan(loss)),
        loss=loss,
        reconstruction=10.0,
        deviance=5.0,
        kl=2.5,
        capacity=3.0,
        dream_encoder=0.0,
        dream_decoder=0.0,
        classifier=0.1,
        atypicality=np.zeros(3, np.float32),
        mask=np.array([True, True, False]),
    )


def a_switch(step: int, **values: object) -> dict[str, Any]:
    row = {
        "kind": "switch",
        "step": step,
        "world": "digits",
        "from": 0,
        "environment": 1,
        "is_new": True,
        "delay": 4,
        "false_alarm": False,
        "reasons": ["loss 95.2 is 3.13 times that of environment 0 (30.4), more than κ = 1.5"],
    }
    return {**row, **values}


SENTENCE = (
    "step 504: new environment 1 (4 batches after the world changed to digits): "
    "loss 95.2 is 3.13 times that of environment 0 (30.4), more than κ = 1.5"
)


def test_quiet_lines_are_one_per_500_steps_and_the_switches() -> None:
    stream = io.StringIO()
    lines = Lines(every=500, stream=stream)
    lines.on_start(at(0))
    for step in range(1, 1001):
        lines.on_step(at(step), a_step(step, loss=float("nan") if step == 500 else 12.34))
        if step == 504:
            lines.on_row(at(step), a_switch(step))
    first, switch, last = stream.getvalue().splitlines()
    assert first.startswith(
        "step 500/1,000 (digits): loss 12.3, reconstruction 10.0, KL 2.5 against C 3.0, "
        "environment 1 (2 known), latents 2 active 1 masked, "
    )
    assert switch == SENTENCE
    assert last.startswith("step 1,000/1,000")


def test_lines_of_a_learner_that_tells_little() -> None:
    stream = io.StringIO()
    lines = Lines(every=1, stream=stream)
    run = at(1000, environments=0)
    lines.on_start(run)
    lines.on_step(run, Step(1000, loss=3.0))
    lines.on_step(run, Step(1000))
    assert stream.getvalue().splitlines() == [
        "resuming from step 1,000 of 1,000",
        "step 1,000/1,000 (digits): loss 3.0",
        "step 1,000/1,000 (digits): loss 3.0",
    ]


def test_notes_and_switches_in_words() -> None:
    stream = io.StringIO()
    lines = Lines(stream=stream)
    lines.on_note("digits stand in for mnist")
    lines.on_row(at(1), a_switch(1, **{"from": None}))
    lines.on_row(at(7), a_switch(7, is_new=False, delay=1, reasons=[]))
    lines.on_row(at(9), a_switch(9, false_alarm=True, delay=None, reasons=[]))
    lines.on_row(at(9), {"kind": "mine"})
    assert stream.getvalue().splitlines() == [
        "digits stand in for mnist",
        "step 7: back in environment 1 (1 batch after the world changed to digits)",
        "step 9: new environment 1 (false alarm: the world is still digits)",
    ]


def test_what_changed_is_said_before_the_reasons() -> None:
    stream = io.StringIO()
    lines = Lines(stream=stream)
    change = {"sentence": "darker by 48 %, bluer; nearest known environment: 0, distance 0.47"}
    lines.on_row(at(1504), a_switch(1504, change=change, reasons=["loss 2.40 times that of environment 0", "other"]))
    lines.on_row(at(1600), a_switch(1600, change=change, is_new=False, delay=1, reasons=[]))
    lines.on_row(at(504), a_switch(504, change=None))
    assert stream.getvalue().splitlines() == [
        "step 1,504: new environment 1 (4 batches after the world changed to digits): "
        "darker by 48 %, bluer; nearest known environment: 0, distance 0.47",
        "  reasons: loss 2.40 times that of environment 0; other",
        "step 1,600: back in environment 1 (1 batch after the world changed to digits): "
        "darker by 48 %, bluer; nearest known environment: 0, distance 0.47",
        SENTENCE,
    ]


def test_live_display_prints_switches_above_the_bar() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=200, color_system=None)
    with Display(console) as display:
        display.on_start(at(0))
        display.on_step(at(503), a_step(503))
        display.on_row(at(504), a_switch(504))
        display.on_step(at(504), a_step(504))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert SENTENCE in text
    assert "504/1000" in text
    assert "KL 2.5 against C 3.0" in text
    assert text.index(SENTENCE) < text.rindex("504/1000")


def test_a_watcher_of_your_own_says_where_its_lines_go() -> None:
    class Collect(Watcher):
        def __init__(self) -> None:
            self.lines: list[str] = []

        def print(self, text: str) -> None:
            self.lines.append(text)

    with Collect() as mine:
        mine.on_start(at(3))
    assert mine.lines == ["resuming from step 3 of 1,000"]
