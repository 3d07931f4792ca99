"""Train on a small version of the paper's three-world stream and show what was learnt."""

from __future__ import annotations

import argparse
import os
import sys
import webbrowser
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from vase.cli.options import add_settings, add_shared, given_settings
from vase.training.settings import RunSettings

EXAMPLE = "vase demo --steps 500"
STEPS = 1_200
"""Batches per stage: the whole demo, installation included, takes less than ten minutes on two slow cores."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `vase demo`."""
    add_settings(parser, "steps", "stream", "preset", "seed", "data", "device", "threads", steps=STEPS)
    parser.add_argument(
        "--out",
        metavar="DIR",
        default="runs/demo",
        help="directory of the run; an unfinished demo in it is continued (default: %(default)s)",
    )
    add_shared(parser, "--quiet")


def run(arguments: argparse.Namespace) -> None:
    """Run the demo."""
    demo(arguments.out, demo_settings(**given_settings(arguments)), quiet=arguments.quiet)


def demo_settings(steps: int = STEPS, **values: Any) -> RunSettings:
    """The laptop preset, with probes and checkpoints as often as short stages need."""
    return RunSettings.of(
        values.pop("preset", "laptop"),
        steps=steps,
        probe_every=max(1, steps // 5),
        checkpoint_every=max(1, steps // 4),
        fallback=True,
        **values,
    )


def demo_directory(base: Path, settings: RunSettings, say: Callable[[str], None]) -> tuple[Path, bool]:
    """Where to train, and whether to resume: an unfinished demo is continued, a finished one is never overwritten."""
    from vase.report.build import FILE
    from vase.training import RunDirectory

    for number in count(1):
        directory = RunDirectory(base if number == 1 else base.with_name(f"{base.name}-{number}"))
        try:
            directory.require_free()
            return directory.path, False
        except FileExistsError:
            pass
        try:
            same = not settings.differences(directory.settings())
            drawn = (directory.path / FILE).exists()
            if same and not (drawn and directory.is_complete()):
                return directory.path, True
            say(f"{directory.path} holds {'a finished demo' if same else 'another run'}; it is left as it is")
        except (OSError, ValueError, TypeError):
            say(f"{directory.path} exists and is not a demo that can be continued; it is left as it is")
    raise AssertionError("unreachable")


def demo(
    base: str | os.PathLike[str], settings: RunSettings, *, say: Callable[[str], None] = print, quiet: bool = False
) -> Path:
    """Train, summarise, draw, and open the report; returns the run directory."""
    from vase.plots.run import write_run_figures
    from vase.report.build import write_report
    from vase.training import describe, train
    from vase.training.progress import watcher
    from vase.worlds.spec import StreamSpec

    path, resume = demo_directory(Path(base), settings, say)
    say(f"A learner meets {settings.stream.replace(',', ', then ')}; it is never told when the world changes.")
    say(f"{'Continuing' if resume else 'Training'} in {path}: {settings.steps:,} batches per world.")
    with watcher(quiet) as display:
        found = train(path, settings, resume=resume, callbacks=[display])
    figures, report = write_run_figures(path), write_report(path)
    say(f"\n{describe(found)}\n")
    asked = {str(world) for world, _ in StreamSpec.parse(settings.stream).stages}
    if stand_ins := [source for world, source in found["sources"].items() if world not in asked]:
        names = ", ".join(dict.fromkeys(stand_ins))
        say(f"The real data could not be downloaded; embedded images were used instead: {names}")
    say(f"Figures: {figures[0].parent}" + "".join(f"\n  {figure.name}" for figure in figures))
    say(f"{'Opened' if show(report.resolve().as_uri()) else 'To look at it, and to drag its latents, open'} {report}")
    say("A run of your own: vase train --stream mnist,fashion,mnist --out runs/mine")
    return path


def show(address: str) -> bool:
    """Open a page if there is a display and a terminal; never fails."""
    display = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if not display or not sys.stdout.isatty():
        return False
    try:
        return webbrowser.open(address)
    except Exception:
        return False
