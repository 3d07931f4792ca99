"""The callbacks of every run, in the order of their rows within a step."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from vase.checkpoint import State
from vase.learners.protocol import InfersEnvironments, Learner
from vase.learners.records import EnvironmentView, Step
from vase.metrics.detection import compare_switch
from vase.metrics.forgetting import SETTLED_AFTER
from vase.metrics.frozen import FrozenProbes
from vase.metrics.latents import moves, position_latents
from vase.metrics.probes import ProbeSettings, ProbeSuite
from vase.metrics.worlds import measure_world
from vase.rows import EndRow, MeasuresRow, PositionLatents, Row, StageRow, StepRow, SwitchRow
from vase.training.callbacks import Callback, Run
from vase.training.columns import finite, step_columns, switch_columns
from vase.training.fingerprints import Fingerprints
from vase.training.imagination import Imagination
from vase.training.plan import frozen_settings, probe_settings

_POSITION_SALT, _MEASURES_SALT = 20_180_820, 20_181_203
"""Keep the random numbers of different measurements apart."""


def standard_callbacks(run: Run, extra: Sequence[Callback] = ()) -> tuple[Callback, ...]:
    """What the settings ask for. `extra` callbacks come after those with rows and before the checkpoint."""
    plan, settings = run.plan, run.plan.settings
    probing = probe_settings(settings)
    chosen = (
        Fingerprints(run.directory, plan),
        Switches(),
        StepRows(settings.rows_every),
        *([] if probing is None else _probes(run, probing)),
        *([Imagination(plan, run.learner)] if settings.imagination or settings.anticipation else []),
        LearnerState(),
        *([Measures()] if settings.measures else []),
        *extra,
        Timing(),
        Checkpoints(settings.checkpoint_every),
    )
    names = [callback.name for callback in chosen]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two callbacks are named {name!r}: give each a `name` of its own.")
    return chosen


def _probes(run: Run, probing: ProbeSettings) -> tuple[Callback, Callback]:
    """The appendix's probes, and those on the frozen encoder."""
    worlds, settings = run.plan.worlds, run.plan.settings
    frozen = FrozenProbes(worlds, frozen_settings(settings), seed=settings.seed)
    every = settings.frozen_every * settings.probe_every
    return Probes(ProbeSuite(worlds, probing, seed=settings.seed)), Frozen(frozen, every)


@dataclass
class Switches(Callback):
    """Rows of announced switches, compared with the true ones."""

    saved = ("announced", "environment")
    announced: int = 0
    """Step of the last announced switch."""
    environment: int | None = None
    """The learner's environment after the last step; None before the first one."""

    def on_step(self, run: Run, step: Step) -> list[SwitchRow]:
        before, self.environment = self.environment, step.environment
        if not step.switched:
            return []
        compared = {"true_step": None, "delay": None, "false_alarm": False}
        if before is not None:
            compared = compare_switch(run.plan.timeline.switches, self.announced, run.step)
            self.announced = run.step
        row = {
            **run.row("switch"),
            "from": before,
            "environment": step.environment,
            "is_new": step.is_new,
            **compared,
            **switch_columns(step),
        }
        return [cast(SwitchRow, row)]


@dataclass
class StepRows(Callback):
    """A row with the numbers of a step, every `every` steps."""

    every: int

    def on_step(self, run: Run, step: Step) -> list[StepRow]:
        if run.step % self.every:
            return []
        return [cast(StepRow, {**run.row("step"), **step_columns(step)})]


@dataclass
class Probes(Callback):
    """Rows of probes that are trained on the representation."""

    suite: ProbeSuite

    def on_step(self, run: Run, step: Step) -> list[Row]:
        return self.suite.after_step(run.learner, run.step)

    def state_dict(self) -> State:
        return self.suite.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.suite.load_state_dict(state)


@dataclass
class Frozen(Callback):
    """Rows of fresh, kept and settled probes on the frozen encoder, for the worlds met so far."""

    suite: FrozenProbes
    every: int
    """Steps between two scores; 0 for none within a stage. The end of each stage is always scored."""

    def on_step(self, run: Run, step: Step) -> list[Row]:
        timeline, switches = run.plan.timeline, run.plan.schedule.switches  # joint training leaves no world
        rows: list[Row] = []
        if (left := run.step - SETTLED_AFTER) in switches:
            world = timeline.world_at(left)
            if not any(left <= visit.start < run.step for visit in timeline.visits(world)):  # it is still away
                rows = self.suite.settle(run.learner, run.step, world)
        if timeline.ends_stage(run.step) or (self.every > 0 and run.step % self.every == 0):
            met = {span.name for span in timeline.until(run.step)}
            rows = self.suite.score(run.learner, run.step, met, keep=run.world if run.step in switches else None)
        return rows

    def state_dict(self) -> State:
        return self.suite.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.suite.load_state_dict(state)


