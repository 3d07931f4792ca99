"""An agent beside a learner: it learns to realise what is imagined, and makes new experience out of old."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from vase import checkpoint
from vase.imagination.actions import Action, act, check_action
from vase.imagination.encoder import FrozenEncoder, movable_latents
from vase.imagination.policy import Policy, agent_loss
from vase.learners.vase import VASE
from vase.method.dream_buffer import CHUNK
from vase.nn.likelihood import Images
from vase.nn.optim import load_optimiser_state, optimiser_state
from vase.worlds.checks import require_seed

KIND = "vase explorer"


class Imagined(NamedTuple):
    """Images that were acted on, and how it came out."""

    images: Float[np.ndarray, "B C H W"]
    parameters: Float[np.ndarray, "B P"]  # what was done, in [−1, 1]
    targets: Float[np.ndarray, "B N"]  # z*: what was imagined
    reached: Float[np.ndarray, "B N"]  # mean of q(z|x) of the result


class Closeness(NamedTuple):
    """Root mean squared distance from z* per latent: of images as they were, and after the action."""

    latents: Int[np.ndarray, "L"]
    before: Float[np.ndarray, "L"]
    after: Float[np.ndarray, "L"]


class Explorer:
    """Learns, from the images that a learner meets, how to bring them to an imagined z* (the paper's agent).

    The learner (or `FrozenEncoder`) is only ever looked at. z* is to be reached on `latents`: all, as in the paper,
    unless told; `focus` finds them, and the policy sees 0 on the others. `learning_rate` is that of the policy's Adam,
    `hidden` the width of its hidden layer, and `seed` gives its weights and every z* that nobody gives.
    """

    def __init__(
        self,
        model: VASE | FrozenEncoder,
        action: Action,
        *,
        latents: Iterable[int] | None = None,
        learning_rate: float = 1e-3,
        seed: int = 0,
        hidden: int = 256,
    ) -> None:
        if not (math.isfinite(learning_rate) and learning_rate > 0):
            raise ValueError(f"learning_rate={learning_rate!r}: must be positive, e.g. 1e-3.")
        if isinstance(hidden, bool) or not isinstance(hidden, int) or hidden < 1:
            raise ValueError(f"hidden={hidden!r}: must be a whole number of at least 1.")
        self.action = action
        self.seed = require_seed(seed)
        self.steps = 0  # of the policy
        self._encoder = FrozenEncoder.of(model)
        self._generator = torch.Generator().manual_seed(self.seed)
        e, count = self._encoder, check_action(action)
        self.policy = Policy(e.image_shape, e.n_latents, count, hidden=hidden, generator=self._generator).to(e.device)
        self._optimiser = torch.optim.Adam(self.policy.parameters(), lr=learning_rate)
        self.latents = range(e.n_latents) if latents is None else latents

    @property
    def latents(self) -> Int[np.ndarray, "L"]:
        """Latents on which z* is to be reached."""
        return self._latents.numpy().copy()

    @latents.setter
    def latents(self, latents: Iterable[int]) -> None:
        self._latents = torch.from_numpy(self._checked(latents))

    def images(self, images: Any) -> Images:
        """Images of any accepted kind as a tensor on the encoder's device."""
        return self._encoder.images(images)

    def focus(self, images: Any, *, threshold: float = 0.65, span: float = 0.5) -> Int[np.ndarray, "L"]:
        """Aim at the latents that the action can change on these images (`movable_latents`), at all if at none.

        Latents change their meaning while the learner learns, so ask again from time to time.
        """
        found = movable_latents(self._encoder, self.action, images, threshold=threshold, span=span, seed=self.seed)
        self.latents = found if len(found) else range(self._encoder.n_latents)
        return self.latents

    def learn(self, images: Any) -> float:
        """One step of the policy on L_agent, with a random z* for each image; returns the loss before it."""
        x = self._encoder.images(images)
        targets = torch.randn(len(x), self._encoder.n_latents, generator=self._generator).to(x.device)
        with torch.enable_grad():
            parameters = self.policy(x, self._seen(targets))
            moved = act(self.action, x, parameters)
            if not moved.requires_grad:
                remedy = "use torch operations on `parameters`, without detach, rounding to whole numbers or NumPy"
                raise ValueError(f"{type(self.action).__name__}.apply stops the gradient: {remedy}.")
            loss = agent_loss(targets, *self._encoder.posterior(moved), self._latents.to(x.device))
            value = float(loss.detach())
            if not math.isfinite(value):
                remedy = "load the last saved explorer, lower learning_rate, and check that actions give finite images"
                raise FloatingPointError(f"the agent's loss became {value} at step {self.steps + 1}: {remedy}.")
            self._optimiser.zero_grad()
            loss.backward(inputs=list(self.policy.parameters()))
        self._optimiser.step()
        self.steps += 1
        return value

    @torch.no_grad()
    def imagine(
        self, images: Any, targets: Any = None, *, n: int = 1, rng: np.random.Generator | None = None
    ) -> Imagined:
        """Act on images towards z*: `n` times on each, rows i·n to i·n + n − 1 being made of image i.

        `targets` is one z* for all, (N,), or one per result, (B·n, N); if None, each is drawn from the prior, by `rng`
        if given, else by the explorer's own random numbers, which `learn` shares.
        """
        if n < 1:
            raise ValueError(f"n={n}: must be at least 1 imagined version per image.")
        x = self._encoder.images(images).repeat_interleave(n, 0)
        z = self._targets(targets, len(x), rng).to(x.device)
        parts = [self._act(*part) for part in zip(x.split(CHUNK), z.split(CHUNK), strict=True)]
        moved, parameters = (torch.cat(column) for column in zip(*parts, strict=True))
        reached, _ = self._encoder.look(moved)
        return Imagined(*(value.cpu().numpy() for value in (moved, parameters, z, reached)))

    def distance(
        self, images: Any, targets: Any = None, *, latents: Iterable[int] | None = None, seed: int = 0
    ) -> Closeness:
        """How close the encoding comes to z* on some latents, those aimed at unless told.

        Random targets depend on `seed` only, so that measuring disturbs nothing and can be repeated.
        """
        chosen = self.latents if latents is None else self._checked(latents)
        imagined = self.imagine(images, targets, rng=np.random.default_rng(seed))
        before, _ = self._encoder.look(self._encoder.images(images))
        ways = [(z - imagined.targets)[:, chosen] for z in (before.cpu().numpy(), imagined.reached)]
        return Closeness(chosen, *(np.sqrt(np.square(way).mean(0)) for way in ways))

    def _seen(self, targets: Float[Tensor, "B N"]) -> Float[Tensor, "B N"]:
        """What the policy sees of z*."""
        mask = torch.zeros(self._encoder.n_latents)
        mask[self._latents] = 1
        return targets * mask.to(targets.device)

    def _act(self, x: Images, targets: Float[Tensor, "B N"]) -> tuple[Images, Float[Tensor, "B P"]]:
        parameters = self.policy(x, self._seen(targets))
        return act(self.action, x, parameters).clamp(0, 1), parameters

    def _targets(self, targets: Any, rows: int, rng: np.random.Generator | None) -> Float[Tensor, "B N"]:
        size = (rows, self._encoder.n_latents)
        if targets is None and rng is None:
            return torch.randn(size, generator=self._generator)
        if targets is None and rng is not None:
            return torch.from_numpy(rng.standard_normal(size, np.float32))
        given = targets.detach().cpu() if isinstance(targets, Tensor) else targets
        z = torch.as_tensor(np.asarray(given, np.float32))
        if (shape := tuple(z.shape)) not in (size, size[1:]):
            raise ValueError(f"targets of shape {shape}: must be {size[1:]}, one for all, or {size}, one each.")
        if not bool(torch.isfinite(z).all()):
            raise ValueError("targets contain NaN or infinity: give finite numbers, e.g. draws from N(0, 1).")
        return z.expand(size)

    def _checked(self, latents: Iterable[int]) -> Int[np.ndarray, "L"]:
        chosen = np.asarray(list(latents))
        count = self._encoder.n_latents
        if chosen.dtype == bool or chosen.size == 0 or not np.issubdtype(chosen.dtype, np.integer):
            raise ValueError("latents: give indices, at least one, e.g. [3, 7]; np.flatnonzero turns a mask into them.")
        if chosen.min() < 0 or chosen.max() >= count:
            raise ValueError(f"latents {chosen.tolist()}: the learner has latents 0 to {count - 1}.")
        return np.unique(chosen).astype(np.int64)

    def save(self, folder: str | Path) -> None:
        """Save policy, optimiser and random state atomically; the learner is saved by its own `save`."""
        checkpoint.write(folder, KIND, self.state_dict())

    @classmethod
    def load(cls, folder: str | Path, model: VASE | FrozenEncoder, action: Action) -> Explorer:
        """The explorer that `save` wrote, beside the learner and with the action that it had."""
        state = checkpoint.read(folder, KIND)
        self = cls(model, action, learning_rate=state["learning_rate"], seed=state["seed"], hidden=state["hidden"])
        self.load_state_dict(state)
        return self

    def state_dict(self) -> dict[str, Any]:
        """Everything but the learner."""
        return {
            **self._identity(),
            "learning_rate": self._optimiser.param_groups[0]["lr"],
            "hidden": self.policy.hidden.out_features,
            "seed": self.seed,
            "steps": self.steps,
            "latents": self._latents.tolist(),
            "policy": self.policy.state_dict(),
            "optimiser": optimiser_state(self._optimiser, self.policy),
            "random": {"generator": self._generator.get_state()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue exactly from a `state_dict()`, beside the same learner and with the same action."""
        for name, value in self._identity().items():
            if state[name] != value:
                found = f"the saved explorer has {name} = {state[name]!r}, this one would have {value!r}"
                remedy = "give it the learner and the action that it was saved with"
                raise checkpoint.CheckpointError(f"{found}; {remedy}.")
        self.policy.load_state_dict(state["policy"])
        load_optimiser_state(self._optimiser, self.policy, state["optimiser"])
        self._generator.set_state(state["random"]["generator"])
        self.steps = state["steps"]
        self.latents = state["latents"]

    def _identity(self) -> dict[str, Any]:
        """What a saved explorer must agree on to continue."""
        told = dataclasses.is_dataclass(self.action)
        return {
            "action": repr(self.action) if told else type(self.action).__name__,
            "n_parameters": self.action.n_parameters,
            "image_shape": list(self._encoder.image_shape),
            "n_latents": self._encoder.n_latents,
        }
