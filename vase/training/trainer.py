"""The training loop around a learner: stream, rows, probes, checkpoints and interruptions."""

from __future__ import annotations

import dataclasses
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from vase.distributed import Distributed, init_distributed
from vase.learners.records import Step
from vase.learners.vase import VASE
from vase.metrics.position import moves, position_latents
from vase.metrics.probes import ProbeSuite
from vase.metrics.worlds import measure_world
from vase.training.directory import BEGINNING, Row, RowWriter, RunDirectory, explain_disk_error, versions
from vase.training.imagination import Imagining
from vase.training.plan import Plan, make_plan, probe_settings
from vase.training.process import interruptible, threads
from vase.training.settings import RunSettings
from vase.training.sources import Portraits, absolute, portraits, require_same_pictures
from vase.training.summary import summary
from vase.worlds import Batch

_NUMBERS = (
    "loss",
    "reconstruction",
    "deviance",
    "kl",
    "capacity",
    "dream_encoder",
    "dream_decoder",
    "classifier",
)


@dataclass(frozen=True)
class Event:
    """Something that happened in a run, for whoever watches it."""

    kind: Literal["start", "step", "row", "note", "saved", "end"]
    step: int
    total: int
    world: str = ""
    environments: int = 0
    result: Step | None = None
    """For "step": what the learner did."""
    row: Row | None = None
    """For "row": what was written, step rows apart."""
    text: str = ""
    """For "note": a line to show."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM: the run was saved and can go on."""

    def __init__(self, directory: RunDirectory, step: int, total: int) -> None:
        super().__init__(
            f"stopped and saved at step {step:,} of {total:,}. Go on with: vase train --resume --out {directory.path}"
        )


def train(
    run_dir: str | os.PathLike[str],
    settings: RunSettings | None = None,
    *,
    resume: bool = False,
    on_event: Callable[[Event], None] | None = None,
) -> dict[str, Any]:
    """Train a learner on a stream, with everything it did in a directory; returns the summary.

    Args:
        run_dir: a new directory, or with `resume` that of an interrupted run.
        settings: the run; with `resume` they may be left out, and must agree with the run's own if they are given.
        resume: continue from the last checkpoint. Rows and weights are then those of a run without interruption.
        on_event: called at every step and every row; of several workers, on the first only.

    Started by torchrun, all workers train one learner: each has its share of every batch, and the first one alone
    touches the directory, trains probes and calls `on_event`.

    Raises:
        Interrupted: after Ctrl-C or SIGTERM, once the state is saved.
        LostWorkers: another worker died.
    """
    directory = RunDirectory(run_dir)
    device = "auto" if settings is None else settings.device
    with init_distributed(device) as crew, interruptible() as stop, ExitStack() as stack:
        tell = on_event if on_event is not None and crew.is_main_process else lambda event: None

        def prepare() -> Plan:
            if not resume:
                directory.require_free()
            return _plan(directory, settings, resume, crew, lambda text: tell(Event("note", 0, 0, text=text)))

        def begin() -> None:
            stack.enter_context(directory.locked())
            if not resume:
                directory.require_free()
                model = VASE(plan.config, device=plan.settings.device)
                Imagining.of(plan, model)  # what cannot be built must not leave a directory
                directory.write_config(plan)

        plan = _for_all(crew, prepare)
        stack.enter_context(threads(plan.settings.threads))
        try:
            crew.on_main_process(begin)
            _Training(directory, plan, tell, stop, crew).run()
            return crew.on_main_process(lambda: summary(directory.path))
        except OSError as error:
            if error.errno is None or isinstance(error, BrokenPipeError):
                raise
            raise explain_disk_error(error, directory.path) from error


