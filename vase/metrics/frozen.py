"""Probes on the frozen encoder: what can be read from the representation now, whatever could be read before.

The appendix's probes learn beside the learner (`vase.metrics.probes`): their scores rise while they learn and lag
behind when the representation moves, and both look like a change of the representation. Here every score trains a
fresh probe from the same initial weights, on the same images with the same noise, until its learning rate has fallen
to zero, and tests it on every held-out picture. Two scores differ only if the encoder does.

A fresh probe does not notice that codes have changed their meaning, as long as they still tell as much. Those who use
codes do: their classifier was trained once. So the probe of a world is kept when its visit ends, and is tested on the
codes of later encoders without being trained again (rows of mode "kept"). A second one is trained some batches later
(mode "settled"), because a learner may tidy up its codes as it leaves a world: VASE shifts and scales a world's own
latents. The difference between the two is what that costs; what "settled" loses is lost later.

The probe is the appendix's, two hidden layers of ReLU units on z ~ q(z|x), with 128 units instead of 256. Latents are
standardised and weighted by the share of their variance that is signal, Var(μ)/(Var(μ) + E[σ²]), without which the
noise of unused latents has to be unlearnt first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vase.learners.protocol import Learner
from vase.metrics.codes import Codes, Kind, Source, all_pictures, encode, probed_kinds, travel
from vase.metrics.forgetting import TRAINED_ONCE, Probes
from vase.metrics.probes import Probe
from vase.metrics.resampling import mean_error
from vase.rows import Row

_SALT = 20_181_208
_WARM_UP = 0.1  # share of the updates in which the learning rate rises


@dataclass(frozen=True)
class FrozenSettings:
    """How a probe on the frozen encoder is trained and tested."""

    train_images: int = 10_000
    test_images: int = 10_000  # at most; all pictures of a smaller held-out set
    updates: int = 400
    batch: int = 256
    hidden: int = 128
    lr: float = 2e-2  # Adam's, at its peak
    draws: int = 2  # samples of z per held-out image

    def __post_init__(self) -> None:
        for name in ("train_images", "test_images", "updates", "batch", "hidden", "draws"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")


class Scale(NamedTuple):
    """z -> (z - centre) * weight, for each latent."""

    centre: Float[Tensor, " N"]
    weight: Float[Tensor, " N"]

    def __call__(self, z: Float[Tensor, "*B N"]) -> Float[Tensor, "*B N"]:
        """Scaled codes."""
        return (z - self.centre) * self.weight

    def state_dict(self) -> dict[str, Tensor]:
        """Both tensors by their names."""
        return {"centre": self.centre, "weight": self.weight}


def reliability_scale(mean: Float[Tensor, "B N"], std: Float[Tensor, "B N"]) -> Scale:
    """Standardise z and weight each latent by ρ = Var(μ) / (Var(μ) + E[σ²]), relative to the largest ρ.

    A latent that does not vary gets 0. Relative, because a young encoder has small ρ everywhere.
    """
    signal, noise = mean.double().var(0, correction=0), std.double().square().mean(0)
    total = (signal + noise).clamp(min=1e-30)
    reliability = signal / total
    weight = reliability / reliability.max().clamp(min=1e-30) / total.sqrt()
    return Scale(mean.mean(0), weight.to(mean.dtype))


def learning_rate(update: int, updates: int) -> float:
    """Share of the peak rate at an update, from 1: a linear rise over the first tenth, then half a cosine to 0.

    >>> [round(learning_rate(update, 20), 3) for update in (1, 2, 11, 20)]
    [0.5, 1.0, 0.5, 0.0]
    """
    done = update / updates
    if done < _WARM_UP:
        return done / _WARM_UP
    return 0.5 * (1 + math.cos(math.pi * (done - _WARM_UP) / (1 - _WARM_UP)))


def train_probe(kind: Kind, codes: Codes, outputs: int, settings: FrozenSettings, *, seed: int) -> Probe:
    """A fresh probe, trained on (scaled) codes from initial weights that depend on the seed only."""
    mean, std, target = codes.mean, codes.std, codes.targets[kind]
    probe = Probe(kind, mean.shape[1], outputs, lr=settings.lr, seed=seed, hidden=settings.hidden)
    for update in range(1, settings.updates + 1):
        for group in probe.optimiser.param_groups:
            group["lr"] = settings.lr * learning_rate(update, settings.updates)
        rows = torch.randint(len(mean), (settings.batch,), generator=probe.generator)
        noise = torch.randn((settings.batch, mean.shape[1]), generator=probe.generator)
        probe.update(mean[rows] + std[rows] * noise, target[rows])
    return probe


@torch.no_grad()
def image_scores(
    probe: Probe, z: Float[Tensor, "draws B N"], target: Tensor, scale: Scale | None = None
) -> Float[np.ndarray, " B"]:
    """The score of each image, averaged over its draws: share of right answers, or squared error per coordinate.

    `scale` is that of the targets which the probe of a position was trained on.
    """
    found = []
    for one in z:
        output = probe.network(one)
        if probe.kind == "identity":
            found.append((output.argmax(1) == target).double())
        else:
            output = output if scale is None else output / scale.weight + scale.centre
            found.append((output - target).double().square().mean(1))
    scores: Float[np.ndarray, " B"] = torch.stack(found).mean(0).numpy()
    return scores


@dataclass(frozen=True, eq=False)
class Reader:
    """A trained probe with the scales of its inputs and, for a position, of its targets."""

    probe: Probe
    inputs: Scale
    targets: Scale | None = None

    def scores(self, codes: Codes, noise: Float[Tensor, "draws B N"]) -> Float[np.ndarray, " B"]:
        """The score of each image, averaged over draws of z ~ q(z|x)."""
        z = self.inputs(codes.mean + codes.std * noise)
        return image_scores(self.probe, z, codes.targets[self.probe.kind], self.targets)

    def state_dict(self) -> dict[str, Any]:
        """Enough to read as before; the probe's optimiser is not part of it."""
        targets = None if self.targets is None else self.targets.state_dict()
        return {"network": self.probe.network.state_dict(), "inputs": self.inputs.state_dict(), "targets": targets}

    @classmethod
    def from_state(cls, kind: Kind, state: Mapping[str, Any]) -> Reader:
        """The reader of a `state_dict()`."""
        weights = state["network"]
        (hidden, inputs), outputs = weights["0.weight"].shape, len(weights["4.bias"])
        probe = Probe(kind, inputs, outputs, hidden=hidden)
        probe.network.load_state_dict(weights)
        return cls(probe, Scale(**state["inputs"]), None if state["targets"] is None else Scale(**state["targets"]))


