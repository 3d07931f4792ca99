"""`vase demo`: the paper's three-world stream, small, from data to figures."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from itertools import count
from pathlib import Path
from typing import Any

from vase.plots.run import write_run_figures
from vase.training import Callback, RunDirectory, RunSettings, describe, train
from vase.training.settings import THREE_WORLDS

STEPS = 1_200
"""Batches per stage: the whole demo, installation included, takes less than ten minutes on two slow cores."""


def demo_settings(steps: int = STEPS, seed: int = 0, *, stream: str = THREE_WORLDS, **values: Any) -> RunSettings:
    """The laptop preset, with probes and checkpoints as often as short stages need."""
    return RunSettings.of(
        values.pop("preset", "laptop"),
        stream=stream,
        steps=steps,
        seed=seed,
        probe_every=max(1, steps // 5),
        checkpoint_every=max(1, steps // 4),
        fallback=True,
        **values,
    )


def demo_directory(base: Path, settings: RunSettings, say: Callable[[str], None]) -> tuple[Path, bool]:
    """Where to train, and whether to resume: an unfinished demo goes on, a finished one is never overwritten."""
    for number in count(1):
        directory = RunDirectory(base if number == 1 else base.with_name(f"{base.name}-{number}"))
        try:
            directory.require_free()
            return directory.path, False
        except FileExistsError:
            pass
        try:
            same = not settings.differences(directory.settings())
            drawn = (directory.figures_path / "overview.png").exists()
            if same and not (drawn and directory.is_complete()):
                return directory.path, True
            say(f"{directory.path} holds {'a finished demo' if same else 'another run'}; it stays as it is")
        except (OSError, ValueError, TypeError):
            say(f"{directory.path} exists and is no demo that can go on; it stays as it is")
    raise AssertionError("unreachable")


def demo(
    base: str | os.PathLike[str],
    settings: RunSettings,
    *,
    say: Callable[[str], None] = print,
    watch: AbstractContextManager[Callback | None] | None = None,
) -> Path:
    """Train, summarise, draw; returns the run directory. `watch` is entered while training, as a callback."""
    path, resume = demo_directory(Path(base), settings, say)
    say(f"A learner meets {settings.stream.replace(',', ', then ')}; nobody tells it when the world changes.")
    say(f"{'Going on' if resume else 'Training'} in {path}: {settings.steps:,} batches per world.")
    with watch or nullcontext() as display:
        found = train(path, settings, resume=resume, callbacks=[display] if display else [])
    figures = write_run_figures(path)
    say("")
    say(describe(found))
    say("")
    if stand_ins := [source for source in found["sources"].values() if "embedded" in source]:
        say(f"No route to the real data worked; these stood in for it: {', '.join(dict.fromkeys(stand_ins))}")
    say(f"Figures: {figures[0].parent}" + "".join(f"\n  {figure.name}" for figure in figures))
    overview = next((figure for figure in figures if figure.stem == "overview"), figures[0])
    if show(overview):
        say(f"Opened {overview}")
    say("A run of your own: vase train --stream mnist,fashion,mnist --out runs/mine")
    return path


def show(path: Path) -> bool:
    """Open a picture if somebody can see it; never fails."""
    display = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if not display or not sys.stdout.isatty():
        return False
    try:
        return webbrowser.open(path.resolve().as_uri())
    except Exception:
        return False