def _plan(
    directory: RunDirectory, given: RunSettings | None, resume: bool, crew: Distributed, note: Callable[[str], None]
) -> Plan:
    """What the run will do, and data to do it with."""
    settings = directory.settings() if resume else given or RunSettings()
    images = settings.batch_size
    if images % crew.size or images < 2 * crew.size:
        nearest = max(2, math.ceil(images / crew.size)) * crew.size
        raise ValueError(
            f"batch_size={images} for {crew.size} workers: must be a multiple of their number, with two images each or "
            f"more; use --batch-size {nearest}, or another number of workers."
        )
    if settings.imagination and crew.size > 1:
        raise ValueError(
            f"imagination={settings.imagination!r} with {crew.size} workers: what imagines sees whole batches, "
            "beside a learner in one process; start it without torchrun."
        )
    return _continued(directory, given, note) if resume else make_plan(given or RunSettings(), report=note)


def _for_all(crew: Distributed, prepare: Callable[[], Plan]) -> Plan:
    """The plan of the first worker, which fetches the data; the others find it in the cache."""
    mine: list[Plan] = []

    def settled() -> tuple[RunSettings, list[tuple[str, int]]]:
        mine.append(prepare())
        return mine[0].settings, mine[0].stages

    settings, stages = crew.on_main_process(settled)
    return mine[0] if mine else make_plan(settings, stages)


def _continued(directory: RunDirectory, given: RunSettings | None, note: Callable[[str], None]) -> Plan:
    """The plan of a run that exists already."""
    saved = directory.read_config()
    started = RunSettings.from_dict(saved["settings"])
    for name in [] if given is None else absolute(given).differences(absolute(started)):
        ours, theirs = getattr(given, name), getattr(started, name)
        raise ValueError(
            f"{name} = {ours!r}, but {directory.path} was started with {name} = {theirs!r}: leave it out to go on, "
            "or start another run with another --out."
        )
    for name, version in versions().items():
        if saved["versions"].get(name) != version:
            note(
                f"{name} is {version} now and was {saved['versions'].get(name)}: the last digits may differ from now on"
            )
    worlds = {name: getattr(started, name) for name in ("stream", "imagination", "anticipation")}
    settings = started if given is None else dataclasses.replace(given, **worlds)  # named as in the saved stages
    plan = make_plan(settings, [(str(world), int(steps)) for world, steps in saved["stages"]], note)
    if plan.config.to_dict() != type(plan.config).from_dict(saved["config"]).to_dict():
        raise ValueError(
            f"{directory.path} was started with another configuration than preset {started.preset!r} gives now; "
            "use the version of vase that started it, or start a new run."
        )
    return plan


@dataclass
class Tally:
    """What a run remembers from step to step, beside the learner."""

    announced: int = 0
    """Step of the last switch the learner announced."""
    held: int = 0
    """Batches that were set aside for a while."""
    dropped: int = 0
    """Held batches that were given up."""

    def switch(self, switches: tuple[int, ...], step: int) -> dict[str, Any]:
        """How an announced switch compares with the truth: batches since the world changed, or a false alarm."""
        recent = [true for true in switches if self.announced <= true < step]
        self.announced = step
        if not recent:
            return {"true_step": None, "delay": None, "false_alarm": True}
        return {"true_step": recent[-1], "delay": step - recent[-1], "false_alarm": False}


