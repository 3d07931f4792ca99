"""Run the paper's experiments, print their tables and draw their figures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vase.cli.options import add_settings, add_shared
from vase.cli.parsing import add_actions, add_command
from vase.experiments.tables import FORMATS, render_all
from vase.spelling import did_you_mean

if TYPE_CHECKING:
    from vase.experiments.experiment import Experiment

EXAMPLE = "vase experiment table ablation"
_RUNS: Any = {"metavar": "DIR", "help": "folder for the runs (default: %(default)s)"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `vase experiment`."""
    actions = add_actions(parser)
    _action(actions, "list", run, "")
    _run_arguments(_action(actions, "run", _run))
    _check_arguments(_action(actions, "check", _check, " ablation disentangled-SDA-3 entangled-S-0"))
    table = _action(actions, "table", _table)
    table.add_argument("tables", nargs="*", metavar="TABLE", help="(default: the main one; 'all' for all)")
    table.add_argument("--format", choices=FORMATS, default="text", help="format of the table (default: %(default)s)")
    figure = _action(actions, "figure", _figure)
    figure.add_argument("figures", nargs="*", metavar="FIGURE", help="(default: all)")
    figure.add_argument("--out", metavar="DIR", default="figures", help="for the PNG files (default: %(default)s)")


def _run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", nargs="+", default=[], metavar="CONDITION", help="(default: all conditions)")
    parser.add_argument("--runs", default="runs/experiments", **_RUNS)
    add_settings(parser, "data", "faces", "frames", "device")
    add_shared(parser, "--seeds", "--jobs", "--backend", "--address", "--dry-run", "--quiet")


def _check_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", metavar="CONDITION-SEED", help="e.g. disentangled-SDA-3")
    parser.add_argument("--runs", default="runs/again", **_RUNS)
    add_settings(parser, "data", "faces", "frames")
    add_shared(parser, "--jobs", "--quiet")


def _action(actions: Any, name: str, run: Any, example: str = " ablation") -> argparse.ArgumentParser:
    parser = add_command(actions, name, run.__doc__, f"vase experiment {name}{example}", run)
    if example:
        parser.add_argument(
            "experiment", metavar="EXPERIMENT", help="a name from 'vase experiment list', or package.module:EXPERIMENT"
        )
    parser.add_argument("--results", default="results", metavar="DIR", help="of result files (default: %(default)s)")
    add_settings(parser, "preset", preset="laptop")
    return parser


def run(arguments: argparse.Namespace) -> None:
    """List the experiments with their tables, figures, conditions and finished runs."""
    from vase.experiments import experiment_names, jobs_of, load_experiment

    for experiment in map(load_experiment, experiment_names()):
        jobs = jobs_of(experiment, arguments.preset, arguments.results, "runs")
        done = sum(job.target.exists() for job in jobs)
        print(f"{experiment.name}: {experiment.title}")
        print(f"  {done} of {len(jobs)} runs finished in {arguments.results} (preset {arguments.preset})")
        print(f"  tables: {', '.join(experiment.tables)}")
        print(f"  figures: {', '.join(experiment.figures) or 'none'}")
        print(f"  conditions: {', '.join(condition.name for condition in experiment.conditions)}\n")


def _run(arguments: argparse.Namespace) -> int:
    """Train the runs that have no result yet; the same command, repeated, continues."""
    from vase.experiments import jobs_of, load_experiment
    from vase.experiments.runner import missing, place, run_jobs
    from vase.sweeps.grid import read_seeds
    from vase.sweeps.progress import sweep_watcher
    from vase.sweeps.runner import failures

    experiment = load_experiment(arguments.experiment)
    where = arguments.preset, arguments.results, arguments.runs
    seeds = read_seeds(arguments.seeds) if arguments.seeds else ()
    jobs = jobs_of(experiment, *where, only=arguments.only, seeds=seeds, **place(experiment, vars(arguments)))
    todo = missing(jobs)
    if arguments.dry_run:
        for job in jobs:
            print(f"{job.target}: {'to do' if job in todo else 'finished'}")
        return 0
    print(f"{experiment.name}: {len(jobs) - len(todo)} of {len(jobs)} runs are finished")
    failed: list[str] = []
    if todo:
        how = {"workers": arguments.jobs, "backend": arguments.backend, "address": arguments.address}
        with sweep_watcher(arguments.quiet) as watch:
            outcomes = run_jobs(todo, on_progress=watch, **how)
        failed = failures(outcomes, traces=arguments.traceback)
    for line in failed:
        print(line, file=sys.stderr)
    if not failed:
        print(_next_commands(experiment, arguments))
    return 1 if failed else 0


def _next_commands(experiment: Experiment, arguments: argparse.Namespace) -> str:
    """The commands that show the results of the runs."""
    where = "".join(
        f" --{name} {value}"
        for name, default in (("preset", "laptop"), ("results", "results"))
        if (value := getattr(arguments, name)) != default
    )
    figures = f"; figures: vase experiment figure {experiment.command_name}{where}" if experiment.figures else ""
    return f"Table: vase experiment table {experiment.command_name}{where}{figures}"


def _check(arguments: argparse.Namespace) -> int:
    """Train finished runs again and compare every row with the result file."""
    from vase.experiments import Result, jobs_of, load_experiment
    from vase.experiments.runner import check_jobs, place
    from vase.sweeps.progress import sweep_watcher

    experiment = load_experiment(arguments.experiment)
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
    """Print a table from the finished runs."""
    from vase.experiments import load_experiment
    from vase.experiments.experiment import resolve
    from vase.experiments.results import checked_results

    experiment = load_experiment(arguments.experiment)
    names = arguments.tables or [next(iter(experiment.tables))]
    chosen = list(experiment.tables) if names == ["all"] else names
    _require(chosen, experiment.tables, f"{experiment.name} has no table")
    results = checked_results(experiment, arguments.preset, arguments.results)
    tables = [resolve(experiment.tables[name])(results) for name in chosen]
    print(tables[0].render(arguments.format) if len(tables) == 1 else render_all(tables, arguments.format))


def _figure(arguments: argparse.Namespace) -> None:
    """Draw figures from the finished runs."""
    from vase.experiments import load_experiment
    from vase.experiments.experiment import resolve
    from vase.experiments.results import checked_results
    from vase.plots.style import save

    experiment = load_experiment(arguments.experiment)
    chosen = list(experiment.figures) if arguments.figures in ([], ["all"]) else arguments.figures
    if not experiment.figures:
        raise ValueError(f"{experiment.name} has no figures; its tables: {', '.join(experiment.tables)}.")
    _require(chosen, experiment.figures, f"{experiment.name} has no figure")
    results = checked_results(experiment, arguments.preset, arguments.results)
    for name in chosen:
        print(save(resolve(experiment.figures[name])(results), Path(arguments.out) / f"{experiment.name}-{name}.png"))


def _require(chosen: Sequence[str], known: Collection[str], text: str) -> None:
    for name in chosen:
        if name not in known:
            raise ValueError(f"{text} {name!r}; it has {', '.join(known) or 'none'}{did_you_mean(name, known)}")
