"""Imagination in a run: an explorer that adds imagined images to worlds, and a look ahead at worlds not met yet.

Section 4.3: what moves in one world may move in another. While the learner learns, a policy learns how to move images
to where the learner imagines them (`vase.imagination`), and where the settings say so, moved images join the batches.
Whether this prepares for a world that is still to come is told by classifiers that learn from the present world only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vase.images import as_bytes
from vase.imagination import Explorer, Translation, augmented, movable_latents
from vase.learners.vase import VASE
from vase.metrics.probes import ProbeSuite
from vase.training.plan import Plan, probe_settings
from vase.worlds import Batch, World
from vase.worlds.spec import WorldSpec

Row = dict[str, Any]

SHARE = 1.0
"""Imagined images that join a batch, as a part of it: as many as it has."""
FOCUS_EVERY = 250
"""Steps after which the explorer looks anew for the latents that it can move: they drift while the learner learns."""
HELD_OUT = 500
"""Held-out images on which the way to z* is measured."""
SHOWN = 8
"""Pictures of a kind."""
_SALT = 20_181_205


def translation(world: World) -> Translation | None:
    """What moves the sprites of a world from edge to edge; None if it has none, or none that have room to move."""
    sprite, canvas = getattr(world, "sprite", None), world.image_shape[-1]
    if sprite is None or sprite >= canvas:
        return None
    return Translation.across(int(sprite), canvas, WorldSpec.parse(world.name).background)


@dataclass(frozen=True, eq=False)
class _Labelled:
    """A world with its classes, and nothing else to tell; `change` is done to its batches."""

    world: World
    change: Callable[[Batch, np.random.Generator], Batch] | None = None

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return self.world.image_shape

    @property
    def n_classes(self) -> int | None:
        return getattr(self.world, "n_classes", None)

    def sample(self, n: int, rng: np.random.Generator) -> Batch:
        batch = self.world.sample(n, rng)
        batch = batch if self.change is None else self.change(batch, rng)
        return Batch(batch.images, {"label": batch.factors["label"]})


class Imagining:
    """What a run has beside its learner and probes, as far as its settings ask for it; `Imagining.of` makes it.

    explorer: `RunSettings.imagination`. Its policy learns from every batch with sprites, and in the named worlds SHARE
    of each batch joins it once more as it was imagined, from the first one on, so that this is part of the new world.

    look ahead: `RunSettings.anticipation`. While the first world of a pair is trained on, two probes of the appendix's
    size, with the run's way of training them, are scored on held-out images of the second: one learns from what is met
    now, with the label of the digit that was moved where it is imagined, the other from the second world itself, which
    the learner has not met.

    All that is random depends on the seed and the step, or is saved.
    """

    def __init__(self, plan: Plan, model: VASE) -> None:
        settings = plan.settings
        self._plan, self._model = plan, model
        worlds = (world for world, _ in plan.stages)  # stand-ins by their own names
        real = dict(zip(settings.names, worlds, strict=True))
        self._imagined = tuple(real[name] for name in settings.imagined)
        found = {name: translation(train) for name, (train, _) in plan.worlds.items()}
        self._actions = {name: action for name, action in found.items() if action is not None}
        for name in self._imagined:
            if name not in self._actions:
                raise ValueError(
                    f"imagination={settings.imagination!r}: nothing can be moved in {name}; name worlds whose sprites "
                    "are smaller than the canvas, e.g. mnist, or use a larger --canvas."
                )
        self.explorer: Explorer | None = None
        if self._imagined:
            seed = int(np.random.SeedSequence([settings.seed, _SALT]).generate_state(1)[0])
            self.explorer = Explorer(model, self._actions[self._imagined[0]], seed=seed)
        self._ahead = {
            (real[met], real[unmet]): self._look_ahead(real[met], real[unmet]) for met, unmet in settings.anticipated
        }

    @classmethod
    def of(cls, plan: Plan, model: VASE) -> Imagining | None:
        """What the settings ask for; None if that is nothing."""
        return cls(plan, model) if plan.settings.imagination or plan.settings.anticipation else None

    def _look_ahead(self, met: str, unmet: str) -> tuple[ProbeSuite, ProbeSuite]:
        """(from what is met, from the unmet world itself): same first weights, same held-out images, same noise."""
        settings = self._plan.settings
        (train, _), (future, test) = self._plan.worlds[met], self._plan.worlds[unmet]
        for world in (train, test):
            if "label" not in world.sample(1, np.random.default_rng(0)).factors:
                raise ValueError(f"anticipation={settings.anticipation!r}: {world.name} has no classes to tell.")
        change = self._imagine(met) if met in self._imagined else None

        def suite(source: _Labelled) -> ProbeSuite:
            return ProbeSuite({unmet: (source, _Labelled(test))}, probe_settings(settings), seed=settings.seed)

        return suite(_Labelled(train, change)), suite(_Labelled(future))

    # ---------------------------------------------------------------- beside the learner

    def meet(self, batch: Batch, step: int) -> np.ndarray:
        """What the learner meets as its batch number `step`, which counts from 1; the policy learns from the batch."""
        world = self._world(step)
        images = batch.images
        if self.explorer is None or world not in self._actions:
            return images
        if world in self._imagined:
            images = self._imagine(world)(batch, np.random.default_rng([self._plan.settings.seed, step, _SALT])).images
        self.explorer.action = self._actions[world]
        self.explorer.learn(batch.images)
        if step % FOCUS_EVERY == 0:
            found = movable_latents(self._model, self.explorer.action, batch.images, seed=self.explorer.seed)
            if len(found):
                self.explorer.latents = found
        return images

    def after_step(self, step: int) -> list[Row]:
        """To be called after every step; returns what was measured, if that is due in this world."""
        world, settings = self._world(step), self._plan.settings
        rows: list[Row] = []
        for (met, unmet), suites in self._ahead.items():
            if met == world:
                scores = [suite.after_step(self._model, step) for suite in suites]
                if all(scores):
                    (now,), (then,) = scores
                    rows.append(
                        {"unmet": unmet, "mode": now["mode"], "accuracy": now["accuracy"], "ceiling": then["accuracy"]}
                    )
        if world in self._imagined and step % settings.probe_every == 0:
            way = self._way(world)
            rows = [{**row, **way} for row in rows] or [way]
        return rows

    def pictures(self, world: str) -> dict[str, np.ndarray]:
        """As a stage ends: what was imagined there, and what the learner makes of images that it has not met."""
        found: dict[str, np.ndarray] = {}
        s = self._model.environment
        if world in self._imagined:
            explorer = self._acting(world)
            images = self._held_out(world, SHOWN)
            done = explorer.imagine(images, rng=np.random.default_rng([self._plan.settings.seed, _SALT]))
            z = self._model.posterior(images)[0].copy()
            z[:, explorer.latents] = done.targets[:, explorer.latents]
            found |= {"met": images, "imagined": self._model.decode(z, environment=s), "acted": done.images}
        for met, unmet in self._ahead:
            if met == world:
                images = self._held_out(unmet, SHOWN)
                found |= {f"{unmet}": images, f"{unmet} reconstructed": self._model.reconstruct(images, environment=s)}
        return {f"{world}: {name}": as_bytes(images) for name, images in found.items()}

    # ---------------------------------------------------------------- pieces

    def _world(self, step: int) -> str:
        schedule = self._plan.schedule
        return schedule.stages[schedule.stage_of(step - 1)].world.name

    def _acting(self, world: str) -> Explorer:
        """The explorer with the action that suits a world."""
        assert self.explorer is not None
        self.explorer.action = self._actions[world]
        return self.explorer

    def _imagine(self, world: str) -> Callable[[Batch, np.random.Generator], Batch]:
        """What adds imagined images to a world's batches."""
        return lambda batch, rng: augmented(batch, self._acting(world), SHARE, rng=rng)

    def _held_out(self, world: str, n: int) -> np.ndarray:
        rng = np.random.default_rng([self._plan.settings.seed, list(self._plan.worlds).index(world), _SALT])
        return self._plan.worlds[world][1].sample(n, rng).images

    def _way(self, world: str) -> Row:
        """How far from z* the encoding is on the latents aimed at, before and after acting: root of the mean square."""
        close = self._acting(world).distance(self._held_out(world, HELD_OUT), seed=self._plan.settings.seed)
        before, after = ([float(f"{value:.6g}") for value in values] for values in (close.before, close.after))
        return {"latents": close.latents.tolist(), "before": before, "after": after}

    # ---------------------------------------------------------------- saving

    def state_dict(self) -> dict[str, Any]:
        """All that an exact resume needs."""
        explorer = None if self.explorer is None else self._acting(self._imagined[0]).state_dict()
        return {
            "explorer": explorer,
            "ahead": {str(number): suite.state_dict() for number, suite in enumerate(self._suites())},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on exactly from a `state_dict()` of a run with the same settings, beside a learner of the same moment."""
        if self.explorer is not None:
            self._acting(self._imagined[0]).load_state_dict(state["explorer"])
        for number, suite in enumerate(self._suites()):
            suite.load_state_dict(state["ahead"][str(number)])

    def _suites(self) -> list[ProbeSuite]:
        return [suite for pair in self._ahead.values() for suite in pair]
