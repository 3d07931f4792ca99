"""The plan of a run: its settings, and the configuration and data that they stand for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vase.config import VASEConfig
from vase.learners.protocol import Learner
from vase.learners.registry import make_learner
from vase.metrics.frozen import FrozenSettings
from vase.metrics.probes import ProbeSettings
from vase.training.settings import RunSettings
from vase.worlds import Schedule, StreamSpec, World, make_world
from vase.worlds.timeline import Timeline


@dataclass(frozen=True)
class Plan:
    """Settings with their configuration and data, fixed before the first step."""

    settings: RunSettings
    config: VASEConfig
    schedule: Schedule
    worlds: dict[str, tuple[World, World]]
    """Name -> (world to learn from, held-out world)."""

    @property
    def timeline(self) -> Timeline:
        """The stages of the stream."""
        return self.schedule.timeline

    @property
    def sources(self) -> dict[str, str]:
        """Name of each world -> the origin of its images."""
        return {name: str(getattr(train, "source", "")) for name, (train, _) in self.worlds.items()}


def make_plan(
    settings: RunSettings, timeline: Timeline | None = None, report: Callable[[str], None] | None = None
) -> Plan:
    """Load the data and resolve the configuration.

    Args:
        settings: the run.
        timeline: the stages of an interrupted run; a stand-in then stays a stand-in even if the real data are
            available by now. The configuration follows the settings alone, so that it stays as it is if a stage
            becomes longer.
        report: called with one line per failed download, and per stand-in.
    """
    options: dict[str, Any] = {name: getattr(settings, name) for name in ("canvas", "sprite", "faces", "frames")}
    options |= {"folder": settings.data, "fallback": settings.fallback and timeline is None, "report": report}

    def load(stream: str, **options: Any) -> tuple[Schedule, dict[str, World]]:
        """The worlds to learn from, and the held-out ones."""
        drawing: dict[str, Any] = {"batch_size": settings.batch_size, "seed": settings.seed, "joint": settings.joint}
        schedule = Schedule.parse(stream, settings.steps, **drawing, **options)
        return schedule, {name: make_world(name, split="test", **options) for name in schedule.timeline.worlds}

    schedule, tests = load(settings.stream if timeline is None else str(StreamSpec.of(timeline.stages)), **options)
    if any(test.name != name for name, test in tests.items()):  # only half of a dataset was there
        stand_ins = StreamSpec.of((tests[world].name, steps) for world, steps in schedule.timeline.stages)
        schedule, tests = load(str(stand_ins), **{**options, "fallback": False})
    config = settings.configure(schedule.image_shape)
    trains = {stage.world.name: stage.world for stage in schedule.stages}
    worlds = {name: (trains[name], test) for name, test in tests.items()}
    return Plan(settings, config, schedule, worlds)


def build_learner(settings: RunSettings, config: VASEConfig) -> Learner:
    """A new learner of the class that the settings name."""
    options = settings.learner_options
    return make_learner(settings.learner, config, seed=settings.seed, device=settings.device, options=options)


def probe_settings(settings: RunSettings) -> ProbeSettings | None:
    """How the probes of a run are trained; None without probes."""
    if settings.probes == "none":
        return None
    small: dict[str, Any] = {"train_images": 200, "test_images": 100} if settings.preset == "smoke" else {}
    if settings.preset == "smoke" and settings.probes == "periodic":
        small |= {"updates": 10, "batch": 32}
    return ProbeSettings.of(settings.probes, every=settings.probe_every, **small)


def frozen_settings(settings: RunSettings) -> FrozenSettings:
    """How the probes on the frozen encoder are trained and tested."""
    small = {"train_images": 200, "test_images": 100, "updates": 20, "batch": 32, "hidden": 32}
    return FrozenSettings(**small) if settings.preset == "smoke" else FrozenSettings()
