"""A benchmark that runs in seconds: worlds of stripes, short segments, few controls."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

from vase.experiments.shifts import pool, runner, single, streams
from vase.experiments.shifts.pool import PoolWorld
from vase.experiments.shifts.settings import Size
from vase.worlds import World, from_array

TINY = Size("tiny", streams=2, seeds=(0,), control=24, training=2)
WORLDS = tuple(
    PoolWorld(f"{half}-{number}", "still", half, colour)
    for half in pool.HALVES
    for number, colour in enumerate((False, True))
)


def stripes(name: str, canvas: int = 32) -> World:
    """Stripes whose width and colours depend on the name."""
    rng = np.random.default_rng(list(name.encode()))
    channels, width = (3 if name.endswith("1") else 1), int(rng.integers(2, 7))
    places = np.arange(canvas)[None] + rng.integers(0, 2 * width, 50)[:, None]
    rows = (places // width % 2)[:, None, :, None]
    images = rows * rng.uniform(0.5, 1, (1, channels, 1, 1)) * rng.uniform(0.8, 1, (50, 1, 1, canvas))
    return from_array(images, name=name)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Iterator[Size]:
    """Let the benchmark draw from stripes, with segments of 12 to 14 batches and ramps of 12."""
    monkeypatch.setattr(pool, "make_world", stripes)
    for name in ("LENGTHS", "SHORT", "RAMP"):
        monkeypatch.setattr(streams, name, (12, 14))
    monkeypatch.setattr(streams, "FIRST", 12)
    monkeypatch.setattr(runner, "CASES", {"mnist": single.CASES["mnist"]})
    monkeypatch.setattr(streams, "SEGMENTS", (4, 4))
    for name in ("draw_streams", "stationary_streams"):
        monkeypatch.setattr(runner, name, partial(getattr(streams, name), worlds=WORLDS))
    pool.load_world.cache_clear()
    yield TINY
    pool.load_world.cache_clear()
