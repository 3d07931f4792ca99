"""The command line: arguments in, calls out. Everything it does can be done from Python as well."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import vase
from vase.cli import bench, experiment
from vase.cli.demo import STEPS, demo, demo_settings
from vase.distributed import silence_other_ranks
from vase.machine import keep_memory
from vase.plots.run import write_run_figures
from vase.sweeps import run_many
from vase.sweeps.backends import BACKENDS
from vase.sweeps.grid import grid, read_seeds, read_vary, table
from vase.sweeps.progress import sweep_watcher
from vase.sweeps.runner import failures
from vase.training import Callback, RunDirectory, RunSettings, describe, train
from vase.training.progress import TensorBoard, watcher
from vase.training.settings import THREE_WORLDS
from vase.training.sources import pictured, whole_path
from vase.training.summary import summary
from vase.worlds import DataUnavailable
from vase.worlds.rooms import WORLDS
from vase.worlds.sources import FACES_VARIABLE, NAMES, fetch, status

USER_ERRORS = (ValueError, TypeError, OSError, DataUnavailable, FloatingPointError, ModuleNotFoundError)
"""What wrong input or a machine in trouble leads to; each message says what to do."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    silence_other_ranks()
    arguments = _parser().parse_args(argv)
    keep_memory()
    try:
        return int(arguments.run(arguments) or 0)
    except KeyboardInterrupt as stop:
        print(f"\n{stop or 'stopped'}", flush=True)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except USER_ERRORS as error:
        if arguments.traceback:
            raise
        print(f"vase: error: {error}", file=sys.stderr)
        return 2


# ------------------------------------------------------------------------------------------------------------ commands


def _demo(arguments: argparse.Namespace) -> None:
    given = {name: getattr(arguments, name) for name in ("data", "device", "threads", "preset")}
    settings = demo_settings(arguments.steps, arguments.seed, stream=arguments.stream, **given)
    demo(arguments.out, settings, watch=watcher(arguments.quiet))


def _data_list(arguments: argparse.Namespace) -> None:
    rows = status()
    width = max(len(f"{row.name} {row.split}") for row in rows)
    for row in rows:
        print(f"{f'{row.name} {row.split}'.ljust(width)}  {row.state}  ({row.where})")


def _data_fetch(arguments: argparse.Namespace) -> None:
    fetch(arguments.names or ("mnist", "fashion"))


def _train(arguments: argparse.Namespace) -> None:
    given = _given(arguments)
    out = Path(arguments.out) if arguments.out else _default_directory(given)
    if arguments.resume:
        settings = dataclasses.replace(RunDirectory(out).settings(), **given)
    else:
        settings = RunSettings.of(given.pop("preset", "laptop"), **given)
    with ExitStack() as stack:
        callbacks: list[Callback] = [stack.enter_context(watcher(arguments.quiet))]
        if arguments.tensorboard:
            callbacks.append(stack.enter_context(TensorBoard(out / "tensorboard")))
        found = train(out, settings, resume=arguments.resume, callbacks=callbacks)
    print(f"\n{describe(found)}\n\nRun: {out}. Figures: vase figures {out}")


def _sweep(arguments: argparse.Namespace) -> int:
    given = _given(arguments)
    settings = RunSettings.of(given.pop("preset", "laptop"), **given)
    cells = grid(Path(arguments.out), settings, read_seeds(arguments.seeds), read_vary(arguments.vary or []))
    if arguments.dry_run:
        words = {"new": "to do", "started": "to go on with", "done": "finished"}
        for cell in cells:
            print(f"{cell.path}: {words[cell.progress()]}")
        return 0
    with sweep_watcher(arguments.quiet) as watch:
        outcomes = run_many(
            cells,
            jobs=arguments.jobs,
            backend=arguments.backend,
            address=arguments.address,
            on_progress=watch,
            on_note=print,
        )
    print(f"\n{table(outcomes)}\n\nRuns: {arguments.out}. One of them: vase summary {cells[0].path}")
    failed = failures(outcomes, traces=arguments.traceback)
    for line in failed:
        print(line, file=sys.stderr)
    return 1 if failed else 0


def _summary(arguments: argparse.Namespace) -> None:
    found = summary(arguments.directory)
    print(json.dumps(found, indent=1) if arguments.json else describe(found))


