"""Where a learner that needs boundaries gets them from: it is told, it detects them, or it sets them by the clock."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from vase.config import VASEConfig
from vase.learners.arguments import require_number
from vase.learners.monitor import ShiftMonitor
from vase.learners.records import Step
from vase.learners.rivals.vae import VAE
from vase.nn.likelihood import Images


@dataclass(frozen=True, eq=False)
class Arrival:
    """What is learnt after a batch came: first images of the old world, then, behind a boundary, of the next."""

    before: tuple[Images, ...] = ()
    after: tuple[Images, ...] = ()
    boundary: bool = False
    told: Mapping[str, Any] = field(default_factory=dict)
    """What the report of the step says of it."""


class Told:
    """Boundaries that somebody announces by `begin_world()`."""

    wants_boundaries = True

    def __init__(self) -> None:
        self.pending = False

    def begin_world(self) -> None:
        """The next batch comes from another world."""
        self.pending = True

    def receive(self, x: Images) -> Arrival:
        """Whether a boundary was announced before the batch."""
        boundary, self.pending = self.pending, False
        return Arrival(after=(x,), boundary=True) if boundary else Arrival(before=(x,))

    def state_dict(self) -> dict[str, Any]:
        """What was announced and has not arrived."""
        return {"pending": self.pending}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.pending = state["pending"]


class Every:
    """A boundary every so many batches, whatever they show."""

    wants_boundaries = False

    def __init__(self, batches: int) -> None:
        self.batches, self.count = batches, 0

    def begin_world(self) -> None:
        """Nobody asked."""

    def receive(self, x: Images) -> Arrival:
        """A boundary after every `batches` of them."""
        boundary = self.count > 0 and self.count % self.batches == 0
        self.count += 1
        return Arrival(after=(x,), boundary=True) if boundary else Arrival(before=(x,))

    def state_dict(self) -> dict[str, Any]:
        """Batches so far."""
        return {"count": self.count}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.count = state["count"]


class Detected:
    """Boundaries as VASE's shift detector finds them by the fingerprint; suspicious batches wait for its verdict."""

    wants_boundaries = False

    def __init__(self, config: VASEConfig) -> None:
        self.monitor = ShiftMonitor(config)

    def begin_world(self) -> None:
        """Nobody asked."""

    def receive(self, x: Images) -> Arrival:
        """What the detector says to be learnt on either side of a boundary, if there is one."""
        decision, step = self.monitor.receive(x.cpu())
        names = ("environment", "switched", "is_new", "held", "dropped", "p_value", "effect", "reasons", "posterior")
        told = {name: getattr(step, name) for name in (*names, "change", "retired")}
        before, after = (tuple(part.to(x.device) for part in side) for side in (decision.here, decision.there))
        return Arrival(before, after, bool(after), told)

    def state_dict(self) -> dict[str, Any]:
        """The detector's."""
        return self.monitor.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.monitor.load_state_dict(state)


Boundaries = Told | Every | Detected


def make_boundaries(source: str | int, config: VASEConfig) -> Boundaries:
    """The source of boundaries that an option names: "told", "detected", or a number of batches.

    >>> make_boundaries("500", VASEConfig()).batches
    500
    """
    if source == "told":
        return Told()
    if source == "detected":
        return Detected(config)
    try:
        return Every(require_number("boundaries", source, int, minimum=1))
    except ValueError:
        raise ValueError(f"boundaries={source!r}: must be 'told', 'detected' or a number of batches.") from None


class Bounded(VAE, ABC):
    """A VAE that does something at boundaries."""

    def __init__(
        self, config: VASEConfig | None = None, *, seed: int = 0, device: str = "auto", boundaries: str | int = "told"
    ) -> None:
        super().__init__(config, seed=seed, device=device)
        self.boundaries = make_boundaries(boundaries, self.config)
        self.parts["boundaries"] = self.boundaries

    @property
    def wants_boundaries(self) -> bool:
        """Whether the trainer shall tell when the world changes."""
        return self.boundaries.wants_boundaries

    def begin_world(self) -> None:
        """The next batch comes from another world."""
        self.boundaries.begin_world()

    def partial_fit(self, images: Any) -> Step:
        """Learn what has arrived on either side of a boundary."""
        x = self.images(images, minimum=2)
        self.steps += 1
        arrival = self.boundaries.receive(x)
        step = Step(self.steps)
        for part in arrival.before:
            step = self.learn(part)
        if arrival.boundary:
            self.cross_boundary()
        for part in arrival.after:
            step = self.learn(part)
        return replace(step, **arrival.told)

    @abstractmethod
    def cross_boundary(self) -> None:
        """What is done when a world has ended."""
