"""The watch itself: frames become batches, batches go to the learner, and everything is recorded."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from jaxtyping import UInt8

from vase.checkpoint import CheckpointError
from vase.rows import Row
from vase.spelling import did_you_mean
from vase.training.process import threads
from vase.training.row_file import START, RowWriter
from vase.watching.directory import WatchDirectory
from vase.watching.frames import Broken, Frame, Notice, fit_frame
from vase.watching.learners import Watches, WatchLearner, make_watch_learner, resumed_watch_learner
from vase.watching.observer import Observer
from vase.watching.records import Watched, step_row, switch_row, watched
from vase.watching.settings import WatchSettings
from vase.watching.shortage import too_few_frames
from vase.watching.sources import AnySource, Source, open_source

_log = logging.getLogger("vase.watching")
MAX_BROKEN_ROWS = 1000
"""Broken frames that get a row of their own; all are counted."""


def watch(
    source: AnySource | Source | None = None,
    *,
    learner: Watches | str | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    settings: WatchSettings | None = None,
    observers: Sequence[Observer] = (),
    stop: threading.Event | None = None,
    **options: Any,
) -> Iterator[Watched]:
    """Watch a source, and hand out what became of every batch of frames.

    Args:
        source: a folder that fills up, a video file, a camera (0, /dev/video0, rtsp://...), "-" for standard input, an
            iterable of arrays, or any object that follows `vase.watching.Source`. A resumed watch may leave it out, or
            name another one to continue with.
        learner: a learner of yours, or the name of one ("vase", "monitor", "module:Class"); by default the `model` of
            the settings, or a new VASE.
        out: a directory for rows, checkpoints and snapshots; None records nothing.
        resume: continue the watch in `out`.
        settings: see `WatchSettings`; its fields can also be given by name, e.g. `batch_size=32, idle=0`. The
            equivalent of --set is `overrides={"environments.patience": 4}`.
        observers: are told of everything.
        stop: ends the watch when it is set.

    Examples:
        >>> import numpy as np
        >>> frames = (np.full((48, 64, 3), 100, np.uint8) for _ in range(128))
        >>> [step.frames for step in watch(frames, learner="monitor")]
        [64, 128]
    """
    directory = None if out is None else WatchDirectory(out)
    if resume and directory is None:
        raise ValueError("resume=True: name the directory of the watch with out=...")
    before = directory.settings() if resume and directory is not None else None
    given, name = (None, learner) if isinstance(learner, str) else (learner, None)
    _require_known(options)
    wanted = replace(settings or before or WatchSettings(), **options | ({"learner": name} if name else {}))
    opened = open_source(_named(source, wanted), idle=wanted.idle, raw=wanted.raw)
    wanted = replace(wanted, source=opened.name)
    if directory is None:
        found = make_watch_learner(wanted, given)
    elif before is None:
        directory.require_free()
        found = make_watch_learner(wanted, given)
    else:
        _require_same(wanted, before, directory)
        found = resumed_watch_learner(wanted, directory, given)
    return Session(opened, found, wanted, directory, observers, stop or threading.Event()).steps()


def _require_known(options: Mapping[str, Any]) -> None:
    known = [field.name for field in fields(WatchSettings)]
    if unknown := [name for name in options if name not in known]:
        name = "overrides" if unknown[0] in ("set", "config") else unknown[0]
        raise TypeError(
            f"watch() has no option {unknown[0]!r}{did_you_mean(name, known)} Options: {', '.join(known)}; "
            'fields of the configuration go into overrides={"environments.patience": 4}.'
        )


def _named(source: AnySource | Source | None, settings: WatchSettings) -> AnySource | Source:
    if source is not None:
        return source
    if not settings.source:
        raise ValueError("no source: name a folder, a video file, a camera, or - for frames on standard input.")
    return "-" if settings.source == "standard input" else settings.source


def _require_same(wanted: WatchSettings, before: WatchSettings, directory: WatchDirectory) -> None:
    """Refuse settings that would compute something else than the watch that is resumed."""
    if differing := wanted.differences(before):
        name = differing[0]
        raise ValueError(
            f"{name}={getattr(wanted, name)!r}: {directory.path} was started with {getattr(before, name)!r}; leave it "
            "out to resume, or start another watch with another --out."
        )


Moment = tuple[str, str | float | None]
"""Label and time of a frame."""


@dataclass(frozen=True)
class Progress:
    """How far a watch has come: what a checkpoint holds besides the learner."""

    step: int = 0
    frames: int = 0
    broken: int = 0
    environment: int | None = None
    snapshots: tuple[int, ...] = ()
    """Environments of which there is a picture."""
    held: tuple[Moment, ...] = ()
    """The first frame of each batch that waits for a verdict."""
    stages: tuple[tuple[str, int], ...] = ()
    """Sources, and the batches that came from each."""
    position: Mapping[str, Any] = field(default_factory=dict)
    """State of the current source."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Frames that are learnt together."""

    images: UInt8[np.ndarray, "B C H W"]
    first: Moment
    last: Frame
    frames: int
    broken: tuple[Broken, ...]
    """Frames that could not be read since the last batch."""
    position: Mapping[str, Any]


class Session:
    """One watch in progress."""

    def __init__(
        self,
        source: Source,
        learner: WatchLearner,
        settings: WatchSettings,
        directory: WatchDirectory | None,
        observers: Sequence[Observer],
        stop: threading.Event,
    ) -> None:
        self.source, self.learner, self.settings, self.directory = source, learner, settings, directory
        self.observers, self.stop = observers, stop
        self.progress = Progress(stages=((source.name, 0),))
        self._rows: RowWriter | None = None

    def steps(self) -> Iterator[Watched]:
        """Watch until the source ends, `stop` is set, or the caller has seen enough; then save."""
        with ExitStack() as stack:
            for observer in self.observers:
                stack.callback(observer.close)
            self._open(stack)
            for observer in self.observers:
                observer.on_start(self.source.name, self.progress.step)
            saved, sizes, changed = self.progress, list[int](), False
            try:
                for batch in self._batches():
                    seen = self._learn(batch)
                    sizes.append(len(batch.images))
                    changed |= seen.change is not None
                    if seen.change is not None or self.progress.step % self.settings.checkpoint_every == 0:
                        self._save()
                        saved = self.progress
                    yield seen
                if len(sizes) == self.progress.step and not changed:  # a watch that went on was long enough before
                    self._warn_if_too_few(sum(sizes))
            except GeneratorExit:  # the caller left the loop, between two batches
                pass
            if self.progress is not saved or not self.progress.step:
                self._save()

    def _warn_if_too_few(self, frames: int) -> None:
        """Say so if the source ended before any change could have been reported."""
        new = getattr(self.learner.learner, "steps", None) == self.progress.step
        if new and self.learner.detector is None and not self.stop.is_set():
            shortage = too_few_frames(self.learner.config.environments, self.settings.batch_size, frames)
            if shortage is not None and any(type(known).on_note is not Observer.on_note for known in self.observers):
                self._tell(shortage)
            elif shortage is not None:
                _log.warning(shortage)

    def _open(self, stack: ExitStack) -> None:
        """Lock the directory, and bring learner, source and rows to where the last checkpoint left them."""
        directory = self.directory
        if directory is None:
            return
        stack.enter_context(directory.locked())
        position: Mapping[str, Any] = START
        if directory.exists() and directory.checkpoints.steps():
            position = self._restore(directory)
        directory.write(self.settings, self.learner.config, self.learner.name)
        self._rows = RowWriter(directory.rows_path, position, directory.require_own)
        stack.callback(self._rows.close)

    def _restore(self, directory: WatchDirectory) -> Mapping[str, Any]:
        state = directory.load()
        try:
            saved = dict(state["watch"])
            rows = saved.pop("rows")
            stages = tuple((str(name), int(steps)) for name, steps in saved.pop("stages"))
            lists = {"stages": stages, "snapshots": tuple(saved["snapshots"]), "held": tuple(map(tuple, saved["held"]))}
            self.progress = Progress(**saved | lists)
            self.learner.load_state_dict(state)
            if stages[-1][0] == self.source.name:
                self.source.load_state_dict(self.progress.position)
            else:
                self.progress = replace(self.progress, stages=(*stages, (self.source.name, 0)))
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise CheckpointError(
                f"{directory.checkpoints.folder}: not the state of a watch ({error!r}); use another copy."
            ) from error
        return rows if isinstance(rows, dict) else START

    def _batches(self) -> Iterator[Batch]:
        """Frames of the source in batches; at its end a smaller one, of two frames or more."""
        settings, shape = self.settings, self.learner.config.image_shape
        images: list[np.ndarray] = []
        broken: list[Broken] = []
        first: Moment = ("", None)
        last, count = None, self.progress.frames
        for event in self.source.events(self.stop.wait):
            if isinstance(event, Notice):
                self._tell(event.text)
                self._write({"kind": "source", "step": self.progress.step, "event": event.event, "text": event.text})
                continue
            count += 1
            if isinstance(event, Broken):
                broken.append(event)
                self._tell(f"skipped {event.label}: {event.reason}")
            elif (count - 1) % settings.every == 0:
                first = first if images else (event.label, event.time)
                images.append(fit_frame(event.pixels, shape, settings.framing))
                last = event
            if last is not None and len(images) == settings.batch_size:
                yield Batch(np.stack(images), first, last, count, tuple(broken), self.source.state_dict())
                images, broken = [], []
        if last is not None and len(images) >= 2 and not self.stop.is_set():
            yield Batch(np.stack(images), first, last, count, tuple(broken), self.source.state_dict())
        elif not images and broken and not self.stop.is_set():
            self._count_broken(broken)
            self.progress = replace(self.progress, frames=count, position=self.source.state_dict())

    def _learn(self, batch: Batch) -> Watched:
        """Learn one batch, and write its rows."""
        with threads(self.settings.threads):
            step = self.learner.partial_fit(batch.images)
        self._count_broken(batch.broken)
        before = self.progress
        *earlier, (name, steps) = before.stages
        waiting = (*before.held, batch.first)
        self.progress = replace(
            before,
            step=before.step + 1,
            frames=batch.frames,
            environment=step.environment,
            held=waiting if step.held else (),
            stages=(*earlier, (name, steps + 1)),
            position=batch.position,
        )
        switched = step.switched
        facts: dict[str, Any] = {"frames": batch.frames, "broken": self.progress.broken}
        facts |= {"label": batch.last.label, "time": batch.last.time}
        if switched:
            facts["since"], facts["since_time"] = waiting[-step.verdict :][0]
        if not step.held:
            facts["snapshot"] = self._snapshot(step.environment, batch.last, anew=switched)
        seen = watched(step, self.progress.step, **facts, before=before.environment if switched else None)
        stage = len(self.progress.stages) - 1
        if switched:
            self._write(switch_row(seen, stage, name))
        self._write(step_row(seen, stage, name))
        for observer in self.observers:
            observer.on_step(seen)
        return seen

    def _snapshot(self, environment: int, frame: Frame, *, anew: bool) -> Any:
        """Keep a picture of an environment that has none yet, and of everything unknown; the path at a switch."""
        if self.directory is None:
            return None
        if environment not in self.progress.snapshots:
            self.progress = replace(self.progress, snapshots=(*self.progress.snapshots, environment))
        elif not (anew and environment < 0):
            return self.directory.snapshot_path(environment) if anew else None
        path = self.directory.keep_snapshot(environment, frame.pixels)
        return path if anew else None

    def _count_broken(self, broken: Sequence[Broken]) -> None:
        for frame in broken:
            self.progress = replace(self.progress, broken=self.progress.broken + 1)
            if self.progress.broken <= MAX_BROKEN_ROWS:
                self._write(
                    {"kind": "broken", "step": self.progress.step, "frame": frame.label, "reason": frame.reason}
                )

    def _write(self, row: Row) -> None:
        if self._rows is not None:
            self._rows.write(row)
        for observer in self.observers:
            observer.on_row(row)

    def _tell(self, text: str) -> None:
        for observer in self.observers:
            observer.on_note(text)

    def _save(self) -> None:
        """Commit learner, source and rows as one checkpoint."""
        if self.directory is not None and self._rows is not None:
            progress = {name: getattr(self.progress, name) for name in Progress.__dataclass_fields__}
            state = self.learner.state_dict() | {"watch": progress | {"rows": self._rows.sync()}}
            self.directory.save(state, self.settings.keep)