def _figures(arguments: argparse.Namespace) -> None:
    for path in write_run_figures(arguments.directory, data=arguments.data):
        print(path)


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings of a run that were given."""
    names = (field.name for field in dataclasses.fields(RunSettings))
    given: dict[str, Any] = {name: getattr(arguments, name, None) for name in names}
    given = {name: value for name, value in given.items() if value is not None}
    starting, faces = not getattr(arguments, "resume", False), os.environ.get(FACES_VARIABLE)
    if starting and faces and "faces" in pictured(given.get("stream", "")):
        given.setdefault("faces", faces)
    given |= {name: whole_path(given[name]) for name in ("data", "faces", "frames") if given.get(name)}
    if arguments.set:
        given["overrides"] = dict(_assignment(text) for text in arguments.set)
    return given


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise ValueError(f"--set {text}: write field=value, e.g. --set capacity.gamma=7.")
    return name.strip(), value.strip()


def _default_directory(given: dict[str, Any]) -> Path:
    """runs/STREAM-PRESET-SEED, readable and safe as the name of a folder."""
    stream = re.sub(r"[^\w.+-]+", "_", given.get("stream", THREE_WORLDS).replace(",", "+")).strip("_")
    return Path("runs") / f"{stream[:80]}-{given.get('preset', 'laptop')}-seed{given.get('seed', 0)}"


# ----------------------------------------------------------------------------------------------------------- arguments


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="vase",
        description="VASE: one disentangled representation, learnt for life from a stream that shifts without notice.",
        epilog="example: vase demo",
    )
    parser.add_argument("--version", action="version", version=f"vase {vase.__version__}")
    parser.add_argument("--traceback", action="store_true", help="show where an error comes from, for bug reports")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _demo_arguments(commands)
    data = commands.add_parser("data", help="the datasets: where they are, and fetching them")
    actions = data.add_subparsers(title="actions", metavar="ACTION", required=True)
    _command(
        actions, "list", _data_list, "Say where each dataset is and whether its content is right.", "vase data list"
    )
    fetcher = _command(actions, "fetch", _data_fetch, "Fetch datasets into the cache.", "vase data fetch mnist")
    fetcher.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"of {', '.join((*NAMES, *WORLDS))} (default: mnist fashion); outdoors and indoors are rendered; "
        "faces: the 400 ORL faces; with VASE_FACES=DIR in the environment the pictures in that folder, e.g. CelebA, "
        "take their place, and nothing needs fetching",
    )
    _train_arguments(commands)
    _sweep_arguments(commands)
    figures = _command(
        commands,
        "figures",
        _figures,
        "Draw the figures of a run from what it saved.",
        "vase figures runs/demo",
    )
    figures.add_argument("directory", metavar="RUN", help="directory of the run")
    figures.add_argument("--data", metavar="DIR", help="folder with the datasets' idx files, tried first")
    found = _command(commands, "summary", _summary, "Say what a run found.", "vase summary runs/demo")
    found.add_argument("directory", metavar="RUN", help="directory of the run")
    found.add_argument("--json", action="store_true", help="all numbers, as JSON")
    text = "Measure how fast the learner is on this machine, against a bare VAE, a plain reference and other libraries."
    bench.arguments(_command(commands, "bench", bench.main, text, "vase bench --quick"))
    experiment.arguments(
        commands.add_parser("experiment", help="the paper's experiments: run them, print tables, draw figures")
    )
    return parser


def _command(commands: Any, name: str, run: Any, text: str, example: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=text[0].lower() + text[1:].rstrip("."),
        description=text,
        epilog=f"example: {example}",
    )
    parser.set_defaults(run=run)
    return parser


def _demo_arguments(commands: Any) -> None:
    text = "Train on the paper's three-world stream, small, and show what was learnt; an unfinished demo goes on."
    parser = _command(commands, "demo", _demo, text, "vase demo --steps 500")
    parser.add_argument("--steps", type=int, default=STEPS, help="batches per world (default: %(default)s)")
    parser.add_argument("--stream", default=THREE_WORLDS, help="worlds in order (default: %(default)s)")
    parser.add_argument("--preset", default="laptop", help="laptop, paper or smoke (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(default: %(default)s)")
    parser.add_argument("--out", default="runs/demo", help="directory of the run (default: %(default)s)")
    parser.add_argument("--threads", type=int, help="CPU threads (default: 1)")
    _place_arguments(parser)


def _train_arguments(commands: Any) -> None:
    text = "Train a learner on a stream of worlds; it is never told when one ends and the next begins."
    example = f"vase train --stream {THREE_WORLDS} --preset laptop --set capacity.gamma=7 --out runs/mine"
    parser = _command(commands, "train", _train, text, example)
    _run_arguments(parser)
    parser.add_argument("--seed", type=int, help="of the learner, the stream and the probes (default: 0)")
    parser.add_argument("--out", metavar="DIR", help="directory of the run (default: runs/STREAM-PRESET-seedSEED)")
    parser.add_argument(
        "--resume", action="store_true", help="go on where the run in --out stopped; everything else comes from there"
    )
    parser.add_argument("--tensorboard", action="store_true", help="write scalars to DIR/tensorboard as well")
    parser.add_argument("--threads", type=int, help="CPU threads (default: 1)")
    _place_arguments(parser)


def _sweep_arguments(commands: Any) -> None:
    text = "Train many learners side by side, one thread each; given again, the same command does what is missing."
    example = "vase sweep --seeds 0-4 --vary capacity.gamma=5,7 --jobs 2 --out runs/gamma"
    parser = _command(commands, "sweep", _sweep, text, example)
    _run_arguments(parser)
    parser.add_argument("--seeds", default="0", help="e.g. 0-4 or 0,1,7 (default: %(default)s)")
    parser.add_argument(
        "--vary",
        action="append",
        metavar="FIELD=V1,V2,...",
        help="values of a field of the configuration, every one with every seed; may be repeated, which multiplies; "
        "semicolons separate values that hold commas, and end a single one: 'network.channels=8,16,32,64;'",
    )
    parser.add_argument("--out", metavar="DIR", default="runs/sweep", help="for all runs (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="runs side by side (default: %(default)s)")
    parser.add_argument(
        "--backend", choices=BACKENDS, default="processes", help="of this machine, or a cluster (default: %(default)s)"
    )
    parser.add_argument("--address", help="of a running Ray or Dask cluster (default: one on this machine)")
    parser.add_argument("--dry-run", action="store_true", help="list the runs, and train nothing")
    _place_arguments(parser)


def _run_arguments(parser: argparse.ArgumentParser) -> None:
    """What a run is, whether alone or one of many."""
    parser.add_argument(
        "--stream",
        help="worlds in order: [moving-][soft-][inverse-]DATASET[:SPRITE], faces, outdoors, indoors or folder:PATH, *N "
        f"for the length of one stage, e.g. mnist,fashion*500,mnist; datasets: {', '.join(NAMES)} "
        f"(default: {THREE_WORLDS})",
    )
    parser.add_argument("--preset", help="laptop, paper or smoke (default: laptop)")
    parser.add_argument("--steps", type=int, help="batches per stage (default: laptop 3000, paper 150000, smoke 100)")
    parser.add_argument(
        "--set", action="append", metavar="FIELD=VALUE", help="any field of the configuration; may be repeated"
    )
    parser.add_argument(
        "--probes",
        choices=("periodic", "online", "none"),
        help="what is measured beside (default: periodic; paper online)",
    )
    parser.add_argument(
        "--measures", action="store_const", const=True, help="measure disentanglement at the end of every stage, too"
    )
    parser.add_argument("--probe-every", type=int, metavar="N", help="steps between two scores (default: laptop 250)")
    parser.add_argument(
        "--checkpoint-every", type=int, metavar="N", help="steps between two checkpoints (default: laptop 500)"
    )
    parser.add_argument("--canvas", type=int, help="side of the images in pixels (default: 32; paper 64)")
    parser.add_argument(
        "--faces",
        metavar="DIR",
        help=f"pictures for the world faces, e.g. CelebA's (default: {FACES_VARIABLE} or the ORL faces)",
    )
    parser.add_argument(
        "--frames", metavar="DIR", help="folder with frames of outdoors and indoors (default: they are rendered)"
    )
    parser.add_argument(
        "--imagination",
        metavar="WORLDS",
        help="of the stream, e.g. mnist: as many images that a policy moves join their batches (default: none)",
    )
    parser.add_argument("--sprite", type=int, help="side of the sprites in pixels (default: 20; paper 28)")
    parser.add_argument("--batch-size", type=int, help="images per batch (default: 64; smoke 32)")
    parser.add_argument(
        "--fallback", action="store_const", const=True, help="embedded stand-ins where real data cannot be had"
    )


def _place_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", metavar="DIR", help="folder with the datasets' idx files, tried first")
    parser.add_argument("--device", help="auto, cpu, cuda, ... (default: auto)")
    parser.add_argument("--quiet", action="store_true", help="for logs: few lines, also on a terminal")
