"""Probes: what they measure, that they never disturb the learner, and exact resume."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from vase import VASE, VASEConfig, checkpoint
from vase.metrics.probes import Probe, ProbeSettings, ProbeSuite
from vase.worlds import Schedule, make_world

LATENTS = 6


@dataclass(frozen=True)
class FakeBatch:
    images: np.ndarray
    factors: dict[str, np.ndarray]


@dataclass(frozen=True)
class FakeWorld:
    """4x4 images whose first three pixels carry label, x and y."""

    moving: bool = True
    classes: int = 3
    sprite: int = 2
    image_shape: tuple[int, int, int] = (1, 4, 4)

    def sample(self, n: int, rng: np.random.Generator) -> FakeBatch:
        label = rng.integers(self.classes, size=n)
        x, y = rng.integers(3, size=(2, n)) / 2 if self.moving else np.full((2, n), 0.5)
        images = rng.integers(256, size=(n, 1, 4, 4), dtype=np.uint8)
        images[:, 0, 0, :3] = np.stack([label * 60, x * 200, y * 200], 1)
        return FakeBatch(images, {"label": label, "x": x, "y": y})


class FakeModel:
    """Encodes the three informative pixels in latents 0-2, or forgets them."""

    def __init__(self) -> None:
        self.blind = False
        self.calls = 0

    def posterior(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.calls += len(images)
        pixels = images.reshape(len(images), -1)[:, :LATENTS] / 255 * 4 - 2
        mean = np.where(self.blind, 0, pixels).astype(np.float32)
        return mean, np.full_like(mean, 0.1)


def small(mode: str = "periodic", **values: Any) -> ProbeSettings:
    defaults = {"every": 2, "updates": 20, "batch": 32, "train_images": 200, "test_images": 100}
    return ProbeSettings.of(mode, **({**defaults, **values} if mode == "periodic" else {"every": 2, **values}))


def suite(mode: str = "periodic", **values: Any) -> ProbeSuite:
    worlds = {"moving": (FakeWorld(), FakeWorld()), "static": (FakeWorld(moving=False), FakeWorld(moving=False))}
    return ProbeSuite(worlds, small(mode, **values), seed=3)


def run(probes: ProbeSuite, model: FakeModel, first: int, last: int) -> list[dict[str, Any]]:
    return [row for step in range(first, last + 1) for row in probes.after_step(model, step)]


# Probe


def test_probe_is_the_network_and_the_optimiser_of_the_appendix() -> None:
    probe = Probe("identity", inputs=24, outputs=10)
    shapes = [tuple(parameter.shape) for parameter in probe.network.parameters()]
    assert shapes == [(256, 24), (256,), (256, 256), (256,), (10, 256), (10,)]
    assert [type(layer).__name__ for layer in probe.network] == ["Linear", "ReLU", "Linear", "ReLU", "Linear"]
    assert probe.optimiser.defaults["lr"] == 6e-4
    assert probe.network[0].weight.abs().max() <= 1 / math.sqrt(24)


def test_scores_by_hand() -> None:
    identity, position = Probe("identity", 2, 2), Probe("position", 2, 2)
    for probe in (identity, position):
        for parameter in probe.network.parameters():
            parameter.data.zero_()
    identity.network[4].bias.data[1] = 1.0  # always answers class 1
    z = torch.zeros(4, 2)
    assert identity.score(z, torch.tensor([1, 1, 1, 0])) == 0.75
    # Always answers (0, 0): squared errors 0.25, 0, 0, 1 over 2 x 2 coordinates.
    assert position.score(z[:2], torch.tensor([[0.5, 0.0], [0.0, 1.0]])) == 0.3125


def test_a_bout_is_scored_with_the_average_weights_of_its_second_half() -> None:
    generator = torch.Generator().manual_seed(0)
    mean, target = torch.randn(50, 2, generator=generator), torch.rand(50, 2, generator=generator)
    std = torch.full((50, 2), 0.1)
    probe, twin = (Probe("position", 2, 2, lr=3e-2, seed=1) for _ in range(2))
    probe.learn(mean, std, target, updates=4, batch=8)
    weights = []
    for _ in range(4):
        twin.learn(mean, std, target, updates=1, batch=8)
        weights.append([parameter.detach().clone() for parameter in twin.network.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(probe.network.parameters(), weights[3], strict=True))
    live = twin.score(mean, target)
    for parameter, third, fourth in zip(twin.network.parameters(), weights[2], weights[3], strict=True):
        parameter.data = (third + fourth) / 2
    twin.load_state_dict(twin.state_dict())
    assert probe.score(mean, target) == pytest.approx(twin.score(mean, target), rel=1e-5)
    assert probe.score(mean, target) != pytest.approx(live, rel=1e-5)


def test_unknown_kind_and_mode_are_named() -> None:
    with pytest.raises(ValueError, match=r"'colour'.*'identity' or 'position'"):
        Probe("colour", 2, 2)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"'often'.*'online' or 'periodic'"):
        ProbeSettings(mode="often")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"every is 0"):
        ProbeSettings(every=0)
    with pytest.raises(ValueError, match="no worlds"):
        ProbeSuite({})


# Suite


def test_online_settings_are_the_appendix() -> None:
    online = ProbeSettings.of("online")
    assert (online.updates, online.batch, online.lr) == (1, 64, 6e-4)


def test_rows_have_the_documented_fields_and_static_worlds_have_no_position() -> None:
    rows = run(suite(), FakeModel(), 1, 2)
    assert [(row["world"], row["probe"]) for row in rows] == [
        ("moving", "identity"),
        ("moving", "position"),
        ("static", "identity"),
    ]
    assert all(row["kind"] == "probe" and row["step"] == 2 and row["mode"] == "periodic" for row in rows)
    assert set(rows[0]) == {"kind", "step", "world", "probe", "mode", "accuracy"}
    assert set(rows[1]) == {"kind", "step", "world", "probe", "mode", "mse", "pixels"}
    assert rows[1]["pixels"] == pytest.approx(math.sqrt(rows[1]["mse"]) * (4 - 2))
    json.dumps(rows)


def test_images_without_factors_need_no_probe() -> None:
    @dataclass(frozen=True)
    class Plain:
        image_shape: tuple[int, int, int] = (1, 4, 4)

        def sample(self, n: int, rng: np.random.Generator) -> FakeBatch:
            return FakeBatch(rng.integers(256, size=(n, 1, 4, 4), dtype=np.uint8), {})

    assert run(ProbeSuite({"folder": (Plain(), Plain())}, small()), FakeModel(), 1, 4) == []


def test_periodic_learns_what_the_code_holds_and_follows_its_loss() -> None:
    probes, model = suite(), FakeModel()
    learnt = run(probes, model, 1, 20)[-3:]
    assert learnt[0]["accuracy"] > 0.95
    assert learnt[2]["accuracy"] > 0.95
    assert learnt[1]["mse"] < 0.01
    model.blind = True
    lost = run(probes, model, 21, 30)[-3:]
    assert lost[0]["accuracy"] < 0.5  # three classes by chance
    assert lost[1]["mse"] > 0.12  # variance of {0, 0.5, 1}: 1/6


def test_online_trains_at_every_step_and_scores_when_due() -> None:
    probes, model = suite("online", every=50, test_images=100), FakeModel()
    first = run(probes, model, 1, 49)
    assert first == []
    assert model.calls == 49 * 2 * 64
    rows = run(probes, model, 50, 100)
    assert [row["step"] for row in rows] == [50] * 3 + [100] * 3
    assert rows[0]["mode"] == "online"
    assert rows[3]["accuracy"] > 0.9
    moments = probes.probes["moving", "identity"].state_dict()["optimiser"]
    assert {int(parameter["step"]) for parameter in moments.values()} == {100}


def test_periodic_does_nothing_between_scores() -> None:
    model = FakeModel()
    assert suite().after_step(model, 1) == []
    assert model.calls == 0


@pytest.mark.parametrize("mode", ["online", "periodic"])
def test_probes_leave_global_random_states_alone(mode: str) -> None:
    torch.manual_seed(1)
    before_torch, before_numpy = torch.get_rng_state(), np.random.get_state()[1]  # noqa: NPY002
    run(suite(mode), FakeModel(), 1, 4)
    assert torch.equal(torch.get_rng_state(), before_torch)
    assert np.array_equal(np.random.get_state()[1], before_numpy)  # noqa: NPY002


@pytest.mark.parametrize("mode", ["online", "periodic"])
def test_a_learner_with_probes_is_the_learner_without(mode: str) -> None:
    names = ("moving-digits", "glyphs")
    worlds = {name: (make_world(name), make_world(name, split="test")) for name in names}
    losses = []
    for probed in (False, True):
        model = VASE(VASEConfig.smoke(), seed=0)
        probes = ProbeSuite(worlds, small(mode, every=3))
        rows = []
        for step, batch in enumerate(Schedule.parse("moving-digits,glyphs", steps=4, batch_size=16), 1):
            losses.append(model.partial_fit(batch.images).loss)
            rows += probes.after_step(model, step) if probed else []
        code = model.posterior(batch.images)
    assert losses[:8] == losses[8:]
    assert np.isfinite(code[0]).all()
    assert {(row["world"], row["probe"]) for row in rows} == {
        ("moving-digits", "identity"),
        ("moving-digits", "position"),
        ("glyphs", "identity"),
    }
    assert all(row["pixels"] == pytest.approx(12 * math.sqrt(row["mse"])) for row in rows if "mse" in row)


def through_files(state: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A state as a checkpoint gives it back."""
    checkpoint.write(folder, "probes", state)
    return checkpoint.read(folder, "probes")


