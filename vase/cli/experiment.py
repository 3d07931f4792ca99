"""Run the paper's experiments, print their tables and draw their figures."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vase import experiments
from vase.cli import shifts
from vase.cli.options import add_settings, add_shared
from vase.cli.parsing import add_actions, add_command
from vase.experiments.tables import FORMATS, render_all
from vase.spelling import did_you_mean

if TYPE_CHECKING:
    from vase.experiments.experiment import Experiment
    from vase.experiments.results import Job

EXAMPLE = "vase experiment table ablation"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `vase experiment`."""
    actions = add_actions(parser)
    _action(actions, "list", run, "")
    run_parser = _action(actions, "run", _run)
    run_parser.add_argument("--only", nargs="+", default=[], metavar="CONDITION", help="(default: all conditions)")
    add_settings(run_parser, "data", "faces", "frames", "device")
    add_shared(run_parser, "--seeds", "--jobs", "--backend", "--address", "--dry-run", "--quiet")
    check = _action(actions, "check", _check, " ablation disentangled-SDA-3 entangled-S-0")
    check.add_argument("names", nargs="+", metavar="CONDITION-SEED", help="e.g. disentangled-SDA-3")
    add_settings(check, "data", "faces", "frames")
    add_shared(check, "--jobs", "--quiet")
    for parser, runs in ((run_parser, "runs/experiments"), (check, "runs/again")):
        parser.add_argument("--runs", default=runs, metavar="DIR", help="folder for the runs (default: %(default)s)")
    table = _action(actions, "table", _table)
    table.add_argument("tables", nargs="*", metavar="TABLE", help="(default: the main one; 'all' for all)")
    table.add_argument("--format", choices=FORMATS, default="text", help="format of the table (default: %(default)s)")
    figure = _action(actions, "figure", _figure)
    figure.add_argument("figures", nargs="*", metavar="FIGURE", help="(default: all)")
    figure.add_argument("--out", metavar="DIR", default="figures", help="for the PNG files (default: %(default)s)")
    shifts.add_arguments(add_command(actions, "shifts", shifts.__doc__, shifts.EXAMPLE, shifts.run))


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
    for experiment in map(experiments.load_experiment, experiments.experiment_names()):
        jobs = experiments.jobs_of(experiment, arguments.preset, arguments.results, "runs")
        done = sum(job.target.exists() for job in jobs)
        print(f"{experiment.name}: {experiment.title}")
        print(f"  {done} of {len(jobs)} runs finished in {arguments.results} (preset {arguments.preset})")
        print(f"  tables: {', '.join(experiment.tables)}")
        print(f"  figures: {', '.join(experiment.figures) or 'none'}")
        print(f"  conditions: {', '.join(condition.name for condition in experiment.conditions)}\n")
    if not Path(arguments.results).is_dir():
        print(f"No folder {arguments.results} here; a clone of the repository has one, with all runs (--results DIR).")


def _jobs(arguments: argparse.Namespace, **chosen: Any) -> tuple[Experiment, list[Job]]:
    """The experiment, and its runs as the options place them."""
    from vase.experiments.runner import place

    experiment = experiments.load_experiment(arguments.experiment)
    where = arguments.preset, arguments.results, arguments.runs
    return experiment, experiments.jobs_of(experiment, *where, **chosen, **place(experiment, vars(arguments)))


def _run(arguments: argparse.Namespace) -> int:
    """Train the runs that have no result yet; the same command, repeated, continues."""
    from vase.experiments.estimate import estimated_seconds, words
    from vase.experiments.runner import missing, run_jobs
    from vase.sweeps.grid import read_seeds
    from vase.sweeps.progress import sweep_watcher
    from vase.sweeps.runner import print_failures

    seeds = read_seeds(arguments.seeds) if arguments.seeds else ()
    experiment, jobs = _jobs(arguments, only=arguments.only, seeds=seeds)
    todo = missing(jobs)
    if arguments.dry_run:
        for job in jobs:
            print(f"{job.target}: {'to do' if job in todo else 'finished'}")
    print(f"{experiment.name}: {len(jobs) - len(todo)} of {len(jobs)} runs are finished")
    if todo:
        print(words(estimated_seconds(todo), arguments.jobs))
    if arguments.dry_run:
        return 0
    if todo:
        how = {"workers": arguments.jobs, "backend": arguments.backend, "address": arguments.address}
        with sweep_watcher(arguments.quiet) as watch:
            outcomes = run_jobs(todo, on_progress=watch, **how)
        if print_failures(outcomes, traces=arguments.traceback):
            return 1
    options = {"preset": (arguments.preset, "laptop"), "results": (arguments.results, "results")}
    where = "".join(f" --{name} {value}" for name, (value, default) in options.items() if value != default)
    figures = f"; figures: vase experiment figure {experiment.command_name}{where}" if experiment.figures else ""
    print(f"Table: vase experiment table {experiment.command_name}{where}{figures}")
    return 0


def _check(arguments: argparse.Namespace) -> int:
    """Train finished runs again and compare every row with the result file."""
    from vase.experiments.runner import check_jobs
    from vase.sweeps.progress import sweep_watcher

    experiment, found = _jobs(arguments)
    every = {job.name: job for job in found}
    _require(arguments.names, every, f"{experiment.name} has no run")
    jobs = [every[name] for name in arguments.names]
    with sweep_watcher(arguments.quiet) as watch:
        differences = check_jobs(jobs, workers=arguments.jobs, on_progress=watch)
    for job, difference in zip(jobs, differences, strict=True):
        same = f"the same {len(experiments.Result(job.target).rows):,} rows, to the last digit"
        print(f"{job.name}: {f'{difference} (the run is in {job.path})' if difference else same}")
    return 1 if any(differences) else 0


def _table(arguments: argparse.Namespace) -> None:
    """Print a table from the finished runs."""
    experiment = experiments.load_experiment(arguments.experiment)
    names = arguments.tables or [next(iter(experiment.tables))]
    tables = list(_made(experiment, "table", experiment.tables, names, arguments).values())
    print(tables[0].render(arguments.format) if len(tables) == 1 else render_all(tables, arguments.format))


def _figure(arguments: argparse.Namespace) -> None:
    """Draw figures from the finished runs."""
    from vase.plots.style import save

    experiment = experiments.load_experiment(arguments.experiment)
    if not experiment.figures:
        raise ValueError(f"{experiment.name} has no figures; its tables: {', '.join(experiment.tables)}.")
    figures = _made(experiment, "figure", experiment.figures, arguments.figures or ["all"], arguments)
    for name, figure in figures.items():
        print(save(figure, Path(arguments.out) / f"{experiment.name}-{name}.png"))


def _made(
    experiment: Experiment, what: str, known: Mapping[str, Any], names: list[str], arguments: argparse.Namespace
) -> dict[str, Any]:
    """Tables or figures of the given names, or of all, from the finished runs."""
    from vase.experiments.experiment import resolve
    from vase.experiments.results import checked_results

    chosen = list(known) if names == ["all"] else names
    _require(chosen, known, f"{experiment.name} has no {what}")
    results = checked_results(experiment, arguments.preset, arguments.results)
    return {name: resolve(known[name])(results) for name in chosen}


def _require(chosen: Sequence[str], known: Collection[str], text: str) -> None:
    for name in chosen:
        if name not in known:
            raise ValueError(f"{text} {name!r}; it has {', '.join(known) or 'none'}{did_you_mean(name, known)}")
