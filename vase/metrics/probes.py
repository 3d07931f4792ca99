"""Probes: how much of a world can be read from the representation.

Appendix "Quantifying catastrophic forgetting": for each world a classifier with two hidden layers of 256 ReLU
units is trained on z ~ q(z|x) beside the learner, with Adam and without ever updating the learner. Section 4 does the
same with a regressor of the object's position. Two modes produce the numbers, and every row says which one:

`online`    the appendix to the letter: after every training step one probe step of batch 64, lr 6e-4, on new images.
`periodic`  for laptops: every `every` training steps, encode new images once and take `updates` probe steps on them
            (batch 128, lr 3e-3, new noise in z at each step), continuing from the probe's last weights; score the
            average of the weights over the second half of these steps. A probe sees about as many samples as online
            (100 x 128 against 250 x 64), so it follows the drift of the representation as closely; with a smaller step
            and without the average it lags behind, which would look like a change of the representation.

In both modes the score is taken every `every` steps on a fixed set of held-out images with fixed noise, so that two
scores differ by the representation and the probe only.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from vase.learners.protocol import Learner
from vase.metrics.codes import Kind, Source, encode, probed_kinds, travel
from vase.nn.optim import load_optimiser_state, optimiser_state
from vase.rows import Row
from vase.worlds.world import Batch

Mode = Literal["online", "periodic"]

_LABEL_SAMPLE = 2_000  # images from which the number of classes is taken if a world does not say it


class Probe:
    """Two hidden layers of 256 ReLU units on a representation (appendix), with its own Adam and its own random numbers.

    `kind` is "identity" (cross-entropy over `outputs` classes) or "position" (squared error of `outputs` coordinates).
    """

    def __init__(self, kind: Kind, inputs: int, outputs: int, *, lr: float = 6e-4, seed: int = 0, hidden: int = 256):
        if kind not in ("identity", "position"):
            raise ValueError(f"kind is {kind!r}; a probe is 'identity' or 'position'")
        self.kind = kind
        self.loss = functional.cross_entropy if kind == "identity" else functional.mse_loss
        self.generator = torch.Generator().manual_seed(seed)
        first, second, last = (self._linear(*sizes) for sizes in pairwise((inputs, hidden, hidden, outputs)))
        self.network = nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), last)
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=lr, fused=True)
        self._average: nn.Module | None = None

    def _linear(self, fan_in: int, fan_out: int) -> nn.Linear:
        """PyTorch's default initialisation, from the probe's own generator instead of the global one."""
        layer = nn.utils.skip_init(nn.Linear, fan_in, fan_out)
        bound = 1 / math.sqrt(fan_in)
        for parameter in (layer.weight, layer.bias):
            nn.init.uniform_(parameter, -bound, bound, generator=self.generator)
        return layer

    def update(self, z: Float[Tensor, "B N"], target: Tensor) -> float:
        """One Adam step on one batch; returns the loss before it."""
        self._average = None
        with torch.enable_grad():
            loss = self.loss(self.network(z.detach()), target)
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()
        self.optimiser.step()
        return float(loss.detach())

    def learn(
        self, mean: Float[Tensor, "B N"], std: Float[Tensor, "B N"], target: Tensor, *, updates: int, batch: int
    ) -> None:
        """Take `updates` steps on random batches of z ~ N(mean, std), with new noise at every step.

        Scores then come from the average of the weights over the second half, which smooths Adam's noise.
        """
        average = copy.deepcopy(self.network)
        weights = [parameter.data for parameter in self.network.parameters()]
        averages = [parameter.data for parameter in average.parameters()]
        for count in range(1 - updates // 2, updates - updates // 2 + 1):
            rows = torch.randint(len(mean), (batch,), generator=self.generator)
            noise = torch.randn((batch, mean.shape[1]), generator=self.generator)
            self.update(mean[rows] + std[rows] * noise, target[rows])
            if count >= 1:
                for mean_weight, weight in zip(averages, weights, strict=True):
                    mean_weight.lerp_(weight, 1 / count)
        self._average = average

    @torch.no_grad()
    def score(self, z: Float[Tensor, "B N"], target: Tensor) -> float:
        """Accuracy ("identity") or mean squared error ("position") on the given batch."""
        output = (self._average or self.network)(z)
        scores = output.argmax(1) == target if self.kind == "identity" else (output - target).double().square()
        return float(scores.double().mean())

    def state_dict(self) -> dict[str, Any]:
        """A copy of the weights, Adam's moments and the random state: enough for an exact resume."""
        weights, moments = self.network.state_dict(), optimiser_state(self.optimiser, self.network)
        return copy.deepcopy({"network": weights, "optimiser": moments, "generator": self.generator.get_state()})

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue exactly from a `state_dict()`."""
        self.network.load_state_dict(state["network"])
        self._average = None
        load_optimiser_state(self.optimiser, self.network, state["optimiser"])
        self.generator.set_state(state["generator"])


@dataclass(frozen=True)
class ProbeSettings:
    """How probes are trained; `ProbeSettings.of(mode)` gives the values of the two modes of the module's docstring."""

    mode: Mode = "periodic"
    every: int = 250  # training steps between two scores (and, if periodic, between two rounds of probe training)
    updates: int = 100  # probe steps per round; online: 1 per training step
    batch: int = 128  # batch of one probe step; the appendix: 64
    lr: float = 3e-3  # Adam's learning rate; the appendix: 6e-4
    train_images: int = 2_000  # new images encoded per round (periodic)
    test_images: int = 1_000  # held-out images of the score
    draws: int = 2  # samples of z per held-out image

    def __post_init__(self) -> None:
        if self.mode not in ("online", "periodic"):
            raise ValueError(f"mode is {self.mode!r}; probes run 'online' or 'periodic'")
        for name in ("every", "updates", "batch", "train_images", "test_images", "draws"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")

    @classmethod
    def of(cls, mode: Mode, **values: Any) -> ProbeSettings:
        """The settings of a mode, with some values replaced."""
        appendix = {"updates": 1, "batch": 64, "lr": 6e-4} if mode == "online" else {}
        return cls(mode=mode, **{**appendix, **values})


class ProbeSuite:
    """One probe per kind and world, trained during training without updating the learner.

    `worlds` maps a name to the world to learn from and the held-out world to be scored on; training images depend on
    (seed, world, step) only. A world gets an identity probe if its batches have the factor "label", and a position
    probe if "x" or "y" varies. Pixels are the root mean squared error times the travel, if there is a sprite size.
    """

    def __init__(
        self, worlds: Mapping[str, tuple[Source, Source]], settings: ProbeSettings | None = None, *, seed: int = 0
    ):
        if not worlds:
            raise ValueError("no worlds to probe; give at least one name -> (train, test) pair")
        self.worlds = dict(worlds)
        self.settings = settings or ProbeSettings()
        self.seed = seed
        self.probes: dict[tuple[str, Kind], Probe] = {}
        self._tests = {name: self._batch(name, "test", 0, self.settings.test_images) for name in self.worlds}
        self._noise: dict[str, Tensor] = {}

    def after_step(self, model: Learner, step: int) -> list[Row]:
        """Call this after every training step with the number of batches seen; returns rows if a score is due."""
        settings = self.settings
        due = step % settings.every == 0
        if not due and settings.mode == "periodic":
            return []
        images = settings.train_images if settings.mode == "periodic" else settings.batch * settings.updates
        rows: list[Row] = []
        for name in self.worlds:
            codes = encode(model, self._batch(name, "train", step, images))
            for kind in self._kinds(name):
                if (name, kind) not in self.probes:
                    self.probes[name, kind] = self._new_probe(name, kind, codes.mean.shape[1])
                probe, target = self.probes[name, kind], codes.targets[kind]
                if settings.mode == "periodic":
                    probe.learn(codes.mean, codes.std, target, updates=settings.updates, batch=settings.batch)
                    continue
                z = codes.mean + codes.std * torch.randn(codes.mean.shape, generator=probe.generator)
                for part in torch.arange(len(z)).chunk(
                    settings.updates
                ):  # as many, whatever a world adds to its images
                    probe.update(z[part], target[part])
            if due:
                rows += self._scores(model, name, step)
        return rows

    def _scores(self, model: Learner, name: str, step: int) -> list[Row]:
        codes = encode(model, self._tests[name])
        if name not in self._noise:
            generator = torch.Generator().manual_seed(self._number(name, "noise"))
            self._noise[name] = torch.randn((self.settings.draws, *codes.mean.shape), generator=generator)
        z = (codes.mean + codes.std * self._noise[name]).flatten(0, 1)
        rows: list[Row] = []
        for kind in self._kinds(name):
            value = self.probes[name, kind].score(z, torch.cat([codes.targets[kind]] * self.settings.draws))
            row: Row = {"kind": "probe", "step": step, "world": name, "probe": kind, "mode": self.settings.mode}
            row["accuracy" if kind == "identity" else "mse"] = value
            if kind == "position" and (pixels := travel(self.worlds[name][0])) is not None:
                row["pixels"] = math.sqrt(value) * pixels
            rows.append(row)
        return rows

    def _number(self, name: str, purpose: str) -> int:
        """A seed of its own for each world and purpose."""
        purposes = ("train", "test", "noise", "identity", "position")
        entropy = [self.seed, list(self.worlds).index(name), purposes.index(purpose)]
        return int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0] >> 1)

    def _batch(self, name: str, split: Literal["train", "test"], step: int, n: int) -> Batch:
        world = self.worlds[name][0 if split == "train" else 1]
        return world.sample(n, np.random.default_rng([self._number(name, split), step]))

    def _kinds(self, name: str) -> list[Kind]:
        return probed_kinds(self._tests[name].factors)

    def _new_probe(self, name: str, kind: Kind, inputs: int) -> Probe:
        outputs = 2 if kind == "position" else self._classes(name)
        return Probe(kind, inputs, outputs, lr=self.settings.lr, seed=self._number(name, kind))

    def _classes(self, name: str) -> int:
        """Classes of a world: its `n_classes`, else one more than the largest label of a sample."""
        counts = [getattr(world, "n_classes", None) for world in self.worlds[name]]
        if all(counts):
            return max(int(count) for count in counts if count is not None)
        seen = (self._tests[name], self._batch(name, "train", 0, _LABEL_SAMPLE))
        return 1 + max(int(batch.factors["label"].max()) for batch in seen)

    def state_dict(self) -> dict[str, Any]:
        """Everything that an exact resume needs."""
        probes: dict[str, dict[str, Any]] = {}
        for (name, kind), probe in self.probes.items():
            probes.setdefault(name, {})[kind] = probe.state_dict()
        return {**self._description(), "probes": probes}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue exactly from a `state_dict()` of a suite with the same worlds, settings and seed."""
        for key, value in self._description().items():
            if state.get(key) != value:
                found = f"saved probes have {key} = {state.get(key)!r}, this suite has {value!r}"
                raise ValueError(f"{found}; build the suite with the saved values, or start the probes anew")
        probes: dict[tuple[str, Kind], Probe] = {}
        for name in self.worlds:
            for which in self._kinds(name):
                if (saved := state["probes"].get(name, {}).get(which)) is not None:
                    probes[name, which] = self._new_probe(name, which, saved["network"]["0.weight"].shape[1])
                    probes[name, which].load_state_dict(saved)
        self.probes = probes

    def _description(self) -> dict[str, Any]:
        return {"worlds": list(self.worlds), "settings": asdict(self.settings), "seed": self.seed}