def train_reader(kind: Kind, codes: Codes, outputs: int, settings: FrozenSettings, *, seed: int) -> Reader:
    """A fresh probe, trained on codes that are scaled by their reliability and, for a position, on scaled targets."""
    target, scale, targets = codes.targets[kind], reliability_scale(codes.mean, codes.std), None
    if kind == "position":
        deviation = target.double().std(0, correction=0).float()
        targets = Scale(target.mean(0), 1 / deviation.clamp(min=1e-6))
    goal = {kind: target if targets is None else targets(target)}
    scaled = Codes(scale(codes.mean), codes.std * scale.weight, goal)
    return Reader(train_probe(kind, scaled, outputs, settings, seed=seed), scale, targets)


@dataclass(frozen=True, eq=False)
class _Probing:
    """What the probes of a world are trained and tested on: codes of one encoder, always of the same images."""

    codes: Codes
    test: Codes
    noise: Float[Tensor, "draws B N"]
    seeds: tuple[int, ...]
    kinds: Sequence[Kind]
    """What can be read."""
    pixels: int | None
    """How far objects move."""

    def train(self, kind: Kind, settings: FrozenSettings) -> Reader:
        """A fresh probe."""
        outputs = 2
        if kind == "identity":
            outputs = 1 + int(max(part.targets[kind].max() for part in (self.codes, self.test)))
        seed = _number(*self.seeds, 3, int(kind == "position"))
        return train_reader(kind, self.codes, outputs, settings, seed=seed)

    def row(self, step: int, name: str, kind: Kind, mode: str, reader: Reader) -> Row:
        """The score of a probe, with its standard error over test images; of a position also in pixels, if known."""
        scores = reader.scores(self.test, self.noise)
        value = float(scores.mean())
        row: Row = {"kind": "probe", "step": step, "world": name, "probe": kind, "mode": mode}
        row["accuracy" if kind == "identity" else "mse"] = value
        if kind == "position" and self.pixels is not None:
            row["pixels"] = math.sqrt(value) * self.pixels
        return {**row, "error": mean_error(scores), "images": len(scores)}


