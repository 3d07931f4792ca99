"""A run that never was: rows and a learner with known answers, shaped like a real three-world run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from vase.metrics.record import Record

STAGES = (("moving-fashion", 3000), ("mnist", 3000), ("moving-mnist", 3000))
LATENTS = 24
SIDE = 32
X, Y = 7, 2
"""Latents of the horizontal and the vertical position."""


@dataclass(frozen=True)
class View:
    index: int
    used: np.ndarray
    mask: np.ndarray


def _flags(*latents: int) -> np.ndarray:
    flags = np.zeros(LATENTS, bool)
    flags[list(latents)] = True
    return flags


class FakeLearner:
    """Draws a bright box (environment 0) or ring: its place is z7, z2 and its size z11, unless they are masked."""

    n_latents, environment = LATENTS, 0

    def __init__(self, environments: int = 3, channels: int = 1) -> None:
        self.channels = channels
        uses = [_flags(X, Y, 11, 4), _flags(11, 15, 16, 17, 20), _flags(X, Y, 11, 15, 16, 17)]
        off = [_flags(), _flags(X, Y, 4, 9), _flags(4)]
        self.environments = tuple(View(s, uses[s % 3], ~off[s % 3]) for s in range(environments))
        self.steps = 9000

    def posterior(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean = np.linspace(1, -1, len(images))[:, None] * np.linspace(0, 1, LATENTS)
        return mean, np.full(mean.shape, 0.2)

    def infer_environment(self, images: np.ndarray) -> None:
        raise AssertionError("figures do not ask for environments")

    def decode(self, z: np.ndarray, environment: int | None = None) -> np.ndarray:
        view = self.environments[environment or 0]
        z = np.asarray(z) * view.used
        rows, columns = np.mgrid[:SIDE, :SIDE]
        centre = SIDE / 2 + 4 * z[:, [Y, X]]
        far = np.abs(np.stack([rows, columns])[None] - centre[:, :, None, None])
        size = (5 + z[:, 11])[:, None, None]
        box = far.max(axis=1) < size if view.index == 0 else np.abs(np.hypot(*far.swapaxes(0, 1)) - size) < 2
        return np.repeat(box[:, None].astype(np.float32) * 0.9, self.channels, axis=1)

    def reconstruct(self, images: np.ndarray, environment: int | None = None) -> np.ndarray:
        return self.decode(self.posterior(images)[0], environment)

    def dream(self, n: int, environment: int | None = None, *, seed: int | None = None) -> np.ndarray:
        return self.decode(np.random.default_rng(n if seed is None else seed).normal(size=(n, LATENTS)), environment)


class Coder:
    """A learner that encodes, and nothing else."""

    n_latents, steps = LATENTS, 9000
    posterior = FakeLearner.posterior


class Decoder(Coder):
    """It decodes, too, as environment 0 of the other learner, but infers no environments and does not dream."""

    def decode(self, z: np.ndarray, environment: int | None = None) -> np.ndarray:
        assert not environment
        return FakeLearner().decode(z, 0)

    def reconstruct(self, images: np.ndarray, environment: int | None = None) -> np.ndarray:
        return self.decode(self.posterior(images)[0], environment)


def synthetic_rows(stages: tuple[tuple[str, int], ...], *, delay: int = 4) -> list[dict[str, Any]]:
    """Step rows every 10 steps, probes every 250, one switch `delay` batches after each true one."""
    rng = np.random.default_rng(0)
    worlds = list(dict.fromkeys(world for world, _ in stages))
    ends = np.cumsum([steps for _, steps in stages])
    total = int(ends[-1])
    rows: list[dict[str, Any]] = []
    for step in range(1, total + 1):
        stage = int(np.searchsorted(ends, step - 1, side="right"))
        inside = step - (ends[stage] - stages[stage][1])
        world = stages[stage][0]
        environment = worlds.index(world if inside >= delay or stage == 0 else stages[stage - 1][0])
        if stage and inside == delay:
            new = world not in {name for name, _ in stages[:stage]}
            rows.append(
                {
                    "kind": "switch",
                    "step": step,
                    "environment": environment,
                    "is_new": new,
                    "delay": delay,
                    "reasons": [],
                }
            )
        if step % 10 == 0 or step == 1:
            alpha = 0.02 * np.exp(0.45 * rng.normal(size=LATENTS))
            if "moving" not in world:
                alpha[[X, Y]] = [1.8, 1.2] * np.exp(0.08 * rng.normal(size=2))
            if world != worlds[0]:
                alpha[4] = 2.6 * np.exp(0.1 * rng.normal())
            rows.append(
                {
                    "kind": "step",
                    "step": step,
                    "environment": environment,
                    "stage": stage,
                    "held": False,
                    "loss": 100.0,
                    "atypicality": alpha.tolist(),
                    "mask": [1] * LATENTS,
                }
            )
        if step % 250 == 0:
            rows += _probe_rows(step, stages, worlds, ends, rng)
    moving = next((world for world in worlds if world.startswith("moving")), None)
    axes = {"x": {"latent": X, "correlation": -0.93}, "y": {"latent": Y, "correlation": 0.81}}
    return [*rows, {"kind": "end", "step": total, **({"position": {"world": moving, **axes}} if moving else {})}]


def _probe_rows(
    step: int, stages: tuple[tuple[str, int], ...], worlds: list[str], ends: np.ndarray, rng: np.random.Generator
) -> list[dict[str, Any]]:
    rows = []
    for number, world in enumerate(worlds):
        first = next(int(end) - steps for (name, steps), end in zip(stages, ends, strict=True) if name == world)
        learnt = 1 - np.exp(-max(0, step - first) / 700)
        known = 0.25 + 0.1 * min(1, step / 2000)
        base = {"kind": "probe", "step": step, "world": world, "mode": "periodic"}
        accuracy = known + (0.5 - 0.08 * number) * learnt + 0.01 * rng.normal()
        rows.append({**base, "probe": "identity", "accuracy": float(accuracy)})
        if "moving" in world:
            mse = 0.002 + 0.05 * np.exp(-step / 400) + 0.0008 * rng.random()
            rows.append({**base, "probe": "position", "mse": float(mse), "pixels": float(12 * np.sqrt(mse))})
    return rows


@pytest.fixture
def learner() -> FakeLearner:
    return FakeLearner()


@pytest.fixture
def coder() -> Coder:
    return Coder()


@pytest.fixture
def decoder() -> Decoder:
    return Decoder()


@pytest.fixture
def images() -> dict[int, np.ndarray]:
    model = FakeLearner()
    return {s: (255 * model.dream(8, s)).astype(np.uint8) for s in range(3)}


@pytest.fixture
def record() -> Record:
    return Record(STAGES, tuple(synthetic_rows(STAGES)))


@pytest.fixture
def make_run() -> Callable[..., tuple[FakeLearner, Record, dict[int, np.ndarray]]]:
    """A function that makes a learner, a record and images for any stream."""

    def make(
        stream: list[tuple[str, int]], environments: int | None = None, channels: int = 1
    ) -> tuple[FakeLearner, Record, dict[int, np.ndarray]]:
        worlds = len({world for world, _ in stream}) if environments is None else environments
        model = FakeLearner(worlds, channels)
        pictures = {s: (255 * model.dream(8, s)).astype(np.uint8) for s in range(worlds)}
        return model, Record(tuple(stream), tuple(synthetic_rows(tuple(stream)))), pictures

    return make
