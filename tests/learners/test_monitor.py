"""A stream of photographs that the tests make: changes, returns, ramps, many short worlds, and a still camera."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from photographs import (
    blurred,
    dimmed,
    dirty,
    draw,
    grey,
    night,
    noisy,
    photographs,
    upside_down,
    white_balance,
)

from vase import VASEConfig, checkpoint
from vase.config import EnvironmentConfig
from vase.learners.monitor import ShiftMonitor
from vase.learners.records import Step
from vase.worlds import make_world

RNG = np.random.default_rng
LEVEL = 1e-4
Change = Callable[[np.ndarray], np.ndarray]


def made(channels: int = 3, side: int = 32, **environments: Any) -> ShiftMonitor:
    config = VASEConfig(image_shape=(channels, side, side))
    return ShiftMonitor(replace(config, environments=EnvironmentConfig(**environments)))


@pytest.fixture(scope="module")
def day() -> np.ndarray:
    return photographs(1000, RNG(0))


@pytest.fixture(scope="module")
def other() -> np.ndarray:
    """Another scene: rougher, and without a sky."""
    return photographs(1000, RNG(1), sky=-0.1, fall=1.0)


@pytest.fixture(scope="module")
def small() -> np.ndarray:
    return photographs(1500, RNG(2), channels=1, side=16)


def watch(
    monitor: ShiftMonitor, stages: Iterable[np.ndarray], batches: int, size: int = 64, seed: int = 0
) -> list[Step]:
    rng = RNG(seed)
    return [monitor.partial_fit(draw(pool, rng, size)) for pool in stages for _ in range(batches)]


def switches(steps: list[Step]) -> list[tuple[int, int, bool]]:
    return [(step.step, step.environment, step.is_new) for step in steps if step.switched]


def test_day_night_day_upside_down_night(day: np.ndarray) -> None:
    """Five stages of 30 batches: each change is announced with the fourth batch, which completes 256 images."""
    monitor = made()
    steps = watch(monitor, [day, night(day), day, upside_down(day), night(day)], 30)
    assert switches(steps) == [(1, 0, True), (34, 1, True), (64, 0, False), (94, 2, True), (124, 1, False)]
    assert monitor.n_environments == 3
    assert [step.held for step in steps[28:35]] == [False, False, True, True, True, False, False]
    assert sum(record.age for record in monitor.memory) + len(monitor.detector.held) == 150  # none is lost


def test_seven_stages_with_returns(day: np.ndarray, other: np.ndarray) -> None:
    steps = watch(made(), [day, blurred(day), day, other, night(day), day, blurred(day)], 20)
    announced = [(1, 0, True), (24, 1, True), (44, 0, False), (64, 2, True), (84, 3, True), (104, 0, False)]
    assert switches(steps) == [*announced, (124, 1, False)]


def test_what_a_switch_tells(day: np.ndarray) -> None:
    steps = watch(made(), [day, night(day), day], 20)
    dark, back = (step for step in steps[1:] if step.switched)
    assert dark.p_value < 1e-12
    assert dark.effect > 1
    assert dark.reasons[0].startswith("fingerprint ")
    assert "standard deviations from environment 0" in dark.reasons[0]
    assert dark.posterior.tolist() == pytest.approx([0.0, 1.0], abs=1e-6)  # environment 0, new
    assert back.posterior.argmax() == 0
    assert len(back.posterior) == 3
    assert dark.change is not None
    assert dark.change.brightness == pytest.approx(-0.65, abs=0.05)
    assert (dark.change.previous, dark.change.environment, dark.change.is_new) == (0, 1, True)
    assert back.change is not None
    assert back.change.brightness > 1
    assert (back.change.previous, back.change.environment, back.change.is_new) == (1, 0, False)
    calm = [step for step in steps if not step.switched and not step.held]
    assert all(step.change is None and step.reasons == () for step in calm)


@pytest.fixture(scope="module")
def worlds() -> dict[int, tuple[ShiftMonitor, np.ndarray]]:
    """By channels: a monitor of one world of 70 batches, which the tests only ask, and the images of that world."""
    pools = {channels: photographs(1500, RNG(3), channels=channels) for channels in (3, 1)}
    monitors = {channels: made(channels) for channels in pools}
    for channels, pool in pools.items():
        watch(monitors[channels], [pool], 70)
    return {channels: (monitors[channels], pools[channels]) for channels in pools}


def alarms(monitor: ShiftMonitor, pool: np.ndarray) -> int:
    """Of 20 batches of 64, those that have p < 1e-4 in environment 0."""
    rng = RNG(4)
    found = [monitor.test.distance(0, torch.from_numpy(draw(pool, rng))) for _ in range(20)]
    return sum(distance is not None and distance.p_value < LEVEL for distance in found)


def test_batches_held_before_a_change_belong_to_the_old_world(small: np.ndarray) -> None:
    """A batch with a few dark frames arouses suspicion; the night that begins two batches later is not its fault."""
    monitor, rng = made(1, 16), RNG(14)
    watch(monitor, [small], 70)
    for _ in range(200):
        odd = draw(small, rng)
        odd[:5] = night(odd[:5])
        found = monitor.test.distance(0, torch.from_numpy(odd))
        if found is not None and found.effect > 0.3 and 10 * LEVEL < found.p_value < 0.005:
            break
    stream = [odd, draw(small, rng), *(night(draw(small, rng)) for _ in range(4))]
    steps = [monitor.partial_fit(batch) for batch in stream]
    assert [step.held for step in steps] == [True] * 5 + [False]
    assert (steps[-1].switched, steps[-1].environment) == (True, 1)
    assert [record.age for record in monitor.memory] == [72, 4]


class TestAsking:
    @pytest.mark.parametrize(
        ("channels", "change"),
        [(c, f) for c in (3, 1) for f in (blurred, dimmed, noisy, dirty, upside_down)]
        + [(3, grey), (3, white_balance)],
    )
    def test_twenty_batches_of_a_change(self, worlds: Any, channels: int, change: Change) -> None:
        monitor, pool = worlds[channels]
        assert alarms(monitor, change(pool)) >= 18

    @pytest.mark.parametrize("channels", [3, 1])
    def test_twenty_batches_of_another_scene(self, worlds: Any, channels: int) -> None:
        another = photographs(400, RNG(5), channels=channels, sky=0.0, fall=1.1)
        assert alarms(worlds[channels][0], another) >= 18

    @pytest.mark.parametrize("channels", [3, 1])
    def test_twenty_batches_of_the_same(self, worlds: Any, channels: int) -> None:
        monitor, pool = worlds[channels]
        assert alarms(monitor, pool) <= 1
        assert alarms(monitor, photographs(1280, RNG(6), channels=channels)) <= 1  # never seen


@pytest.mark.parametrize(("old", "young"), [("glyphs", "digits"), ("moving-glyphs", "moving-digits")])
def test_images_of_an_old_and_a_young_world_are_told_apart(old: str, young: str) -> None:
    """Images of many-sided worlds are far from their mean: they must not seem nearer to whatever is known less well."""
    rng, worlds = np.random.default_rng(0), [make_world(name) for name in (old, young)]
    monitor = ShiftMonitor(VASEConfig(image_shape=(1, 32, 32)))
    for world, batches in zip(worlds, (60, 12), strict=True):
        for _ in range(batches):
            monitor.partial_fit(world.sample(64, rng).images)
    assert len(monitor.memory) == 2
    found = monitor.infer_environment(np.concatenate([world.sample(100, rng).images for world in worlds]))
    best = found.each.argmax(1)
    assert (best[:100] == 0).mean() >= 0.9
    assert (best[100:] == 1).mean() >= 0.9
    assert found.verdict.startswith("mixture")


def test_nothing_happens_while_nothing_changes() -> None:
    rng, monitor = RNG(7), made(1, 16)
    steps = [monitor.partial_fit(photographs(64, rng, channels=1, side=16)) for _ in range(200)]
    assert switches(steps) == [(1, 0, True)]
    assert sum(step.held for step in steps) < 0.08 * len(steps)


def test_a_gradual_change_keeps_the_old_world(small: np.ndarray) -> None:
    """Day for 60 batches, to ×0.35 within 400, night for 40, then day again."""
    rng, monitor = RNG(8), made(1, 16)
    lights = [1.0] * 60 + list(np.linspace(1.0, 0.35, 400)) + [0.35] * 40 + [1.0] * 10
    steps = [monitor.partial_fit(draw(small, rng) * np.float32(light)) for light in lights]
    assert 2 <= monitor.n_environments <= 3
    night_was = steps[499].environment
    assert night_was != 0
    assert (steps[503].switched, steps[503].environment) == (True, 0)
    assert steps[-1].environment == 0
    assert monitor.infer_environment(night(draw(small, rng))).environment == night_was


def test_twelve_short_worlds() -> None:
    """Four scenes, each as it is, dark and inverted, 25 batches each; and then all again."""
    scenes = [photographs(600, RNG(9), channels=1, side=16, sky=sky, fall=fall) for sky, fall in KINDS]
    worlds = [change(scene) for scene in scenes for change in (np.copy, night, inverted)]
    monitor = made(1, 16)
    first = watch(monitor, worlds, 25)
    assert [first[25 * i + 24].environment for i in range(12)] == list(range(12))
    again = watch(monitor, worlds, 6, seed=1)
    assert [again[6 * i + 5].environment for i in range(12)] == list(range(12))
    assert monitor.n_environments == 12


KINDS = [(0.25, 1.3), (-0.5, 1.3), (0.0, 0.8), (0.0, 1.9)]
"""Light from above, twice as much from below (or the first, inverted, would be like the second), rough, smooth."""


def inverted(images: np.ndarray) -> np.ndarray:
    return 1 - images


def test_a_short_visit_starts_no_environment(small: np.ndarray) -> None:
    rng, monitor = RNG(10), made(1, 16)
    pools = [small] * 40 + [night(small)] * 2 + [small] * 20
    steps = [monitor.partial_fit(draw(pool, rng)) for pool in pools]
    assert switches(steps) == [(1, 0, True)]
    assert sum(step.dropped for step in steps) == 2
    assert monitor.memory.record.age == 60 - sum(step.held for step in steps[-3:])


@pytest.mark.parametrize(("size", "delay"), [(32, 8), (128, 2), (256, 2)])
def test_the_delay_follows_from_the_batch_size(small: np.ndarray, size: int, delay: int) -> None:
    steps = watch(made(1, 16), [small, night(small)], 40, size)
    assert switches(steps) == [(1, 0, True), (40 + delay, 1, True)]


def test_a_still_camera_raises_no_alarm() -> None:
    """A video: each frame is 0.9 of the last and 0.1 of a new picture, contrast kept."""
    rng, monitor = RNG(11), made(1, 16)
    pictures = photographs(64 * 150 + 1, rng, channels=1, side=16)
    frame, frames = pictures[0] - 0.475, []
    for picture in pictures[1:]:
        frame = 0.9 * frame + np.sqrt(1 - 0.81) * (picture - 0.475)
        frames.append(np.clip(frame + 0.475, 0, 1))
    video = np.array(frames, np.float32).reshape(150, 64, 1, 16, 16)
    steps = [monitor.partial_fit(batch) for batch in video]
    assert monitor.n_environments == 1
    assert monitor.test.references[0].scatter["whitened"].ratio > 3
    dark = [monitor.partial_fit(night(batch)) for batch in video[:20]]
    assert switches(steps[1:] + dark)[0][1:] == (1, True)


def test_images_of_other_layouts_and_types_are_the_same(small: np.ndarray) -> None:
    pixels = (255 * draw(small, RNG(12))).astype(np.uint8)
    one, two = made(1, 16), made(1, 16)
    one.partial_fit(pixels)
    two.partial_fit(np.moveaxis(pixels, 1, 3).astype(np.float32) / 255)
    assert np.allclose(one.test.references[0].mean, two.test.references[0].mean, atol=1e-5)


def test_bad_input_has_no_effect(small: np.ndarray) -> None:
    monitor = made(1, 16)
    watch(monitor, [small], 12)
    before = repr(monitor.state_dict())
    for bad in (np.zeros((64, 3, 16, 16)), np.full((64, 1, 16, 16), np.nan), np.zeros((1, 1, 16, 16))):
        with pytest.raises(ValueError, match=r"images|a batch of 1 image"):
            monitor.partial_fit(bad)
    assert repr(monitor.state_dict()) == before


def test_before_the_first_batch(small: np.ndarray) -> None:
    monitor = made(1, 16)
    assert monitor.n_environments == 0
    assert monitor.infer_environment(small[:3]).reasons == ("nothing has been learnt yet",)


@pytest.mark.parametrize("age", [0, 5, 32, 75])
def test_a_saved_monitor_goes_on_exactly(small: np.ndarray, tmp_path: Path, age: int) -> None:
    """Saved to disk before the first batch, in burn-in, while two batches are held (32), and in the third world."""
    rng = RNG(13)
    stream = [draw(pool, rng) for pool in (small, night(small), small) for _ in range(30)]
    one, two = made(1, 16), made(1, 16)
    for batch in stream[:age]:
        one.partial_fit(batch)
    checkpoint.write(tmp_path, "monitor", one.state_dict())
    two.load_state_dict(checkpoint.read(tmp_path, "monitor"))
    assert len(two.detector.held) == (2 if age == 32 else 0)
    for batch in stream[age:]:
        assert repr(one.partial_fit(batch)) == repr(two.partial_fit(batch))
    assert (two.steps, two.n_environments, two.environment) == (90, 2, 0)
    assert repr(one.infer_environment(stream[0])) == repr(two.infer_environment(stream[0]))


@pytest.mark.parametrize("level", [0.0, 0.5])
def test_a_first_batch_without_any_variation_does_not_blind(small: np.ndarray, level: float) -> None:
    """A camera that starts with black frames; the spread of the images must not be taken from them."""
    monitor, rng = ShiftMonitor(VASEConfig(image_shape=small.shape[1:])), RNG(5)
    monitor.partial_fit(np.full((32, *small.shape[1:]), level, np.float32))
    for _ in range(60):
        monitor.partial_fit(draw(small, rng, 32))
    before = monitor.environment
    for _ in range(12):
        step = monitor.partial_fit(night(draw(small, rng, 32)))
    assert step.environment != before


def test_batches_of_other_sizes_are_not_strange(small: np.ndarray) -> None:
    monitor, rng = ShiftMonitor(VASEConfig(image_shape=small.shape[1:])), RNG(6)
    for n in [4] * 40 + [256] * 12 + [2, 64] * 10:
        step = monitor.partial_fit(draw(small, rng, n))
    assert (step.environment, monitor.n_environments) == (0, 1)