class FrozenProbes:
    """Scores of fresh probes on a frozen encoder, and of those that were trained once per visit to their world.

    `worlds` maps a name to the world to learn from and the held-out world, as for `ProbeSuite`. Images, noise and
    initial weights depend on the seed and the world only. An error is the standard error from resampling test images.
    """

    def __init__(
        self, worlds: Mapping[str, tuple[Source, Source]], settings: FrozenSettings | None = None, *, seed: int = 0
    ):
        self.worlds = dict(worlds)
        self.settings = settings or FrozenSettings()
        self.seed = seed
        self.readers: dict[tuple[Probes, str, Kind], Reader] = {}
        """The last probes that were kept or settled."""

    def score(
        self, learner: Learner, step: int, names: Iterable[str] | None = None, *, keep: str | None = None
    ) -> list[Row]:
        """Probe rows of the named worlds, all by default. Fresh probes of the world `keep` are kept from now on."""
        wanted = self.worlds if names is None else set(names)
        rows: list[Row] = []
        for name in self.worlds:
            probing = self._probing(learner, name) if name in wanted else None
            for kind in () if probing is None else probing.kinds:
                assert probing is not None
                fresh = probing.train(kind, self.settings)
                if name == keep:
                    self.readers["kept", name, kind] = fresh
                found = {mode: self.readers.get((mode, name, kind)) for mode in TRAINED_ONCE}
                for mode, reader in {"frozen": fresh, **found}.items():
                    if reader is not None:
                        rows.append(probing.row(step, name, kind, mode, reader))
        return rows

    def settle(self, learner: Learner, step: int, name: str) -> list[Row]:
        """Train the settled probes of a world, in place of earlier ones. Their rows, which a `score` has as well."""
        probing = self._probing(learner, name)
        if probing is None:
            return []
        trained = {kind: probing.train(kind, self.settings) for kind in probing.kinds}
        self.readers |= {("settled", name, kind): reader for kind, reader in trained.items()}
        return [probing.row(step, name, kind, "settled", reader) for kind, reader in trained.items()]

    def _probing(self, learner: Learner, name: str) -> _Probing | None:
        """Codes of a world; None if nothing can be read from them."""
        settings, (source, held_out) = self.settings, self.worlds[name]
        seeds = (self.seed, list(self.worlds).index(name), _SALT)
        images = all_pictures(held_out, settings.test_images, np.random.default_rng([*seeds, 0]))
        if not (kinds := probed_kinds(images.factors)):
            return None
        codes = encode(learner, source.sample(settings.train_images, np.random.default_rng([*seeds, 1])))
        test = encode(learner, images)
        generator = torch.Generator().manual_seed(_number(*seeds, 2))
        noise = torch.randn((settings.draws, *test.mean.shape), generator=generator)
        return _Probing(codes, test, noise, seeds, kinds, travel(source))

    def state_dict(self) -> dict[str, Any]:
        """The probes that were kept or settled; fresh ones leave nothing behind."""
        state: dict[str, Any] = {}
        for (mode, name, kind), reader in self.readers.items():
            state.setdefault(mode, {}).setdefault(name, {})[kind] = reader.state_dict()
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue with the probes of a `state_dict()`."""
        self.readers = {
            (mode, name, kind): Reader.from_state(kind, saved)
            for mode in TRAINED_ONCE
            for name, kinds in state.get(mode, {}).items()
            for kind, saved in kinds.items()
        }


def _number(*entropy: int) -> int:
    """A seed for torch."""
    return int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0] >> 1)
