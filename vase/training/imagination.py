"""Imagination in a run: an explorer adds imagined images to batches, and probes look ahead at worlds not seen yet.

Section 4.3: what moves in one world may move in another. While the learner learns, a policy learns to move images to
where the learner imagines them (`vase.imagination`), and in the worlds that the settings name, moved images are added
to the batches. Probes that learn from the present world only measure whether this prepares for a world to come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from vase.checkpoint import State
from vase.images import as_bytes
from vase.imagination import Agent, Explorer, RandomActions, Translation, augmented, movable_latents
from vase.learners.protocol import Decodes, InfersEnvironments, Learner
from vase.learners.records import Step
from vase.metrics.factors import rounded
from vase.metrics.probes import ProbeSuite
from vase.rows import ImaginationRow
from vase.training.callbacks import Callback, Run
from vase.training.plan import Plan, probe_settings
from vase.worlds import Batch, World
from vase.worlds.spec import WorldSpec

SHARE = 1.0
"""Imagined images per image that the classifier of the look ahead learns from."""
FOCUS_EVERY = 250
"""Steps between two searches for the latents that the explorer can move: they drift while the learner learns."""
HELD_OUT = 500
"""Held-out images on which the distance from z* is measured."""
SHOWN = 8
"""Images of each kind in pictures.npz."""
_SALT = 20_181_205


def translation(world: World) -> Translation | None:
    """The action that moves the sprites of a world from edge to edge; None without sprites or without room to move."""
    sprite, canvas = getattr(world, "sprite", None), world.image_shape[-1]
    if sprite is None or sprite >= canvas:
        return None
    return Translation.across(int(sprite), canvas, WorldSpec.parse(world.name).background)


@dataclass(frozen=True, eq=False)
class _Labelled:
    """A world whose only factor is the class; `change` is applied to its batches."""

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


class Imagination(Callback):
    """Imagined images (`RunSettings.imagination`) and the look ahead (`RunSettings.anticipation`) of a run.

    The policy of `explorer` learns from every batch with sprites. In the named worlds, a share of each batch is added
    to it once more as imagined, from the first batch on, so that this is part of the new world; `imagination_share`,
    `imagination_start` and `imagination_ramp` say how many, and when. With the policy "random" there is no explorer,
    and images are moved at random.

    `lookahead`: while the first world of a pair is trained on, two probes, trained as the run's other probes are, are
    scored on held-out images of the second. One learns from the first world, and from one imagined image for each of
    its images, whatever the learner gets; these keep the label of the digit that was moved. The other learns from the
    second world itself, which the learner has not seen.

    Random numbers depend on the seed and the step, or are saved.
    """

    def __init__(self, plan: Plan, learner: Learner) -> None:
        self.plan, settings = plan, plan.settings
        self._learner = cast(Any, learner)  # `Explorer` needs a differentiable encoder, beyond the protocol
        real = dict(zip(settings.names, (world for world, _ in plan.timeline.stages), strict=True))  # stand-ins
        self._imagined = tuple(real[name] for name in settings.imagined)
        found = {name: translation(train) for name, (train, _) in plan.worlds.items()}
        self._actions = {name: action for name, action in found.items() if action is not None}
        for name in self._imagined:
            if name not in self._actions:
                raise ValueError(
                    f"imagination={settings.imagination!r}: nothing can be moved in {name}; name worlds whose sprites "
                    "are smaller than the canvas, e.g. mnist, or use a larger --canvas."
                )
        self.agent = self._make_agent() if self._imagined else None
        self.lookahead = {
            (real[met], real[unmet]): self._look_ahead(real[met], real[unmet]) for met, unmet in settings.anticipated
        }

    def _make_agent(self) -> Explorer | RandomActions:
        """What acts on images, by the policy that the settings name."""
        settings, action = self.plan.settings, self._actions[self._imagined[0]]
        if settings.imagination_policy == "random":
            return RandomActions(self.plan.config.image_shape, action)
        seed = int(np.random.SeedSequence([settings.seed, _SALT]).generate_state(1)[0])
        return Explorer(self._learner, action, seed=seed)

    @property
    def explorer(self) -> Explorer | None:
        """The agent whose policy learns; None if images are moved at random or not at all."""
        return self.agent if isinstance(self.agent, Explorer) else None

    def _look_ahead(self, met: str, unmet: str) -> tuple[ProbeSuite, ProbeSuite]:
        """(trained on `met`, trained on `unmet`): same initial weights, same held-out images, same noise."""
        settings = self.plan.settings
        (train, _), (future, test) = self.plan.worlds[met], self.plan.worlds[unmet]
        for world in (train, test):
            if "label" not in world.sample(1, np.random.default_rng(0)).factors:
                raise ValueError(
                    f"anticipation={settings.anticipation!r}: {world.name} has no classes; name worlds that have."
                )
        change = self._imagine(met, SHARE) if met in self._imagined else None

        def suite(source: _Labelled) -> ProbeSuite:
            return ProbeSuite({unmet: (source, _Labelled(test))}, probe_settings(settings), seed=settings.seed)

        return suite(_Labelled(train, change)), suite(_Labelled(future))

    def on_batch(self, run: Run, batch: Batch) -> Batch:
        """Add imagined images; the policy learns from the batch as it was."""
        world, step, met = run.world, run.step, batch
        if self.agent is None or world not in self._actions:
            return batch
        if world in self._imagined and (share := self.share(step)) > 0:
            batch = self._imagine(world, share)(met, np.random.default_rng([self.plan.settings.seed, step, _SALT]))
        if (explorer := self._exploring(world)) is not None:
            explorer.learn(met.images)
            if step % FOCUS_EVERY == 0:
                found = movable_latents(self._learner, explorer.action, met.images, seed=explorer.seed)
                if len(found):
                    explorer.latents = found
        return batch

    def share(self, step: int) -> float:
        """Imagined images per image of the batch of a step: none at first, then more and more, as the settings say."""
        settings, timeline = self.plan.settings, self.plan.timeline
        batches = step - timeline.spans[timeline.stage_of(step)].start - settings.imagination_start
        growth = 1.0 if settings.imagination_ramp == 0 else min(1.0, batches / settings.imagination_ramp)
        return settings.imagination_share * growth if batches > 0 else 0.0

    def on_step(self, run: Run, step: Step) -> list[ImaginationRow]:
        """Train the look ahead of the current world; rows if scores are due."""
        scores: list[dict[str, Any]] = []
        for (met, unmet), suites in self.lookahead.items():
            if met == run.world:
                rows = [suite.after_step(self._learner, run.step) for suite in suites]
                if all(rows):
                    (now,), (then,) = rows
                    score = {"unmet": unmet, "mode": now["mode"], "accuracy": now["accuracy"]}
                    scores.append({**score, "ceiling": then["accuracy"]})
        explorer = self._exploring(run.world) if run.world in self._imagined else None
        if explorer is not None and run.step % self.plan.settings.probe_every == 0:
            close = explorer.distance(self._held_out(run.world, HELD_OUT), seed=self.plan.settings.seed)
            distances = rounded({"before": close.before.tolist(), "after": close.after.tolist()})
            scores = [{**row, "latents": close.latents.tolist(), **distances} for row in scores or [{}]]
        return [cast(ImaginationRow, {**run.row("imagination"), **row}) for row in scores]

    def on_stage_end(self, run: Run) -> None:
        """Keep pictures of what was imagined, and of how the learner reconstructs images that it has not seen."""
        found: dict[str, np.ndarray] = {}
        s = self._learner.environment if isinstance(self._learner, InfersEnvironments) else None
        if run.world in self._imagined:
            images, rng = self._held_out(run.world, SHOWN), np.random.default_rng([self.plan.settings.seed, _SALT])
            found["met"] = images
            if (explorer := self._exploring(run.world)) is None:
                found["acted"] = self._acting(run.world).imagine(images, rng=rng).images
            else:
                done = explorer.imagine(images, rng=rng)
                z = self._learner.posterior(images)[0].copy()
                z[:, explorer.latents] = done.targets[:, explorer.latents]
                found |= {"imagined": self._learner.decode(z, environment=s), "acted": done.images}
        for met, unmet in self.lookahead:
            if met == run.world and isinstance(self._learner, Decodes):
                images = self._held_out(unmet, SHOWN)
                found |= {unmet: images, f"{unmet} reconstructed": self._learner.reconstruct(images, environment=s)}
        if found:
            run.directory.keep_pictures({f"{run.world}: {name}": as_bytes(images) for name, images in found.items()})

    def _acting(self, world: str) -> Agent:
        """The agent with the action that suits a world."""
        assert self.agent is not None
        self.agent.action = self._actions[world]
        return self.agent

    def _exploring(self, world: str) -> Explorer | None:
        """The explorer, if there is one, with the action that suits a world."""
        agent = None if self.agent is None else self._acting(world)
        return agent if isinstance(agent, Explorer) else None

    def _imagine(self, world: str, share: float) -> Callable[[Batch, np.random.Generator], Batch]:
        """A function that adds imagined images to a batch of a world."""
        return lambda batch, rng: augmented(batch, self._acting(world), share, rng=rng)

    def _held_out(self, world: str, n: int) -> np.ndarray:
        rng = np.random.default_rng([self.plan.settings.seed, list(self.plan.worlds).index(world), _SALT])
        return self.plan.worlds[world][1].sample(n, rng).images

    def state_dict(self) -> State:
        explorer = self._exploring(self._imagined[0]) if self._imagined else None
        suites = {str(number): suite.state_dict() for number, suite in enumerate(self._suites())}
        return {"explorer": None if explorer is None else explorer.state_dict(), "lookahead": suites}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if self._imagined and (explorer := self._exploring(self._imagined[0])) is not None:
            explorer.load_state_dict(state["explorer"])
        for number, suite in enumerate(self._suites()):
            suite.load_state_dict(state["lookahead"][str(number)])

    def _suites(self) -> list[ProbeSuite]:
        return [suite for pair in self.lookahead.values() for suite in pair]
