"""Train a learner on a stream of worlds; it is never told when one ends and the next begins."""

from __future__ import annotations

import argparse
import dataclasses
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from vase.cli.options import add_settings, add_shared, given_settings, new_settings
from vase.cli.parsing import whole_number
from vase.training.settings import THREE_WORLDS, RunSettings
from vase.worlds.spec import StreamSpec

LATEST = "latest"
"""What --from calls the newest checkpoint."""
EXAMPLE = f"vase train --stream {THREE_WORLDS} --preset laptop --set capacity.gamma=7 --out runs/mine"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `vase train`."""
    add_settings(parser)
    parser.add_argument("--out", metavar="DIR", help="directory of the run (default: runs/STREAM-PRESET-seedSEED)")
    parser.add_argument(
        "--resume",
        action="store_true",
        help="continue the run in --out, with the settings it was started with; --checkpoint-every, --keep, --threads, "
        "--device and --data may be given anew, and --steps or --stream with other lengths of stages to come",
    )
    parser.add_argument(
        "--from",
        dest="fork_step",
        type=_step,
        metavar="STEP",
        help="with --resume: leave the run in --out as it is, and continue its checkpoint of this step, or 'latest', "
        "as a new run beside it; --set may change hyperparameters, e.g. --set learning_rate=5e-4",
    )
    parser.add_argument("--tensorboard", action="store_true", help="also write numbers and pictures to DIR/tensorboard")
    parser.add_argument("--wandb", metavar="PROJECT", help="also send numbers and pictures to Weights & Biases")
    parser.add_argument("--mlflow", metavar="EXPERIMENT", help="also send numbers and pictures to MLflow")
    add_shared(parser, "--quiet")


def run(arguments: argparse.Namespace) -> None:
    """Train, resume or fork a run."""
    from vase.training import RunDirectory, describe, fork, train
    from vase.training.progress import watcher

    given = given_settings(arguments)
    out = Path(arguments.out) if arguments.out else _default_directory(given)
    started = RunDirectory(out).settings() if arguments.resume else None
    settings: RunSettings | None = new_settings(given) if started is None else _resumed_settings(started, given)
    if arguments.fork_step is not None:
        _require_fork(arguments.resume)
        step = None if arguments.fork_step == LATEST else arguments.fork_step
        out, settings = fork(out, settings, step=step, note=print), None
        print(f"forked: the new run is {out}", flush=True)
    with ExitStack() as stack:
        callbacks = [stack.enter_context(one) for one in (*_trackers(arguments, out), watcher(arguments.quiet))]
        found = train(out, settings, resume=arguments.resume, callbacks=callbacks)
    print(f"\n{describe(found)}\n\nRun: {out}. Report: vase report {out}. Figures: vase figures {out}")


def _trackers(arguments: argparse.Namespace, out: Path) -> list[Any]:
    """The trackers that the command line asks for."""
    from vase.training.trackers import MLflow, TensorBoard, WandB

    wanted: list[Any] = [TensorBoard(out / "tensorboard")] if arguments.tensorboard else []
    wanted += [WandB(arguments.wandb)] if arguments.wandb else []
    return wanted + ([MLflow(arguments.mlflow)] if arguments.mlflow else [])


def _resumed_settings(started: RunSettings, given: dict[str, Any]) -> RunSettings:
    """The settings of a run with what is given anew; values of --set join those it was started with."""
    joined = {"overrides": {**started.overrides, **given["overrides"]}} if "overrides" in given else {}
    return dataclasses.replace(started, **{**given, **joined})


def _step(text: str) -> int | str:
    """Parse the step of a checkpoint."""
    return LATEST if text == LATEST else whole_number(text)


def _require_fork(resume: bool) -> None:
    """Refuse a fork of nothing, or by several workers, each of which would make one."""
    if not resume:
        raise ValueError("--from continues a run: name it with --out and add --resume.")
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ValueError("--from with several workers: fork in one process, then resume the new run with torchrun.")


def _default_directory(given: dict[str, Any]) -> Path:
    """runs/STREAM-PRESET-SEED, readable and safe as the name of a folder."""
    stream = StreamSpec.parse(given.get("stream", THREE_WORLDS)).slug[:80]
    return Path("runs") / f"{stream}-{given.get('preset', 'laptop')}-seed{given.get('seed', 0)}"
