"""The command `vase experiment`: list, run, table, figure."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import traceback
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from vase.config import preset
from vase.experiments import EXPERIMENTS, Experiment, Job, Result, Results, jobs_of, results_of
from vase.experiments.study import FOLDERS, public
from vase.experiments.tables import FORMATS, render_all
from vase.sweeps import Outcome, Status, run_many
from vase.sweeps.backends import BACKENDS
from vase.sweeps.grid import read_seeds
from vase.sweeps.progress import sweep_watcher
from vase.sweeps.runner import failures
from vase.training import RunSettings
from vase.training.sources import pictured
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
    parser.add_argument("experiment", metavar="EXPERIMENT", help=f"of {', '.join(EXPERIMENTS)}")


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
    name = arguments.experiment
    if name not in EXPERIMENTS:
        raise ValueError(f"no experiment {name!r}; there are {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]


def _list(arguments: argparse.Namespace) -> None:
    for experiment in EXPERIMENTS.values():
        jobs = jobs_of(experiment, arguments.preset, arguments.results, "runs")
        done = sum(job.target.exists() for job in jobs)
        print(f"{experiment.name}: {experiment.title}")
        print(f"  {done} of {len(jobs)} runs finished in {arguments.results} (preset {arguments.preset})")
        print(f"  tables: {', '.join(experiment.tables)}")
        print(f"  figures: {', '.join(experiment.figures) or 'none'}")
        print(f"  conditions: {', '.join(condition.name for condition in experiment.conditions)}\n")


def missing(jobs: Sequence[Job]) -> list[Job]:
    """The runs that have no result yet. A result of other settings is an error."""
    found = []
    for job in jobs:
        if not job.target.exists():
            found.append(job)
        else:
            _require_same(job.experiment, job.target, job.settings, Result(job.target).settings)
    return found


def _require_same(experiment: Experiment, path: Path, now: RunSettings, before: RunSettings) -> None:
    if names := public(now).differences(before):
        raise ValueError(
            f"{path} was made {_otherwise(experiment, names[0], before)}: delete it to run it again, or name another "
            "folder with --results."
        )


def _otherwise(experiment: Experiment, name: str, before: RunSettings) -> str:
    """How a result differs from what is wanted now."""
    if name not in FOLDERS:
        return f"with another {name} than {experiment.name} has now"
    hint = f" (or {FACES_VARIABLE} in the environment)" if name == "faces" else ""
    words = ("without", "with") if getattr(before, name) is None else ("with", "without")
    return f"{words[0]} --{name}{hint}, and now it is {words[1]}"


def place(experiment: Experiment, arguments: argparse.Namespace) -> dict[str, Any]:
    """The device and folders that were given; a folder of pictures only for a stream that has its world."""
    given = {name: getattr(arguments, name, None) for name in ("data", "device")}
    for name in FOLDERS:
        folder = getattr(arguments, name)
        if name not in pictured(experiment.stream):
            if folder is not None:
                raise ValueError(f"--{name} {folder}: {experiment.name} has no world of {name}; leave --{name} out.")
            continue
        if folder is None and name == "faces":
            folder = os.environ.get(FACES_VARIABLE) or None
        if folder is not None:
            path = Path(folder).expanduser().absolute()
            if not path.is_dir():
                raise FileNotFoundError(
                    f"folder {str(path)!r} of {name} does not exist: name another one with --{name}, or none to do "
                    "without."
                )
            given[name] = str(path)
    return {name: value for name, value in given.items() if value is not None}


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
        **place(experiment, arguments),
    )
    todo = missing(jobs)
    if arguments.dry_run:
        for job in jobs:
            print(f"{job.target}: {'to do' if job in todo else 'finished'}")
        return 0
    print(f"{experiment.name}: {len(jobs) - len(todo)} of {len(jobs)} runs are finished")
    outcomes = run_jobs(todo, arguments) if todo else []
    failed = failures(outcomes, traces=arguments.traceback)
    for line in failed:
        print(line, file=sys.stderr)
    if not failed:
        where = "".join(
            f" --{name} {value}"
            for name, default in (("preset", "laptop"), ("results", "results"))
            if (value := getattr(arguments, name)) != default
        )
        figures = f"; figures: vase experiment figure {experiment.name}{where}" if experiment.figures else ""
        print(f"Table: vase experiment table {experiment.name}{where}{figures}")
    return 1 if failed else 0


def _check(arguments: argparse.Namespace) -> int:
    experiment = _experiment(arguments)
    where = arguments.preset, arguments.results, arguments.runs
    every = {job.name: job for job in jobs_of(experiment, *where, **place(experiment, arguments))}
    _require(arguments.names, every, f"{experiment.name} has no run")
    jobs = [every[name] for name in arguments.names]
    for job in missing(jobs):
        raise FileNotFoundError(f"{job.target} does not exist: there is nothing to compare with.")
    for job in jobs:
        if job.cell.path.exists():
            raise FileExistsError(
                f"{job.cell.path} exists: delete it, or name another folder with --runs, to train it anew."
            )
    with sweep_watcher(arguments.quiet) as watch:
        outcomes = run_many([job.cell for job in jobs], jobs=arguments.jobs, on_progress=watch, on_note=print)
    same = True
    for job, outcome in zip(jobs, outcomes, strict=True):
        found = outcome.error or compare(Result(job.target).rows, job.rows()) or compare_findings(job)
        if found:
            same = False
            print(f"{job.name}: {found} (the run is in {job.cell.path})")
        else:
            print(f"{job.name}: the same {len(job.rows()):,} rows, to the last digit")
            shutil.rmtree(job.cell.path)
    return 0 if same else 1


def compare(before: Sequence[dict[str, Any]], now: Sequence[dict[str, Any]]) -> str:
    """What differs between two lists of rows, in words; nothing if they are the same."""
    if len(before) != len(now):
        return f"{len(before):,} rows before, {len(now):,} now"
    changed = [(a, b) for a, b in zip(before, now, strict=True) if a != b]
    if not changed:
        return ""
    a, b = changed[0]
    keys = [key for key in {**a, **b} if a.get(key, ...) != b.get(key, ...)]
    where = (
        f"first in a {a['kind']} row at step {a['step']:,}: {keys[0]} = {a.get(keys[0])} before, {b.get(keys[0])} now"
    )
    return f"{len(changed):,} of {len(now):,} rows differ, {where}"


def compare_findings(job: Job) -> str:
    """What differs between the kept answers of a run's learner and those of the run that was made again, in words."""
    now = job.findings()
    if now is None:
        return ""
    before, after = Result(job.target).findings, json.loads(json.dumps(now.numbers))
    changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return f"the same rows, but other findings: {', '.join(changed)}" if changed else ""


