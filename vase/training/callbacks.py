"""Callbacks: everything that happens in a run besides learning. One class per reason; write your own in a few lines.

>>> class Count(Callback):
...     batches, saved = 0, ("batches",)
...     def on_step(self, run, step):
...         self.batches += 1
...         return [{"kind": "count", "step": run.step, "batches": self.batches}]
>>> train("runs/mine", callbacks=[Count()])  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from vase.checkpoint import State
from vase.distributed import Distributed
from vase.learners.protocol import Learner, count_environments
from vase.learners.records import Step
from vase.rows import Row
from vase.training.directory import RunDirectory
from vase.training.plan import Plan
from vase.training.row_file import RowWriter
from vase.worlds import Batch

AnyRow = Mapping[str, Any]
"""A row of any kind: one of `vase.rows`, or of a kind of your own, which tables and figures ignore."""


class Callback:
    """Base class with hooks that do nothing.

    Within a step, the hooks of all callbacks are called in the order on_batch, on_step, on_stage_end, on_end,
    on_step_end. Rows that a hook returns, if any, are written to rows.jsonl at once. Of several workers, only the
    first one calls callbacks (`Checkpoints` apart), so `on_batch` changes its shard alone.
    """

    saved: ClassVar[tuple[str, ...]] = ()
    """Attributes that `state_dict` saves, where it is not overridden."""

    @property
    def name(self) -> str:
        """The key of its state in the checkpoint; unique in a run."""
        return type(self).__name__

    def on_note(self, text: str) -> None:
        """A message about the data or the versions, before the run starts."""

    def on_start(self, run: Run) -> None:
        """Before the first batch, new or resumed; `load_state_dict` has been called."""

    def on_batch(self, run: Run, batch: Batch) -> Batch:
        """Before a batch is learnt; returns what is learnt instead."""
        return batch

    def on_step(self, run: Run, step: Step) -> Iterable[AnyRow] | None:
        """After a batch was learnt."""

    def on_stage_end(self, run: Run) -> Iterable[AnyRow] | None:
        """After the last batch of a stage."""

    def on_end(self, run: Run) -> Iterable[AnyRow] | None:
        """After the last batch of the run."""

    def on_step_end(self, run: Run) -> None:
        """After all rows of a step."""

    def on_row(self, run: Run, row: AnyRow) -> None:
        """After a row was written, by whichever callback."""

    def on_save(self, run: Run) -> None:
        """After a checkpoint was written."""

    def state_dict(self) -> State:
        """What an exact resume needs: nested dictionaries of tensors and JSON-ready values."""
        return {name: getattr(self, name) for name in self.saved}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`; not called if that was empty."""
        for name in self.saved:
            setattr(self, name, state[name])


@dataclass
class Run:
    """A run in progress: its learner, its stream and its files. Every hook of a callback gets it."""

    directory: RunDirectory
    plan: Plan
    learner: Learner
    callbacks: Sequence[Callback] = ()
    distributed: Distributed = field(default_factory=Distributed)
    rows: RowWriter | None = None
    """None on all workers but the first."""
    learning_seconds: float = 0.0
    """Processor time that this process has spent in `partial_fit`, which a busy machine does not lengthen."""
    stopping: bool = False
    """Ctrl-C or SIGTERM was received: the run ends after this step."""

    @property
    def step(self) -> int:
        """Batches drawn from the stream so far."""
        return self.plan.schedule.step

    @property
    def total(self) -> int:
        """Batches of the whole stream."""
        return self.plan.timeline.total

    @property
    def stage(self) -> int:
        """Index of the current stage."""
        return self.plan.timeline.stage_of(max(self.step, 1))

    @property
    def world(self) -> str:
        """Name of the current world."""
        return self.plan.timeline.world_at(max(self.step, 1))

    @property
    def environments(self) -> int:
        """Environments that the learner knows; 0 for a learner without environments."""
        return count_environments(self.learner)

    @property
    def name(self) -> str:
        """The name of the run's directory."""
        return self.directory.path.resolve().name

    @property
    def identity(self) -> str | None:
        """What stays the same when the run is resumed."""
        return str(self.directory.path.resolve())

    @property
    def parameters(self) -> dict[str, Any]:
        """Settings and configuration, for trackers."""
        return {"settings": self.plan.settings.to_dict(), "config": self.plan.config.to_dict()}

    def row(self, kind: str) -> Row:
        """The first columns of a row of a kind: where in the stream it is written."""
        return {"kind": kind, "step": self.step, "stage": self.stage, "world": self.world}

    def write(self, rows: Iterable[AnyRow] | None) -> None:
        """Append the rows of a hook, and show them to all callbacks."""
        for row in rows or ():
            if self.rows is not None:
                self.rows.write(row)
            for callback in self.callbacks:
                callback.on_row(self, row)

    def save(self) -> None:
        """Commit learner, stream, rows and callbacks as one checkpoint. All workers must call it together."""
        learner = self.learner.state_dict()  # collective: each worker has a share of it
        if self.rows is not None:
            run = {
                "step": self.step,
                "learner": self.plan.settings.learner,
                "settings": self.plan.settings.to_dict(),
                "config": self.plan.config.to_dict(),
                "schedule": self.plan.schedule.state_dict(),
                "rows": self.rows.sync(),
            }
            states = {callback.name: state for callback in self.callbacks if (state := callback.state_dict())}
            self.directory.save({"learner": learner, "run": run, "callbacks": states}, self.plan.settings.keep)
        self.distributed.barrier()  # nobody leaves before it is written
        for callback in self.callbacks:
            callback.on_save(self)
