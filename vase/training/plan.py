"""What a run will do, fixed before its first step: its settings with the data and configuration behind them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vase.config import VASEConfig, preset
from vase.metrics.probes import ProbeSettings
from vase.training.settings import RunSettings
from vase.worlds import Schedule, StreamSpec, World, make_world


@dataclass(frozen=True)
class Plan:
    """Settings with the data behind them: what a run will do, fixed before its first step."""

    settings: RunSettings
    config: VASEConfig
    schedule: Schedule
    worlds: dict[str, tuple[World, World]]
    """World -> (environment to learn from, held-out environment)."""

    @property
    def stages(self) -> list[tuple[str, int]]:
        """(world, steps) in the order of the stream."""
        return [(stage.world.name, stage.steps) for stage in self.schedule.stages]

    @property
    def sources(self) -> dict[str, str]:
        """World -> where its images came from."""
        return {name: str(getattr(train, "source", "")) for name, (train, _) in self.worlds.items()}


def make_plan(
    settings: RunSettings,
    stages: list[tuple[str, int]] | None = None,
    report: Callable[[str], None] | None = None,
) -> Plan:
    """Load the data and resolve the configuration.

    Args:
        settings: the run.
        stages: the worlds that an interrupted run really used; a stand-in then stays a stand-in even if the real data
            can be had by now.
        report: called with one line per failed route to the data, and for each stand-in.
    """
    fallback = settings.fallback and stages is None
    place: dict[str, Any] = {
        "canvas": settings.canvas,
        "sprite": settings.sprite,
        "folder": settings.data,
        "faces": settings.faces,
        "frames": settings.frames,
    }

    def parse(text: str, fallback: bool) -> Schedule:
        return Schedule.parse(
            text,
            settings.steps,
            batch_size=settings.batch_size,
            seed=settings.seed,
            fallback=fallback,
            report=report,
            **place,
        )

    def held_out(schedule: Schedule, fallback: bool) -> dict[str, World]:
        names = dict.fromkeys(stage.world.name for stage in schedule.stages)
        return {name: make_world(name, split="test", fallback=fallback, report=report, **place) for name in names}

    schedule = parse(settings.stream if stages is None else str(StreamSpec.of(stages)), fallback)
    tests = held_out(schedule, fallback)
    if any(test.name != name for name, test in tests.items()):  # only half of a dataset was there
        stages = [(tests[s.world.name].name, s.steps) for s in schedule.stages]
        schedule = parse(str(StreamSpec.of(stages)), False)
        tests = held_out(schedule, False)
    fixed = {"image_shape": schedule.image_shape, "batch_size": settings.batch_size}
    config = preset(settings.preset, schedule.image_shape, schedule.stages[0].steps)
    config = config.with_values({**fixed, **settings.overrides})
    for name, option in (("image_shape", "--canvas"), ("batch_size", "--batch-size")):
        if getattr(config, name) != fixed[name]:
            raise ValueError(f"{name}={getattr(config, name)}: the stream decides it ({fixed[name]}); use {option}.")
    trains = {stage.world.name: stage.world for stage in schedule.stages}
    worlds = {name: (trains[name], test) for name, test in tests.items()}
    return Plan(settings, config, schedule, worlds)


def probe_settings(settings: RunSettings) -> ProbeSettings | None:
    """How the probes of a run are trained; None without probes."""
    if settings.probes == "none":
        return None
    small: dict[str, Any] = {"train_images": 200, "test_images": 100} if settings.preset == "smoke" else {}
    if settings.preset == "smoke" and settings.probes == "periodic":
        small |= {"updates": 10, "batch": 32}
    return ProbeSettings.of(settings.probes, every=settings.probe_every, **small)
