"""Resuming a run: which settings may change, and which of its checkpoints it continues from.

How a run is operated may change, and so may the lengths of stages to come. Everything else defines what is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from vase.checkpoint import CheckpointError, State
from vase.config import VASEConfig
from vase.training.directory import RunDirectory, versions
from vase.training.plan import Plan, make_plan
from vase.training.settings import OPERATION, RunSettings
from vase.worlds.schedule import saved_timeline
from vase.worlds.timeline import Timeline

Note = Callable[[str], None]


def resumed_plan(directory: RunDirectory, given: RunSettings | None, note: Note, free: Collection[str] = ()) -> Plan:
    """The plan of a run that continues, possibly with other settings of operation or longer stages.

    `free` names more settings that may change: those in which a fork differs from its parent.
    """
    saved, settings, timeline = directory.read_config(), directory.settings(), directory.timeline()
    if given is not None:
        lengths = ("stream", "steps") if _worlds(given) == _worlds(settings) else ()
        remedy = "leave it out to resume, fork the run with --from STEP, or start another run with another --out"
        directory.require_same(given, remedy, free=(*lengths, *free))
        timeline = _changed_timeline(directory, settings, given)
        settings = replace(settings, **{name: getattr(given, name) for name in (*OPERATION, *free)})
    for name, version in versions().items():
        if (before := saved["versions"].get(name)) != version:
            note(f"{name} is {version} now and was {before}: from here on the last digits may differ")
    plan = make_plan(settings, timeline, note)
    if not free and plan.config != VASEConfig.from_dict(saved["config"]):
        raise ValueError(
            f"{directory.path} was started with another configuration than preset {settings.preset!r} has now; "
            "use the version of vase that started it, or start a new run."
        )
    return plan


def _worlds(settings: RunSettings) -> tuple[str, ...]:
    return settings.with_absolute_folders().names


def _changed_timeline(directory: RunDirectory, started: RunSettings, given: RunSettings) -> Timeline:
    """The stages of the run, with the lengths that are given if these are not the ones it was started with."""
    before = directory.timeline()
    if given.lengths == started.lengths:
        return before
    changed = Timeline.of((world, steps) for (world, _), steps in zip(before.stages, given.lengths, strict=True))
    common, kept = before.common_steps(changed), directory.checkpoints.steps()
    if kept and kept[0] > common:
        raise ValueError(
            f"{directory.path}: its stages cannot have the lengths {given.lengths} instead of "
            f"{tuple(steps for _, steps in before.stages)}, because they differ from step {common + 1:,} on and the "
            f"oldest checkpoint is of step {kept[0]:,}; change only stages to come, or start a new run."
        )
    return changed


def continued_state(directory: RunDirectory, plan: Plan, note: Note) -> State:
    """The newest checkpoint that the plan continues; later ones, damaged or with other stages, are set aside."""

    def fits(values: State) -> bool:
        run: Any = values.get("run")
        try:
            return bool(run["step"] <= plan.timeline.common_steps(saved_timeline(run["schedule"])))
        except (KeyError, TypeError, ValueError):
            return True  # not the state of a run: loading it says why

    state = directory.load(accept=fits, report=note)
    require_own_state(directory, state, plan)
    if plan.timeline != directory.timeline():
        directory.write_stages(plan.timeline)
    for path in directory.checkpoints.set_aside_after(state["run"]["step"], directory.require_own):
        note(f"{path} is a checkpoint that is not used any more; delete it if you do not need it")
    return state


def require_own_state(directory: RunDirectory, state: State, plan: Plan) -> None:
    """Refuse the checkpoint of another run, whose learner may have the same shapes and other hyperparameters."""
    run = state["run"]
    try:
        config, settings = VASEConfig.from_dict(run["config"]), RunSettings.from_dict(run["settings"])
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{directory.checkpoints.folder}: its settings are damaged ({error}).") from error
    differing = settings.differences(plan.settings)
    if config != plan.config and "overrides" not in differing:
        differing.append("the configuration")
    if differing:
        raise CheckpointError(
            f"{directory.checkpoints.folder}: the checkpoint of step {run['step']:,} belongs to another run "
            f"({', '.join(differing)} differ); restore this run's own, or start a new run."
        )
