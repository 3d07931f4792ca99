"""Probes on the frozen encoder: what can be read from the representation now, whatever could be read before.

The appendix's probes learn beside the learner (`vase.metrics.probes`): their scores rise while they learn and lag
behind when the representation moves, and both look like a change of the representation. Here every score trains a
fresh probe from the same initial weights, on the same images with the same noise, until its learning rate has fallen
to zero, and tests it on every held-out picture. Two scores differ only if the encoder does.

The probe is the appendix's, two hidden layers of ReLU units on z ~ q(z|x), with 128 units instead of 256. Latents are
standardised and weighted by the share of their variance that is signal, Var(μ)/(Var(μ) + E[σ²]), without which the
noise of unused latents has to be unlearnt first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vase.learners.protocol import Learner
from vase.metrics.codes import Codes, Kind, Source, all_pictures, encode, probed_kinds, travel
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


class FrozenProbes:
    """Scores of fresh probes on a frozen encoder. Nothing is kept from one score to the next.

    `worlds` maps a name to the world to learn from and the held-out world, as for `ProbeSuite`. Images, noise and
    initial weights depend on the seed and the world only. An error is the standard error from resampling test images.
    """

    def __init__(
        self, worlds: Mapping[str, tuple[Source, Source]], settings: FrozenSettings | None = None, *, seed: int = 0
    ):
        self.worlds = dict(worlds)
        self.settings = settings or FrozenSettings()
        self.seed = seed

    def score(self, learner: Learner, step: int, names: Iterable[str] | None = None) -> list[Row]:
        """Probe rows of the named worlds, all by default."""
        wanted = self.worlds if names is None else set(names)
        return [row for name in self.worlds if name in wanted for row in self._rows(learner, step, name)]

    def _rows(self, learner: Learner, step: int, name: str) -> list[Row]:
        rows: list[Row] = []
        settings, (source, held_out) = self.settings, self.worlds[name]
        seeds = [self.seed, list(self.worlds).index(name), _SALT]
        images = all_pictures(held_out, settings.test_images, np.random.default_rng([*seeds, 0]))
        if not (kinds := probed_kinds(images.factors)):
            return rows
        codes = encode(learner, source.sample(settings.train_images, np.random.default_rng([*seeds, 1])))
        test = encode(learner, images)
        scale = reliability_scale(codes.mean, codes.std)
        generator = torch.Generator().manual_seed(_number(*seeds, 2))
        z = scale(test.mean + test.std * torch.randn((settings.draws, *test.mean.shape), generator=generator))
        for kind in kinds:
            target = codes.targets[kind]
            deviation = target.double().std(0, correction=0).float() if kind == "position" else None
            centred = None if deviation is None else Scale(target.mean(0), 1 / deviation.clamp(min=1e-6))
            goal = {kind: target if centred is None else centred(target)}
            outputs = 2 if kind == "position" else 1 + int(max(target.max(), test.targets[kind].max()))
            scaled = Codes(scale(codes.mean), codes.std * scale.weight, goal)
            probe = train_probe(kind, scaled, outputs, settings, seed=_number(*seeds, 3, int(kind == "position")))
            scores = image_scores(probe, z, test.targets[kind], centred)
            value = float(scores.mean())
            row: Row = {"kind": "probe", "step": step, "world": name, "probe": kind, "mode": "frozen"}
            row["accuracy" if kind == "identity" else "mse"] = value
            if kind == "position" and (pixels := travel(source)) is not None:
                row["pixels"] = math.sqrt(value) * pixels
            rows.append({**row, "error": mean_error(scores), "images": len(scores)})
        return rows


def _number(*entropy: int) -> int:
    """A seed for torch."""
    return int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0] >> 1)