@dataclass
class _Training:
    """One process's share of a run: of several workers, only the first one writes, measures and tells."""

    directory: RunDirectory
    plan: Plan
    tell: Callable[[Event], None]
    stop: threading.Event
    crew: Distributed
    tally: Tally = field(default_factory=Tally)
    probes: ProbeSuite | None = None
    imagining: Imagining | None = None
    pictures: Portraits = field(default_factory=dict)
    timing: list[dict[str, float]] = field(default_factory=list)

    def run(self) -> None:
        schedule, every = self.plan.schedule, self.plan.settings.checkpoint_every
        with ExitStack() as stack:
            self._open(stack)
            if self.saved < 0:
                self._save(0)
            self._event("start", schedule.step)
            while schedule.step < len(schedule):
                step = self._one(next(schedule))
                stopping = self.crew.any(self.stop.is_set())
                if step % every == 0 or step == len(schedule) or stopping:
                    self._save(step)
                if stopping and step < len(schedule):
                    raise Interrupted(self.directory, step, len(schedule))
            self._event("end", schedule.step)

    def _open(self, stack: ExitStack) -> None:
        """The learner and the stream where the last checkpoint left them, or at their beginning."""
        settings, schedule = self.plan.settings, self.plan.schedule
        run, state = self.crew.on_main_process(lambda: self._read(stack))
        if not self.crew.is_main_process:
            self.model = self._new() if state is None else VASE.from_state_dict(state, device=settings.device)
        if run is not None:
            schedule.load_state_dict(run["schedule"])
            self.tally = Tally(**run["tally"])
        self.timing = [segment for segment in self.timing if segment["to"] <= schedule.step]
        self.start, self.clock = schedule.step, time.perf_counter()
        self.saved = -1 if run is None else schedule.step

    def _new(self) -> VASE:
        return VASE(self.plan.config, seed=self.plan.settings.seed, device=self.plan.settings.device)

    def _read(self, stack: ExitStack) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """What the first worker finds in the directory: the position, and a state for the learners of the others."""
        settings, directory = self.plan.settings, self.directory
        self.pictures = portraits(self.plan)
        state = directory.load() if directory.has_checkpoint else None
        kept = None if state is None else state["run"].get("pictures")
        require_same_pictures(directory.path, self.plan, directory.read_config()["sources"], kept, self.pictures)
        probing = probe_settings(settings)
        self.probes = None if probing is None else ProbeSuite(self.plan.worlds, probing, seed=settings.seed)
        self.timing = directory.timing()
        if state is not None:
            self.model = VASE.from_state_dict(state["learner"], device=settings.device)
            if self.probes is not None:
                self.probes.load_state_dict(state["probes"])
        elif directory.rows_path.exists() and directory.rows_path.stat().st_size:
            raise FileNotFoundError(
                f"{directory.checkpoint_path} has no state.json, though the run has rows: restore it from a "
                "copy, or start a new run."
            )
        else:
            self.model = self._new()
        self.imagining = Imagining.of(self.plan, self.model)
        if self.imagining is not None and state is not None:
            self.imagining.load_state_dict(state["imagination"])
        run = None if state is None else state["run"]
        self.rows = RowWriter(directory.rows_path, BEGINNING if run is None else run["rows"])
        stack.callback(self.rows.close)
        return run, state["learner"] if state is not None and self.crew.size > 1 else None

    def _save(self, step: int) -> None:
        if self.saved == step:
            return
        if self.crew.is_main_process:
            self._commit(step)
        else:
            self.model.state_dict()  # each worker has a share of it
        self.crew.barrier()  # nobody leaves before it is written
        self.saved = step
        self._event("saved", step)

    def _commit(self, step: int) -> None:
        run = {
            "step": step,
            "schedule": self.plan.schedule.state_dict(),
            "tally": dataclasses.asdict(self.tally),
            "rows": self.rows.sync(),
            "pictures": self.pictures,
        }
        self.directory.save(self.model, self.probes, run, self.imagining)
        seconds = time.perf_counter() - self.clock
        self.directory.write_timing([*self.timing, {"from": self.start, "to": step, "seconds": round(seconds, 3)}])

    # ---------------------------------------------------------------- one batch and its rows

    def _one(self, batch: Batch) -> int:
        """Learn one batch and write what it gave; returns the number of batches seen."""
        before = self.model.environment if self.model.environments else None
        images = batch.images if self.imagining is None else self.imagining.meet(batch, self.plan.schedule.step)
        result = self.model.partial_fit(self.crew.shard(images))
        self.tally.held += result.held
        self.tally.dropped += result.dropped
        if self.crew.is_main_process:
            self._record(result, before)
        return result.step

    def _record(self, result: Step, before: int | None) -> None:
        settings, schedule, step = self.plan.settings, self.plan.schedule, result.step
        stage = schedule.stage_of(step - 1)
        world = schedule.stages[stage].world.name
        place = {"step": step, "stage": stage, "world": world}
        if result.switched:
            self._write({"kind": "switch", **place, **self._switch(result, before)})
        if step % settings.rows_every == 0:
            self.rows.write({"kind": "step", **place, **_step(result)})
        for row in [] if self.probes is None else self.probes.after_step(self.model, step):
            self._write(row)
        for row in [] if self.imagining is None else self.imagining.after_step(step):
            self._write({"kind": "imagination", **place, **row})
        if step == len(schedule) or schedule.stage_of(step) != stage:
            self._write({"kind": "stage", **place, **self._stage(world)})
            for row in self._measures(stage) if settings.measures else []:
                self._write({"kind": "measures", **place, **row})
            if self.imagining is not None and (pictures := self.imagining.pictures(world)):
                self.directory.keep_pictures(pictures)
        if step == len(schedule):
            self._write({"kind": "end", "step": step, **self._end()})
        self._event("step", step, result=result)

    def _write(self, row: Row) -> None:
        self.rows.write(row)
        self._event("row", row["step"], row=row)

    def _switch(self, result: Step, before: int | None) -> Row:
        first = {"true_step": None, "delay": None, "false_alarm": False}
        compared = first if before is None else self.tally.switch(self.plan.schedule.switches, result.step)
        return {
            "from": before,
            "environment": result.environment,
            "is_new": result.is_new,
            **compared,
            "reasons": list(result.reasons),
        }

    def _stage(self, world: str) -> Row:
        """The state of the learner as a world ends, before anything foreign touches it."""
        current = self.model.environments[self.model.environment]
        row: Row = {
            "environment": current.index,
            "mask": current.mask.tolist(),
            "used": current.used.tolist(),
            **self._knowledge(),
        }
        if moves(self.plan.worlds[world][1]):
            row["position"] = self._position(world)
        return row

    def _measures(self, stage: int) -> Iterator[Row]:
        """What the learner knows of every world met so far."""
        met = [met.world.name for met in self.plan.schedule.stages[: stage + 1]]
        for number, (world, (_, test)) in enumerate(self.plan.worlds.items()):
            if world in met:
                rng = np.random.default_rng([self.plan.settings.seed, number, stage, 20_181_203])
                yield {"world": world, **measure_world(self.model, test, rng)}

    def _end(self) -> Row:
        """The state at the end of the run, with the position latents of the first world that moves."""
        row = self._knowledge()
        for world, (_, test) in self.plan.worlds.items():
            if moves(test):
                return {**row, "position": self._position(world)}
        return row

    def _knowledge(self) -> Row:
        environments = [
            {
                "index": view.index,
                "age": view.age,
                "loss": _number(view.loss),
                "mask": view.mask.tolist(),
                "used": view.used.tolist(),
            }
            for view in self.model.environments
        ]
        return {"environments": environments, "held": self.tally.held, "dropped": self.tally.dropped}

    def _position(self, world: str) -> Row:
        number = list(self.plan.worlds).index(world)
        rng = np.random.default_rng([self.plan.settings.seed, number, 20_180_820])
        return {"world": world, **position_latents(self.model, self.plan.worlds[world][1], rng)}

    def _event(self, kind: Any, step: int, **values: Any) -> None:
        schedule = self.plan.schedule
        world = schedule.stages[schedule.stage_of(max(step - 1, 0))].world.name
        self.tell(Event(kind, step, len(schedule), world, len(self.model.environments), **values))


def _step(result: Step) -> Row:
    """A step row: every number of the step, rounded to what float32 holds."""
    return {
        "environment": result.environment,
        "held": result.held,
        **{name: _number(getattr(result, name)) for name in _NUMBERS},
        "atypicality": [_number(value) for value in result.atypicality.tolist()],
        "mask": result.mask.tolist(),
    }


def _number(value: float) -> float | None:
    """Seven digits; None for what JSON cannot hold."""
    return float(f"{value:.7g}") if math.isfinite(value) else None
