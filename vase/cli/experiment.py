"""The command `vase experiment`: list, run, table, figure."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vase.config import preset
from vase.experiments.experiment import Experiment, resolve
from vase.experiments.registry import experiment_names, load_experiment
from vase.experiments.results import Result, checked_results, jobs_of
from vase.experiments.runner import check_jobs, missing, place, run_jobs
from vase.experiments.tables import FORMATS, render_all
from vase.sweeps.backends import BACKENDS
from vase.sweeps.grid import read_seeds
from vase.sweeps.progress import sweep_watcher
from vase.sweeps.runner import failures
from vase.worlds.sources import FACES_VARIABLE


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `vase experiment` to a parser."""
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    _action(actions, "list", _list, "Name the experiments, their tables, figures and finished runs.")
    runner = _action(actions, "run", _run, "Train what is missing, side by side; given again, the command goes on.")
    _name(runner)
    runner.add_argument("--only", nargs="+", default=[], metavar="CONDITION", help="(default: all conditions)")
    runner.add_argument("--seeds", help="e.g. 0-4 or 0,1,7 (default: those of the experiment)")
    runner.add_argument("--jobs", type=int, default=2, metavar="N", help="runs side by side (default: %(default)s)")
    runner.add_argument(
        "--backend", choices=BACKENDS, default="processes", help="of this machine, or a cluster (default: %(default)s)"
    )
    runner.add_argument("--address", help="of a running Ray or Dask cluster (default: one on this machine)")
    runner.add_argument("--runs", default="runs/experiments", metavar="DIR", help="for the runs (default: %(default)s)")
    _folders(runner)
    runner.add_argument("--device", help="auto, cpu, cuda, ... (default: auto)")
    runner.add_argument("--dry-run", action="store_true", help="list the runs, and train nothing")
    runner.add_argument("--quiet", action="store_true", help="for logs: few lines, also on a terminal")
    checker = _action(
        actions, "check", _check, "Train finished runs again, and compare every row with its result file."
    )
    _name(checker)
    checker.add_argument("names", nargs="+", metavar="CONDITION-SEED", help="e.g. disentangled-SDA-3")
    checker.add_argument("--jobs", type=int, default=2, metavar="N", help="runs side by side (default: %(default)s)")
    checker.add_argument("--runs", default="runs/again", metavar="DIR", help="for the runs (default: %(default)s)")
    _folders(checker)
    checker.add_argument("--quiet", action="store_true", help="for logs: few lines, also on a terminal")
    printer = _action(actions, "table", _table, "Print a table from the finished runs.")
    _name(printer)
    printer.add_argument("tables", nargs="*", metavar="TABLE", help="(default: the main one; 'all' for all)")
    printer.add_argument("--format", choices=FORMATS, default="text", help="(default: %(default)s)")
    painter = _action(actions, "figure", _figure, "Draw figures from the finished runs.")
    _name(painter)
    painter.add_argument("figures", nargs="*", metavar="FIGURE", help="(default: all of them)")
    painter.add_argument("--out", metavar="DIR", default="figures", help="for the PNG files (default: %(default)s)")


_EXAMPLES = {"list": "", "check": " ablation disentangled-SDA-3 entangled-S-0"}


def _action(actions: Any, name: str, run: Any, text: str) -> argparse.ArgumentParser:
    example = f"vase experiment {name}{_EXAMPLES.get(name, ' ablation')}"
    parser: argparse.ArgumentParser = actions.add_parser(
        name, help=text[0].lower() + text[1:].rstrip("."), description=text, epilog=f"example: {example}"
    )
    parser.set_defaults(run=run)
    parser.add_argument("--results", default="results", metavar="DIR", help="of result files (default: %(default)s)")
    parser.add_argument("--preset", default="laptop", help="laptop, paper or smoke (default: %(default)s)")
    return parser


def _name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "experiment",
        metavar="EXPERIMENT",
        help=f"of {', '.join(experiment_names())}, or package.module:EXPERIMENT of your own",
    )