def run_jobs(jobs: Sequence[Job], arguments: argparse.Namespace) -> list[Outcome]:
    """Train the runs and keep the result of each as soon as it is finished; one that cannot be kept has failed."""
    kept: dict[str, Future[None]] = {}
    with ExitStack() as stack:
        keeper = stack.enter_context(ThreadPoolExecutor(1, "vase-keep"))
        stack.push(lambda failed, *_: keeper.shutdown(cancel_futures=True) if failed else None)  # kept the next time
        watch = stack.enter_context(sweep_watcher(arguments.quiet))

        def on_progress(statuses: list[Status]) -> None:
            watch(statuses)
            for job, status in zip(jobs, statuses, strict=True):
                if status.state in ("done", "skipped") and job.name not in kept:
                    kept[job.name] = keeper.submit(job.keep)

        outcomes = run_many(
            [job.cell for job in jobs],
            jobs=arguments.jobs,
            backend=arguments.backend,
            address=arguments.address,
            on_progress=on_progress,
            on_note=print,
        )
    return [_kept(outcome, kept.get(job.name)) for job, outcome in zip(jobs, outcomes, strict=True)]


def _kept(outcome: Outcome, keeping: Future[None] | None) -> Outcome:
    """The outcome of a run, failed if its result could not be kept."""
    error = keeping.exception() if keeping is not None else None
    if error is None:
        return outcome
    trace = "".join(traceback.format_exception(error))
    return replace(outcome, state="failed", error=f"trained, but no result could be kept: {error!r}", trace=trace)


def _results(experiment: Experiment, arguments: argparse.Namespace) -> Results:
    """The finished runs. One of other settings is an error, but any folder of pictures will do."""
    results = results_of(experiment, arguments.preset, arguments.results)
    for condition in experiment.conditions:
        for run in results.of(condition.name):
            before = run.settings
            folders = {name: getattr(before, name) for name in FOLDERS}
            now = experiment.settings(condition, run.seed, arguments.preset, **folders)
            _require_same(experiment, run.path, now, before)
    return results


def _table(arguments: argparse.Namespace) -> None:
    experiment = _experiment(arguments)
    names = arguments.tables or [next(iter(experiment.tables))]
    chosen = list(experiment.tables) if names == ["all"] else names
    _require(chosen, experiment.tables, f"{experiment.name} has no table")
    results = _results(experiment, arguments)
    tables = [experiment.tables[name](results) for name in chosen]
    print(tables[0].render(arguments.format) if len(tables) == 1 else render_all(tables, arguments.format))


def _figure(arguments: argparse.Namespace) -> None:
    from vase.plots.style import save  # here, because it takes matplotlib half a second to wake up

    experiment = _experiment(arguments)
    chosen = list(experiment.figures) if arguments.figures in ([], ["all"]) else arguments.figures
    if not experiment.figures:
        raise ValueError(f"{experiment.name} has no figures; its tables: {', '.join(experiment.tables)}.")
    _require(chosen, experiment.figures, f"{experiment.name} has no figure")
    results = _results(experiment, arguments)
    for name in chosen:
        print(save(experiment.figures[name](results), Path(arguments.out) / f"{experiment.name}-{name}.png"))


def _require(chosen: Sequence[str], known: Any, text: str) -> None:
    for name in chosen:
        if name not in known:
            raise ValueError(f"{text} {name!r}; it has {', '.join(known) or 'none'}.")