@dataclass
class LearnerState(Callback):
    """Rows with the state of the learner and the position latents, at the end of each stage and of the run."""

    saved = ("held", "dropped")
    held: int = 0
    """Batches that were held back so far."""
    dropped: int = 0
    """Held batches that were dropped so far."""

    def on_step(self, run: Run, step: Step) -> None:
        self.held += step.held
        self.dropped += step.dropped

    def on_stage_end(self, run: Run) -> list[StageRow]:
        learner, row = run.learner, run.row("stage")
        if isinstance(learner, InfersEnvironments):
            current = learner.environments[learner.environment]
            row |= {"environment": current.index, **_flags(current)}
        row |= self._known(learner)
        if moves(run.plan.worlds[run.world][1]):
            row["position"] = position_of(run, run.world)
        return [cast(StageRow, row)]

    def on_end(self, run: Run) -> list[EndRow]:
        row: Row = {"kind": "end", "step": run.step, **self._known(run.learner)}
        if moving := [world for world, (_, test) in run.plan.worlds.items() if moves(test)]:
            row["position"] = position_of(run, moving[0])
        return [cast(EndRow, row)]

    def _known(self, learner: Learner) -> Row:
        """What a learner knows of its environments, nothing if it infers none; and the counts."""
        views = learner.environments if isinstance(learner, InfersEnvironments) else ()
        known = [_described(view) for view in views]
        return {"environments": known, "held": self.held, "dropped": self.dropped}


def _described(view: EnvironmentView) -> Row:
    found: Row = {"index": view.index, "age": view.age, "loss": finite(view.loss), **_flags(view)}
    return found if view.duplicate_of is None else found | {"duplicate_of": view.duplicate_of}


def _flags(view: EnvironmentView) -> dict[str, list[bool]]:
    return {"mask": view.mask.tolist(), "used": view.used.tolist()}


def position_of(run: Run, world: str) -> PositionLatents:
    """The position latents on held-out images of a world."""
    number = list(run.plan.worlds).index(world)
    rng = np.random.default_rng([run.plan.settings.seed, number, _POSITION_SALT])
    found = position_latents(run.learner, run.plan.worlds[world][1], rng)
    return {"world": world, "x": found["x"], "y": found["y"]}


class Measures(Callback):
    """Rows with disentanglement, reconstruction and dreams of every world seen so far, at the end of each stage."""

    def on_stage_end(self, run: Run) -> Iterator[MeasuresRow]:
        seen = {span.name for span in run.plan.timeline.until(run.step)}
        for number, (world, (_, test)) in enumerate(run.plan.worlds.items()):
            if world in seen:
                rng = np.random.default_rng([run.plan.settings.seed, number, run.stage, _MEASURES_SALT])
                measured = measure_world(run.learner, test, rng)
                yield cast(MeasuresRow, {**run.row("measures"), "world": world, **measured})


class Timing(Callback):
    """timing.json: wall time of this process and of those that it continues, and processor time spent learning."""

    def on_start(self, run: Run) -> None:
        self._earlier = [segment for segment in run.directory.timing() if segment["to"] <= run.step]
        self._start, self._clock = run.step, time.perf_counter()

    def on_save(self, run: Run) -> None:
        seconds = round(time.perf_counter() - self._clock, 3)
        segment = {"from": self._start, "to": run.step, "seconds": seconds, "learning": round(run.learning_seconds, 3)}
        run.directory.write_timing([*self._earlier, segment])


@dataclass
class Checkpoints(Callback):
    """Saves the run at its start and end, every `every` steps, and before it stops; every worker takes part."""

    every: int

    def on_start(self, run: Run) -> None:
        if run.step == 0:
            run.save()

    def on_step_end(self, run: Run) -> None:
        if run.step % self.every == 0 or run.step == run.total or run.stopping:
            run.save()
