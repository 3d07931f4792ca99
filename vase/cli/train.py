"""Train a learner on a stream of worlds; it is never told when one ends and the next begins."""

from __future__ import annotations

import argparse
import dataclasses
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from vase.cli.options import add_settings, add_shared, given_settings, new_settings
from vase.training.settings import THREE_WORLDS
from vase.worlds.spec import StreamSpec

EXAMPLE = f"vase train --stream {THREE_WORLDS} --preset laptop --set capacity.gamma=7 --out runs/mine"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `vase train`."""
    add_settings(parser)
    parser.add_argument("--out", metavar="DIR", help="directory of the run (default: runs/STREAM-PRESET-seedSEED)")
    parser.add_argument(
        "--resume", action="store_true", help="continue the run in --out, with the settings it was started with"
    )
    parser.add_argument("--tensorboard", action="store_true", help="also write scalars to DIR/tensorboard")
    add_shared(parser, "--quiet")


def run(arguments: argparse.Namespace) -> None:
    """Train or resume a run."""
    from vase.training import RunDirectory, describe, train
    from vase.training.progress import TensorBoard, watcher

    given = given_settings(arguments)
    out = Path(arguments.out) if arguments.out else _default_directory(given)
    settings = dataclasses.replace(RunDirectory(out).settings(), **given) if arguments.resume else new_settings(given)
    board = TensorBoard(out / "tensorboard") if arguments.tensorboard else nullcontext()
    with watcher(arguments.quiet) as display, board as scalars:
        callbacks = [callback for callback in (display, scalars) if callback is not None]
        found = train(out, settings, resume=arguments.resume, callbacks=callbacks)
    print(f"\n{describe(found)}\n\nRun: {out}. Figures: vase figures {out}")


def _default_directory(given: dict[str, Any]) -> Path:
    """runs/STREAM-PRESET-SEED, readable and safe as the name of a folder."""
    stream = StreamSpec.parse(given.get("stream", THREE_WORLDS)).slug[:80]
    return Path("runs") / f"{stream}-{given.get('preset', 'laptop')}-seed{given.get('seed', 0)}"