@pytest.mark.parametrize("mode", ["online", "periodic"])
def test_resume_is_exact_through_a_checkpoint(mode: str, tmp_path: Path) -> None:
    whole = suite(mode)
    expected = run(whole, FakeModel(), 1, 9)
    first = suite(mode)
    rows = run(first, FakeModel(), 1, 4)
    second = suite(mode)
    second.load_state_dict(through_files(first.state_dict(), tmp_path / "state"))
    rows += run(second, FakeModel(), 5, 9)
    assert rows == expected
    assert flat(whole.state_dict()) == flat(second.state_dict())


def flat(state: Any, name: str = "") -> dict[str, Any]:
    """Dotted name -> value, tensors as lists."""
    if isinstance(state, dict):
        return {key: value for part, inner in state.items() for key, value in flat(inner, f"{name}.{part}").items()}
    return {name: state.tolist() if isinstance(state, torch.Tensor) else state}


def test_a_saved_state_does_not_change_with_later_training() -> None:
    probes = suite()
    run(probes, FakeModel(), 1, 2)
    state = probes.state_dict()
    before = flat(state)
    run(probes, FakeModel(), 3, 4)
    assert flat(state) == before
    assert flat(probes.state_dict()) != before


def test_state_of_a_suite_that_has_not_learnt_yet() -> None:
    fresh = suite()
    fresh.load_state_dict(suite().state_dict())
    assert run(fresh, FakeModel(), 1, 2) == run(suite(), FakeModel(), 1, 2)


def test_foreign_state_is_refused_with_the_difference() -> None:
    other = ProbeSuite({"moving": (FakeWorld(), FakeWorld())}, small(), seed=3)
    with pytest.raises(ValueError, match=r"worlds = \['moving', 'static'\], this suite has \['moving'\]"):
        other.load_state_dict(suite().state_dict())


def test_seed_and_world_decide_the_images() -> None:
    rows = run(suite(), FakeModel(), 1, 4)
    assert rows == run(suite(), FakeModel(), 1, 4)
    worlds = {"moving": (FakeWorld(), FakeWorld())}
    assert rows[0] != run(ProbeSuite(worlds, small(), seed=4), FakeModel(), 1, 4)[0]
