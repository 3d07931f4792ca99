"""The training loop around a learner: stream, rows, probes, checkpoints and interruptions."""

from __future__ import annotations

import dataclasses
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch

from vase.learner import VASE
from vase.probes import ProbeSuite
from vase.records import Step
from vase.runs.directory import BEGINNING, Row, RowWriter, RunDirectory, explain_disk_error, versions
from vase.runs.settings import Plan, RunSettings, make_plan
from vase.runs.summary import summary
from vase.streams import Batch, Environment

POSITION_IMAGES = 1_000
"""Held-out images on which the position latents are looked for."""
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
        on_event: called at every step and every row.

    Raises:
        Interrupted: after Ctrl-C or SIGTERM, once the state is saved.
    """
    directory = RunDirectory(run_dir)
    tell = on_event or (lambda event: None)
    if not resume:
        directory.require_free()

    def note(text: str) -> None:
        tell(Event("note", 0, 0, text=text))

    with interruptible() as stop:
        plan = _continued(directory, settings, note) if resume else make_plan(settings or RunSettings(), report=note)
        with directory.locked(), _threads(plan.settings.threads):
            try:
                if not resume:
                    directory.require_free()
                    VASE(plan.config, device=plan.settings.device)  # what cannot be built must not leave a directory
                    directory.write_config(plan)
                _Training(directory, plan, tell, stop).run()
                return summary(directory.path)
            except OSError as error:
                if error.errno is None or isinstance(error, BrokenPipeError):
                    raise
                raise explain_disk_error(error, directory.path) from error


def _continued(directory: RunDirectory, given: RunSettings | None, note: Callable[[str], None]) -> Plan:
    """The plan of a run that exists already."""
    saved = directory.read_config()
    started = RunSettings.from_dict(saved["settings"])
    for name in [] if given is None else given.differences(started):
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
    plan = make_plan(given or started, [(str(world), int(steps)) for world, steps in saved["stages"]], note)
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
    """One process's share of a run."""

    directory: RunDirectory
    plan: Plan
    tell: Callable[[Event], None]
    stop: threading.Event
    tally: Tally = field(default_factory=Tally)

    def run(self) -> None:
        settings, schedule = self.plan.settings, self.plan.schedule
        probing = settings.probe_settings()
        self.probes = None if probing is None else ProbeSuite(self.plan.worlds, probing, seed=settings.seed)
        position, segments = self._open(), self.directory.timing()
        self.timing = [segment for segment in segments if segment["to"] <= schedule.step]
        self.start, self.clock = schedule.step, time.perf_counter()
        self.saved = schedule.step
        self.rows = RowWriter(self.directory.rows_path, position)
        try:
            if not self.directory.has_checkpoint:
                self._save(0)
            self._event("start", schedule.step)
            while schedule.step < len(schedule):
                step = self._one(next(schedule))
                if step % settings.checkpoint_every == 0 or step == len(schedule) or self.stop.is_set():
                    self._save(step)
                if self.stop.is_set() and step < len(schedule):
                    raise Interrupted(self.directory, step, len(schedule))
            self._event("end", schedule.step)
        finally:
            self.rows.close()

    def _open(self) -> dict[str, Any]:
        """The learner and the stream where the last checkpoint left them; returns the position in the rows."""
        settings, directory = self.plan.settings, self.directory
        if not directory.has_checkpoint:
            if directory.rows_path.exists() and directory.rows_path.stat().st_size:
                raise FileNotFoundError(
                    f"{directory.checkpoint_path} has no state.json, though the run has rows: restore it from a "
                    "copy, or start a new run."
                )
            self.model = VASE(self.plan.config, seed=settings.seed, device=settings.device)
            return BEGINNING
        self.model, run = directory.load(self.probes, device=settings.device)
        self.plan.schedule.restore(run["schedule"])
        self.tally = Tally(**run["tally"])
        return run["rows"]

    def _save(self, step: int) -> None:
        if self.saved == step and self.directory.has_checkpoint:
            return
        run = {
            "step": step,
            "schedule": self.plan.schedule.state(),
            "tally": dataclasses.asdict(self.tally),
            "rows": self.rows.sync(),
        }
        self.directory.save(self.model, self.probes, run)
        self.saved = step
        seconds = time.perf_counter() - self.clock
        self.directory.write_timing([*self.timing, {"from": self.start, "to": step, "seconds": round(seconds, 3)}])
        self._event("saved", step)

    # ---------------------------------------------------------------- one batch and its rows

    def _one(self, batch: Batch) -> int:
        """Learn one batch and write what it gave; returns the number of batches seen."""
        settings, schedule = self.plan.settings, self.plan.schedule
        before = self.model.environment if self.model.environments else None
        result = self.model.partial_fit(batch.images)
        step = result.step
        stage = schedule.stage_of(step - 1)
        world = schedule.stages[stage].environment.name
        place = {"step": step, "stage": stage, "world": world}
        self.tally.held += result.held
        self.tally.dropped += result.dropped
        if result.switched:
            self._write({"kind": "switch", **place, **self._switch(result, before)})
        if step % settings.rows_every == 0:
            self.rows.write({"kind": "step", **place, **_step(result)})
        for row in [] if self.probes is None else self.probes.after_step(self.model, step):
            self._write(row)
        if step == len(schedule) or schedule.stage_of(step) != stage:
            self._write({"kind": "stage", **place, **self._stage(world)})
        if step == len(schedule):
            self._write({"kind": "end", "step": step, **self._end()})
        self._event("step", step, result=result)
        return step

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
        world = schedule.stages[schedule.stage_of(max(step - 1, 0))].environment.name
        self.tell(Event(kind, step, len(schedule), world, len(self.model.environments), **values))


def moves(environment: Environment) -> bool:
    """Whether the objects of a world change place."""
    factors = environment.sample(16, np.random.default_rng(0)).factors
    return {"x", "y"} <= factors.keys() and any(np.ptp(factors[axis]) > 0 for axis in "xy")


def position_latents(model: VASE, environment: Environment, rng: np.random.Generator) -> dict[str, dict[str, Any]]:
    """For x and for y, the latent whose mean is most correlated with it, in absolute value, on held-out images."""
    batch = environment.sample(POSITION_IMAGES, rng)
    mean = np.asarray(model.encode(batch.images).mean, np.float64)
    centred = mean - mean.mean(0)
    found = {}
    for axis in "xy":
        target = batch.factors[axis] - batch.factors[axis].mean()
        scale = np.linalg.norm(centred, axis=0) * np.linalg.norm(target)
        correlation = np.divide(target @ centred, scale, out=np.zeros(centred.shape[1]), where=scale > 0)
        latent = int(np.abs(correlation).argmax())
        found[axis] = {"latent": latent, "correlation": round(float(correlation[latent]), 4)}
    return found


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


# ------------------------------------------------------------------------------------------------- signals and threads


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C or SIGTERM into a flag, so that a batch can end; a second one stops at once."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def handle(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    previous = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