def _folders(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", metavar="DIR", help="folder with the datasets' idx files, tried first")
    parser.add_argument(
        "--faces",
        metavar="DIR",
        help=f"pictures for the world faces, e.g. CelebA's (default: {FACES_VARIABLE} or the ORL faces)",
    )
    parser.add_argument(
        "--frames", metavar="DIR", help="frames of outdoors and indoors, e.g. DeepMind Lab's (default: rendered ones)"
    )


def _experiment(arguments: argparse.Namespace) -> Experiment:
    preset(arguments.preset)
    return load_experiment(arguments.experiment)


def _list(arguments: argparse.Namespace) -> None:
    for experiment in map(load_experiment, experiment_names()):
        jobs = jobs_of(experiment, arguments.preset, arguments.results, "runs")
        done = sum(job.target.exists() for job in jobs)
        print(f"{experiment.name}: {experiment.title}")
        print(f"  {done} of {len(jobs)} runs finished in {arguments.results} (preset {arguments.preset})")
        print(f"  tables: {', '.join(experiment.tables)}")
        print(f"  figures: {', '.join(experiment.figures) or 'none'}")
        print(f"  conditions: {', '.join(condition.name for condition in experiment.conditions)}\n")


def _run(arguments: argparse.Namespace) -> int:
    experiment = _experiment(arguments)
    seeds = read_seeds(arguments.seeds) if arguments.seeds else ()
    jobs = jobs_of(
        experiment,
        arguments.preset,
        arguments.results,
        arguments.runs,
        only=arguments.only,
        seeds=seeds,
        **place(experiment, vars(arguments)),
    )
    todo = missing(jobs)
    if arguments.dry_run:
        for job in jobs:
            print(f"{job.target}: {'to do' if job in todo else 'finished'}")
        return 0
    print(f"{experiment.name}: {len(jobs) - len(todo)} of {len(jobs)} runs are finished")
    with sweep_watcher(arguments.quiet) as watch:
        run = {"workers": arguments.jobs, "backend": arguments.backend, "address": arguments.address}
        outcomes = run_jobs(todo, on_progress=watch, **run) if todo else []
    failed = failures(outcomes, traces=arguments.traceback)
    for line in failed:
        print(line, file=sys.stderr)
    if not failed:
        where = "".join(
            f" --{name} {value}"
            for name, default in (("preset", "laptop"), ("results", "results"))
            if (value := getattr(arguments, name)) != default
        )
        figures = f"; figures: vase experiment figure {experiment.command_name}{where}" if experiment.figures else ""
        print(f"Table: vase experiment table {experiment.command_name}{where}{figures}")
    return 1 if failed else 0


def _check(arguments: argparse.Namespace) -> int:
    experiment = _experiment(arguments)
    where = arguments.preset, arguments.results, arguments.runs
    every = {job.name: job for job in jobs_of(experiment, *where, **place(experiment, vars(arguments)))}
    _require(arguments.names, every, f"{experiment.name} has no run")
    jobs = [every[name] for name in arguments.names]
    with sweep_watcher(arguments.quiet) as watch:
        differences = check_jobs(jobs, workers=arguments.jobs, on_progress=watch)
    for job, difference in zip(jobs, differences, strict=True):
        same = f"the same {len(Result(job.target).rows):,} rows, to the last digit"
        print(f"{job.name}: {f'{difference} (the run is in {job.path})' if difference else same}")
    return 1 if any(differences) else 0


def _table(arguments: argparse.Namespace) -> None:
    experiment = _experiment(arguments)
    names = arguments.tables or [next(iter(experiment.tables))]
    chosen = list(experiment.tables) if names == ["all"] else names
    _require(chosen, experiment.tables, f"{experiment.name} has no table")
    results = checked_results(experiment, arguments.preset, arguments.results)
    tables = [resolve(experiment.tables[name])(results) for name in chosen]
    print(tables[0].render(arguments.format) if len(tables) == 1 else render_all(tables, arguments.format))


def _figure(arguments: argparse.Namespace) -> None:
    from vase.plots.style import save  # here, because it takes matplotlib half a second to wake up

    experiment = _experiment(arguments)
    chosen = list(experiment.figures) if arguments.figures in ([], ["all"]) else arguments.figures
    if not experiment.figures:
        raise ValueError(f"{experiment.name} has no figures; its tables: {', '.join(experiment.tables)}.")
    _require(chosen, experiment.figures, f"{experiment.name} has no figure")
    results = checked_results(experiment, arguments.preset, arguments.results)
    for name in chosen:
        print(save(resolve(experiment.figures[name])(results), Path(arguments.out) / f"{experiment.name}-{name}.png"))


def _require(chosen: Sequence[str], known: Any, text: str) -> None:
    for name in chosen:
        if name not in known:
            raise ValueError(f"{text} {name!r}; it has {', '.join(known) or 'none'}.")
