"""The training loop. It knows the `Learner` protocol and hooks; callbacks do everything else."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from vase.checkpoint import State
from vase.distributed import Crew, together
from vase.training.callbacks import Callback, Run
from vase.training.directory import RunDirectory, explain_disk_error
from vase.training.plan import Plan, build_learner
from vase.training.prepare import shared_plan
from vase.training.process import interruptible, threads
from vase.training.row_writer import START, RowWriter
from vase.training.settings import RunSettings
from vase.training.standard import Checkpoints, standard_callbacks
from vase.training.summary import summary
from vase.worlds import Batch


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM: the run was saved and can be resumed."""

    def __init__(self, directory: RunDirectory, step: int, total: int) -> None:
        super().__init__(
            f"stopped and saved at step {step:,} of {total:,}. Resume with: vase train --resume --out {directory.path}"
        )


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
        settings: the run; with `resume` they may be left out, and must agree with the run's own if they are given.
        resume: continue from the last checkpoint. Rows and weights are then those of a run without interruption.
        callbacks: your own, beside the standard ones; of several workers, only the first one calls them.

    Started by torchrun, all workers train one learner: each has a shard of every batch, and the first one alone
    touches the directory, trains probes and calls callbacks.

    Raises:
        Interrupted: after Ctrl-C or SIGTERM, once the state is saved.
        LostWorkers: another worker died.
    """
    directory = RunDirectory(run_dir)
    device = "auto" if settings is None else settings.device
    with together(device) as distributed, interruptible() as stop, ExitStack() as stack:

        def note(text: str) -> None:
            for callback in callbacks:
                callback.on_note(text)

        plan = shared_plan(directory, settings, resume, distributed, note)
        stack.enter_context(threads(plan.settings.threads))
        try:
            run = open_run(directory, plan, resume, callbacks, distributed, stack)
            Trainer(run, stop).fit()
            return distributed.first(lambda: summary(directory.path))
        except OSError as error:
            if error.errno is None or isinstance(error, BrokenPipeError):
                raise
            raise explain_disk_error(error, directory.path) from error


class Trainer:
    """Feeds the batches of a stream to a learner, and calls the hooks of the run's callbacks."""

    def __init__(self, run: Run, stop: threading.Event | None = None) -> None:
        self.run = run
        self.stop = stop or threading.Event()

    def fit(self) -> None:
        """Train to the end of the stream, or until `stop` is set."""
        run = self.run
        for callback in run.callbacks:
            callback.on_start(run)
        for batch in run.plan.schedule:
            self._learn(batch)
            run.stopping = run.distributed.any(self.stop.is_set())
            for callback in run.callbacks:
                callback.on_step_end(run)
            if run.stopping and run.step < run.total:
                raise Interrupted(run.directory, run.step, run.total)

    def _learn(self, batch: Batch) -> None:
        run = self.run
        for callback in run.callbacks:
            batch = callback.on_batch(run, batch)
        step = run.learner.partial_fit(run.distributed.share(batch.images))
        for callback in run.callbacks:
            run.write(callback.on_step(run, step))
        if run.plan.timeline.ends_stage(run.step):
            for callback in run.callbacks:
                run.write(callback.on_stage_end(run))
        if run.step == run.total:
            for callback in run.callbacks:
                run.write(callback.on_end(run))


# ------------------------------------------------------------------------------------------------------ start or resume


def open_run(
    directory: RunDirectory,
    plan: Plan,
    resume: bool,
    callbacks: Sequence[Callback],
    distributed: Crew,
    stack: ExitStack,
) -> Run:
    """A run at its start, or where its last checkpoint left it; lock and files are closed by `stack`."""
    learner = build_learner(plan.settings, plan.config)
    mine: list[Run] = []

    def open_first() -> tuple[State | None, State | None]:
        chosen = standard_callbacks(directory, plan, learner, callbacks)
        mine.append(Run(directory, plan, learner, chosen, distributed))
        state = _open_directory(mine[0], resume, stack)
        if state is None:
            return None, None
        return state["run"], state["learner"] if distributed.size > 1 else None

    saved, weights = distributed.first(open_first)
    if not mine:
        mine.append(Run(directory, plan, learner, [Checkpoints(plan.settings.checkpoint_every)], distributed))
        if weights is not None:
            learner.load_state_dict(weights)
    if saved is not None:
        plan.schedule.load_state_dict(saved["schedule"])
    return mine[0]


def _open_directory(run: Run, resume: bool, stack: ExitStack) -> State | None:
    """Lock the directory, then write its configuration or restore learner and callbacks; returns the saved state."""
    directory = run.directory
    stack.enter_context(directory.locked())
    if not resume:
        directory.require_free()
        directory.write_config(run.plan)
    state = directory.load() if directory.has_checkpoint else None
    if state is not None:
        directory.remove_stale_tensors()
        run.learner.load_state_dict(state["learner"])
        for callback in run.callbacks:
            if callback.name in state["callbacks"]:
                callback.load_state_dict(state["callbacks"][callback.name])
    elif directory.rows_path.exists() and directory.rows_path.stat().st_size:
        raise FileNotFoundError(
            f"{directory.checkpoint_path} has no state.json, though the run has rows: restore it from a copy, or start "
            "a new run."
        )
    run.rows = RowWriter(directory.rows_path, START if state is None else state["run"]["rows"])
    stack.callback(run.rows.close)
    return state
