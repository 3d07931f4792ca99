"""Training: start or resume a run, and the loop. It knows the `Learner` protocol; callbacks do everything else."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from vase.checkpoint import CheckpointError, State
from vase.distributed import Distributed, init_distributed
from vase.learners.protocol import Learner, WantsBoundaries
from vase.learners.registry import load_learner_class
from vase.training.advice import explain_disk_error, explain_divergence
from vase.training.broken_stream import save_on_exception
from vase.training.callbacks import Callback, Run
from vase.training.directory import RunDirectory
from vase.training.plan import Plan, build_learner, make_plan
from vase.training.process import interruptible, threads
from vase.training.resume import Note, continued_state, resumed_plan
from vase.training.row_file import START, RowWriter
from vase.training.settings import RunSettings
from vase.training.standard import Checkpoints, standard_callbacks
from vase.training.summary import summary
from vase.worlds import Batch
from vase.worlds.timeline import Timeline


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM: the run was saved and can be resumed."""


def train(
    run_dir: str | os.PathLike[str],
    settings: RunSettings | None = None,
    *,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
) -> dict[str, Any]:
    """Train a learner on a stream and record everything in a directory; returns the summary.

    Args:
        run_dir: a new directory, or with `resume` that of an interrupted run.
        settings: the run; with `resume` they may be left out, and if they are given may differ from the run's own
            only in how it is operated (`OPERATION`) and in the lengths of stages to come.
        resume: continue from the last checkpoint. Rows and weights are then those of a run without interruption.
        callbacks: your own, beside the standard ones; of several workers, only the first one calls them.

    Started by torchrun, all workers train one learner: each has a shard of every batch, and the first one alone
    touches the directory, trains probes and calls callbacks.

    Raises:
        Interrupted: after Ctrl-C or SIGTERM, once the state is saved.
        LostWorkers: another worker died.
        BrokenStream: the next batch could not be read; the state is saved, as it is before any other exception of a
            source.
    """
    directory = RunDirectory(run_dir)
    device = "auto" if settings is None else settings.device
    with init_distributed(device) as distributed, interruptible() as stop, ExitStack() as stack:

        def note(text: str) -> None:
            for callback in callbacks:
                callback.on_note(text)

        plan = _shared_plan(directory, settings, resume, distributed, note)
        stack.enter_context(threads(plan.settings.threads))
        try:
            run = Run(directory, plan, build_learner(plan.settings, plan.config), distributed=distributed)
            _open_run(run, resume, callbacks, note, stack)
            _fit(run, stop)
            return distributed.on_main_process(lambda: _summarise(directory))
        except FloatingPointError as error:
            raise explain_divergence(error, directory, plan) from error
        except OSError as error:
            if error.errno is None or isinstance(error, BrokenPipeError):
                raise
            directory.require_own()
            raise explain_disk_error(error, directory) from error


def _summarise(directory: RunDirectory) -> dict[str, Any]:
    found = summary(directory.path)
    directory.write_summary(found)
    return found


def _fit(run: Run, stop: threading.Event) -> None:
    """Train to the end of the stream, or until `stop` is set."""
    for callback in run.callbacks:
        callback.on_start(run)
    while run.step < run.total:
        with save_on_exception(run):
            batch = next(run.plan.schedule)
        _learn(run, batch)
        run.stopping = run.distributed.any(stop.is_set())
        for callback in run.callbacks:
            callback.on_step_end(run)
        if run.stopping and run.step < run.total:
            where = f"step {run.step:,} of {run.total:,}"
            raise Interrupted(
                f"stopped and saved at {where}. Resume with: vase train --resume --out {run.directory.path}"
            )


def _learn(run: Run, batch: Batch) -> None:
    """Learn one batch and write the rows of all callbacks."""
    for callback in run.callbacks:
        batch = callback.on_batch(run, batch)
    if run.step - 1 in run.plan.schedule.switches:
        _tell_boundary(run.learner)
    images, clock = run.distributed.shard(batch.images), time.process_time()
    step = run.learner.partial_fit(images)
    run.learning_seconds += time.process_time() - clock
    for callback in run.callbacks:
        run.write(callback.on_step(run, step))
    if run.plan.timeline.ends_stage(run.step):
        for callback in run.callbacks:
            run.write(callback.on_stage_end(run))
    if run.step == run.total:
        for callback in run.callbacks:
            run.write(callback.on_end(run))


