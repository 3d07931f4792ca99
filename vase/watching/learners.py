"""The learner of a watch: a new one, or one that was saved, and how its state is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from vase.checkpoint import State
from vase.config import VASEConfig
from vase.learners.monitor import ShiftMonitor
from vase.learners.records import Step
from vase.learners.registry import make_learner
from vase.learners.vase import VASE
from vase.training.directory import RunDirectory
from vase.watching.directory import WatchDirectory
from vase.watching.frozen import FrozenDetector
from vase.watching.settings import MONITOR, WatchSettings


@runtime_checkable
class Watches(Protocol):
    """What a learner needs to be able to watch; every `Learner` and `ShiftMonitor` do."""

    def partial_fit(self, images: Any) -> Step:
        """Learn from one batch."""

    def state_dict(self) -> dict[str, Any]:
        """Everything that an exact continuation needs."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""


@dataclass(frozen=True)
class WatchLearner:
    """A learner, the images that it takes, and the detector beside it if it is frozen."""

    learner: Watches
    config: VASEConfig
    name: str
    """As in `WatchSettings.learner`; it says which class to build when a watch is resumed."""
    detector: FrozenDetector | None = None

    def partial_fit(self, images: Any) -> Step:
        """Learn from one batch, or only look at it."""
        return (self.learner if self.detector is None else self.detector).partial_fit(images)

    def state_dict(self) -> State:
        """The learner where `VASE.load` finds it, and the detector."""
        state: State = {"learner": self.learner.state_dict(), "run": {"learner": self.name}}
        return state if self.detector is None else state | {"detector": self.detector.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.learner.load_state_dict(state["learner"])
        if self.detector is not None:
            self.detector.load_state_dict(state["detector"])


def make_watch_learner(settings: WatchSettings, given: Watches | None = None) -> WatchLearner:
    """The learner of a new watch: the given one, the model of the settings, or a new one."""
    if given is not None:
        kind = type(given)
        found = WatchLearner(given, config_of(given), f"{kind.__module__}:{kind.__qualname__}")
    elif settings.model:
        found = load_model(Path(settings.model), settings.device)
    else:
        found = _built(settings.learner, settings.config(), settings)
    return _frozen(found) if settings.frozen else found


def resumed_watch_learner(
    settings: WatchSettings, directory: WatchDirectory, given: Watches | None = None
) -> WatchLearner:
    """The learner of a watch that continues, before its state is loaded; the model it came from is not needed."""
    if given is not None:
        return make_watch_learner(settings, given)
    found = _built(directory.learner_name(), directory.config(), settings)
    return _frozen(found) if settings.frozen else found


def load_model(folder: Path, device: str = "auto") -> WatchLearner:
    """A saved learner: of a run, of a watch, or saved alone."""
    if not folder.is_dir():
        raise FileNotFoundError(f"model {str(folder)!r} does not exist; name a run or the folder of a saved learner.")
    if (folder / "config.json").exists():
        run = RunDirectory(folder)
        config = VASEConfig.from_dict(run.read_config()["config"])
        return WatchLearner(run.learner(device), config, run.settings().learner)
    watched = WatchDirectory(folder)
    if watched.exists():
        settings = WatchSettings(seed=watched.settings().seed, device=device)
        found = _built(watched.learner_name(), watched.config(), settings)
        found.learner.load_state_dict(watched.load()["learner"])
        return found
    model = VASE.load(folder, device)
    return WatchLearner(model, config_of(model), "vase")


def config_of(learner: Any) -> VASEConfig:
    """The configuration of a learner, which says what its images are."""
    for name in ("config_", "config"):
        if isinstance(config := getattr(learner, name, None), VASEConfig):
            return config
    raise TypeError(
        f"learner of class {type(learner).__name__}: has no `config` of type VASEConfig, so that the size of its "
        "images is not known; give it one."
    )


def _built(name: str, config: VASEConfig, settings: WatchSettings) -> WatchLearner:
    if name == MONITOR:
        return WatchLearner(ShiftMonitor(config, seed=settings.seed), config, name)
    return WatchLearner(make_learner(name, config, seed=settings.seed, device=settings.device), config, name)


def _frozen(found: WatchLearner) -> WatchLearner:
    learner: Any = found.learner
    if not hasattr(learner, "infer_environment"):
        raise ValueError(f"frozen=True with the learner {found.name}: it cannot tell environments; let it learn.")
    detector = FrozenDetector(learner, found.config.image_shape, found.config.environments)
    return WatchLearner(found.learner, found.config, found.name, detector)
