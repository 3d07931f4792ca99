"""Probes on the frozen encoder: by hand, the same twice, and blind to everything but the encoder."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import torch

from vase.metrics.codes import Codes, all_pictures
from vase.metrics.frozen import (
    FrozenProbes,
    FrozenSettings,
    Scale,
    image_scores,
    learning_rate,
    reliability_scale,
    train_probe,
)
from vase.metrics.probes import Probe
from vase.worlds import Batch, from_array, make_world

SMALL = FrozenSettings(train_images=400, test_images=200, updates=60, batch=64, hidden=32)


class Pixels:
    """4x4 images whose first three pixels carry label, x and y, and an encoder that reads them or not."""

    n_latents, steps, sprite, image_shape, name = 6, 0, 2, (1, 4, 4), "pixels"

    def __init__(self, moving: bool = True) -> None:
        self.moving, self.blind, self.encoded = moving, False, 0

    def sample(self, n: int, rng: np.random.Generator) -> Batch:
        label = rng.integers(3, size=n)
        x, y = rng.integers(3, size=(2, n)) / 2 if self.moving else np.full((2, n), 0.5)
        images = rng.integers(256, size=(n, 1, 4, 4), dtype=np.uint8)
        images[:, 0, 0, :3] = np.stack([label * 60, x * 200, y * 200], 1)
        return Batch(images, {"label": label, "x": x, "y": y})

    def posterior(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.encoded += len(images)
        pixels = images.reshape(len(images), -1)[:, :6] / 255 * 4 - 2
        mean = np.where(self.blind, 0, pixels).astype(np.float32)
        return mean, np.full_like(mean, 0.1)


def suite(seed: int = 0, settings: FrozenSettings = SMALL) -> FrozenProbes:
    return FrozenProbes({"a": (Pixels(), Pixels()), "b": (Pixels(False), Pixels(False))}, settings, seed=seed)


def test_the_scale_of_latents_by_hand() -> None:
    # Variances of the means 1, 3 and 0, of the noise 0, 1 and 4: weights 1/√1 · 1, 1/√4 · 3/4 and 0.
    mean = torch.tensor([[1.0, math.sqrt(3), 7.0], [-1.0, -math.sqrt(3), 7.0]])
    std = torch.tensor([[0.0, 1.0, 2.0]] * 2)
    scale = reliability_scale(mean, std)
    assert scale.weight.tolist() == pytest.approx([1, 3 / 8, 0])
    assert scale.centre.tolist() == pytest.approx([0, 0, 7])
    assert scale(torch.tensor([[2.0, 8.0, 1.0]])).tolist() == [pytest.approx([2, 3, 0])]
    # A quarter and an eighth of the variance is signal: the first is only standardised, 1/√4, the second weighs half.
    weak = reliability_scale(mean[:, [0, 0]], torch.tensor([[math.sqrt(3), math.sqrt(7)]] * 2))
    assert weak.weight.tolist() == pytest.approx([1 / 2, 1 / 2 / math.sqrt(8)])
    nothing = reliability_scale(torch.zeros(2, 1), torch.zeros(2, 1))
    assert nothing.weight.tolist() == [0]


def test_the_learning_rate_rises_and_falls_to_zero() -> None:
    rates = [learning_rate(update, 400) for update in range(1, 401)]
    assert max(rates) == rates[39] == 1
    assert rates[19] == pytest.approx(0.5)
    assert rates[-1] == pytest.approx(0)


def test_scores_of_images_by_hand() -> None:
    identity, position = Probe("identity", 1, 2, hidden=4), Probe("position", 1, 2, hidden=4)
    for probe in (identity, position):
        for parameter in probe.network.parameters():
            parameter.data.zero_()
    identity.network[4].bias.data[1] = 1.0  # always answers class 1
    position.network[4].bias.data[:] = torch.tensor([1.0, -1.0])
    z = torch.zeros(2, 3, 1)
    assert image_scores(identity, z, torch.tensor([1, 0, 1])).tolist() == [1, 0, 1]
    # In units of its targets it answers (0.5 + 1/4, 0.5 − 1/2) = (0.75, 0): errors 0, and (0.75² + 1)/2.
    found = image_scores(position, z[:, :2], torch.tensor([[0.75, 0.0], [0.0, 1.0]]), Scale(*_halves()))
    assert found.tolist() == pytest.approx([0, (0.75**2 + 1) / 2])


def _halves() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor([0.5, 0.5]), torch.tensor([4.0, 2.0])


def test_the_same_encoder_gives_the_same_scores_at_any_step() -> None:
    probes, model = suite(), Pixels()
    first = probes.score(model, 10)
    torch.rand(3), np.random.default_rng().random()  # whatever happens in between
    again = probes.score(model, 20)
    assert [{**row, "step": 10} for row in again] == first
    assert suite().score(model, 10) == first  # nor does another process change them
    assert suite(seed=1).score(model, 10) != first


def test_scores_follow_the_encoder_and_nothing_lags() -> None:
    probes, model = suite(), Pixels()
    seen = probes.score(model, 1, ["a"])
    model.blind = True
    blind = probes.score(model, 2, ["a"])
    model.blind = False
    assert [{**row, "step": 1} for row in probes.score(model, 3, ["a"])] == seen
    assert seen[0]["accuracy"] > 0.9 > 0.5 > blind[0]["accuracy"]
    assert seen[1]["mse"] < 0.03
    assert blind[1]["mse"] == pytest.approx(1 / 6, abs=0.03)  # the variance of {0, ½, 1}


def test_rows_and_their_errors() -> None:
    probes, model = suite(), Pixels()
    rows = probes.score(model, 5)
    assert [(row["world"], row["probe"]) for row in rows] == [("a", "identity"), ("a", "position"), ("b", "identity")]
    assert set(rows[0]) == {"kind", "step", "world", "probe", "mode", "accuracy", "error", "images"}
    assert set(rows[1]) == {"kind", "step", "world", "probe", "mode", "mse", "pixels", "error", "images"}
    assert {(row["kind"], row["mode"], row["step"], row["images"]) for row in rows} == {("probe", "frozen", 5, 200)}
    assert rows[1]["pixels"] == pytest.approx(2 * math.sqrt(rows[1]["mse"]))
    assert 0 < rows[1]["error"] < rows[1]["mse"]
    assert model.encoded == 2 * (400 + 200)
    json.dumps(rows)
    model.blind = True  # one answer for all images, right for a share of them
    blind = probes.score(model, 6, ["b"])[0]
    share = blind["accuracy"]
    assert blind["error"] == pytest.approx(math.sqrt(share * (1 - share) / 200))


def test_the_error_is_the_spread_of_scores_over_test_images() -> None:
    model, scores, errors = Pixels(), [], []
    probe = train_probe("identity", _codes(model, 400, 0), 3, SMALL, seed=0)
    for seed in range(1, 60):
        codes = _codes(model, 200, seed)
        found = image_scores(probe, codes.mean[None], codes.targets["identity"])
        scores.append(found.mean())
        errors.append(found.std() / math.sqrt(200))
    assert np.mean(errors) == pytest.approx(np.std(scores), rel=0.25)


def _codes(model: Pixels, n: int, seed: int) -> Codes:
    batch = model.sample(n, np.random.default_rng(seed))
    mean, std = map(torch.from_numpy, model.posterior(batch.images))
    noise = torch.randn(mean.shape, generator=torch.Generator().manual_seed(seed))
    return Codes(mean + 0.5 * noise, std, {"identity": torch.from_numpy(batch.factors["label"])})


def test_every_held_out_picture_is_shown_once() -> None:
    images = np.arange(5, dtype=np.uint8).repeat(4).reshape(5, 1, 2, 2)
    world: Any = from_array(images, np.arange(5))
    batch = all_pictures(world, 100, np.random.default_rng(0))
    assert sorted(batch.factors["label"]) == [0, 1, 2, 3, 4]
    assert batch.images[:, 0, 0, 0].tolist() == batch.factors["label"].tolist()
    assert len(set(all_pictures(world, 3, np.random.default_rng(0)).factors["label"])) == 3
    for name in ("digits", "soft-glyphs"):
        sprites: Any = make_world(name, split="test")
        found = all_pictures(sprites, 10**6, np.random.default_rng(0))
        assert len(found) == len(getattr(sprites, "inner", sprites).bank)
    assert len(all_pictures(Pixels(), 7, np.random.default_rng(0))) == 7  # sampled, if a world cannot


def test_probes_leave_global_random_states_alone() -> None:
    before, numpy_before = torch.get_rng_state(), np.random.get_state()[1]  # noqa: NPY002
    suite().score(Pixels(), 1)
    assert torch.equal(torch.get_rng_state(), before)
    assert np.array_equal(np.random.get_state()[1], numpy_before)  # noqa: NPY002


def test_bad_settings_are_named() -> None:
    with pytest.raises(ValueError, match="updates is 0"):
        FrozenSettings(updates=0)


class Turned(Pixels):
    """The same information in codes of another meaning: latents change their signs."""

    def __init__(self) -> None:
        super().__init__()
        self.sign = 1.0

    def posterior(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean, std = super().posterior(images)
        return mean * np.float32(self.sign), std


def test_a_kept_probe_notices_that_codes_changed_their_meaning() -> None:
    probes, model = suite(), Turned()
    assert {row["mode"] for row in probes.score(model, 1, ["a"])} == {"frozen"}  # the visit has not ended
    ended = probes.score(model, 2, ["a"], keep="a")
    fresh, kept = ([row for row in ended if row["mode"] == mode] for mode in ("frozen", "kept"))
    assert [{**row, "mode": "frozen"} for row in kept] == fresh  # it is the same probe
    same = [row for row in probes.score(model, 3, ["a", "b"]) if row["mode"] == "kept"]
    assert [{**row, "step": 2} for row in same] == kept  # and world b was never kept
    model.sign = -1.0
    turned = {(row["mode"], row["probe"]): row for row in probes.score(model, 4, ["a"])}
    assert turned["frozen", "identity"]["accuracy"] > 0.9
    assert turned["frozen", "position"]["mse"] < 0.03
    assert turned["kept", "identity"]["accuracy"] < 0.5
    assert turned["kept", "position"]["mse"] > 0.2
    again = [row for row in probes.score(model, 5, ["a"], keep="a") if row["mode"] == "kept"]
    assert again[0]["accuracy"] > 0.9  # the next visit's end keeps another one


def test_a_settled_probe_knows_what_happened_on_leaving() -> None:
    probes, model = suite(), Turned()
    probes.score(model, 1, ["a"], keep="a")
    model.sign = -1.0  # the learner tidies up
    settled = probes.settle(model, 2, "a")
    assert {row["mode"] for row in settled} == {"settled"}
    found = {(row["mode"], row["probe"]): row for row in probes.score(model, 2, ["a", "b"]) if row["world"] == "a"}
    assert [found["settled", row["probe"]] for row in settled] == settled
    assert found["settled", "identity"]["accuracy"] > 0.9
    assert found["kept", "identity"]["accuracy"] < 0.5
    model.sign = 1.0
    later = {row["mode"]: row for row in probes.score(model, 3, ["a"]) if row["probe"] == "identity"}
    assert later["settled"]["accuracy"] < 0.5
    assert later["kept"]["accuracy"] > 0.9


def test_kept_probes_are_saved_and_loaded() -> None:
    probes, model = suite(), Turned()
    assert probes.state_dict() == {}
    probes.score(model, 1, keep="a")
    model.sign = -0.5
    probes.settle(model, 1, "b")
    model.sign = 0.5
    loaded = suite()
    loaded.load_state_dict(probes.state_dict())
    assert loaded.score(model, 2) == probes.score(model, 2)