def _tell_boundary(learner: Learner) -> None:
    """Tell a learner that wants to know that the next batch comes from another world."""
    if isinstance(learner, WantsBoundaries) and learner.wants_boundaries:
        learner.begin_world()


def _shared_plan(
    directory: RunDirectory, given: RunSettings | None, resume: bool, distributed: Distributed, note: Note
) -> Plan:
    """The plan of the first worker, which fetches the data; the others find them in the cache."""
    mine: list[Plan] = []

    def prepare() -> tuple[RunSettings, Timeline]:
        if not resume:
            directory.require_free()
        check_workers(directory.settings() if resume else given or RunSettings(), distributed.size)
        plan = resumed_plan(directory, given, note) if resume else make_plan(given or RunSettings(), report=note)
        mine.append(plan)
        return plan.settings, plan.timeline

    settings, timeline = distributed.on_main_process(prepare)
    return mine[0] if mine else make_plan(settings, timeline)


def check_workers(settings: RunSettings, workers: int) -> None:
    """Refuse a run that cannot be split between workers."""
    images = settings.batch_size
    if images % workers or images < 2 * workers:
        nearest = max(2, math.ceil(images / workers)) * workers
        raise ValueError(
            f"batch_size={images} for {workers} workers: must be a multiple of their number, with two images each or "
            f"more; use --batch-size {nearest}, or another number of workers."
        )
    if workers > 1 and not getattr(load_learner_class(settings.learner), "supports_workers", False):
        raise ValueError(
            f"learner={settings.learner!r} with {workers} workers: it learns in one process only, each worker would "
            "train a copy on its shard; start it without torchrun."
        )
    if settings.imagination and workers > 1:
        raise ValueError(
            f"imagination={settings.imagination!r} with {workers} workers: imagination needs whole batches in one "
            "process; start it without torchrun."
        )


def _open_run(run: Run, resume: bool, callbacks: Sequence[Callback], note: Note, stack: ExitStack) -> None:
    """Bring a run to its start, or to where its last checkpoint left it; lock and files are closed by `stack`."""

    def open_first() -> tuple[State | None, State | None]:
        run.callbacks = standard_callbacks(run, callbacks)
        state = _open_directory(run, resume, note, stack)
        if state is None:
            return None, None
        return state["run"], state["learner"] if run.distributed.size > 1 else None

    saved, weights = run.distributed.on_main_process(open_first)
    if not run.distributed.is_main_process:
        run.callbacks = [Checkpoints(run.plan.settings.checkpoint_every)]
        if weights is not None:
            run.learner.load_state_dict(weights)
    if saved is not None:
        run.plan.schedule.load_state_dict(saved["schedule"])


def _open_directory(run: Run, resume: bool, note: Note, stack: ExitStack) -> State | None:
    """Lock the directory, then write its configuration or restore learner and callbacks; returns the saved state."""
    directory = run.directory
    stack.enter_context(directory.locked())
    if not resume:
        directory.require_free()
        directory.write_config(run.plan)
    state = continued_state(directory, run.plan, note) if directory.has_checkpoint else None
    if state is not None:
        _restore(run, state)
    elif directory.rows_path.exists() and directory.rows_path.stat().st_size:
        raise FileNotFoundError(
            f"{directory.checkpoints.folder} has no checkpoint, though the run has rows: restore it from a copy, or "
            "start a new run."
        )
    position = START if state is None else state["run"]["rows"]
    run.rows = RowWriter(directory.rows_path, position, directory.require_own)
    stack.callback(run.rows.close)
    return state


def _restore(run: Run, state: State) -> None:
    """Bring learner and callbacks to a saved state."""
    run.learner.load_state_dict(state["learner"])
    saved = state["callbacks"]
    for callback in run.callbacks:
        if callback.name in saved:
            try:
                callback.load_state_dict(saved[callback.name])
            except (KeyError, AttributeError, IndexError) as error:
                raise CheckpointError(
                    f"{run.directory.checkpoints.folder}: the state of {callback.name} is damaged ({error!r}); use "
                    "another copy."
                ) from error
    if missing := saved.keys() - {callback.name for callback in run.callbacks}:
        raise ValueError(
            f"{run.directory.path} was started with the callback {min(missing)}: pass it to train(callbacks=...) again."
        )
