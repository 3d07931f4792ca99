"""Imagination: the agent's loss by hand, what a policy learns, and a learner that nothing disturbs."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from vase import VASE, VASEConfig
from vase.checkpoint import CheckpointError
from vase.imagination import (
    Explorer,
    FrozenEncoder,
    Policy,
    Translation,
    agent_loss,
    augmented,
    latent_mobility,
    movable_latents,
)
from vase.learners.checks import states_equal
from vase.worlds.world import Batch


def learner(seed: int = 0, latents: int = 5) -> VASE:
    config = VASEConfig.smoke(image_shape=(1, 16, 16)).with_values(
        {"network.latents": latents, "network.channels": "8,8", "network.hidden": 16}
    )
    return VASE(config, seed=seed, device="cpu")


def pictures(n: int, seed: int = 0, side: int = 16) -> np.ndarray:
    return np.random.default_rng(seed).integers(256, size=(n, 1, side, side), dtype=np.uint8)


def blobs(n: int, seed: int) -> np.ndarray:
    """A bright 3x3 square at a random place of a 16x16 canvas."""
    rng = np.random.default_rng(seed)
    images = np.zeros((n, 1, 16, 16), np.float32)
    for image, top, left, light in zip(images, *rng.integers(14, size=(2, n)), rng.uniform(0.5, 1, n), strict=True):
        image[0, top : top + 3, left : left + 3] = light
    return images


def centre_of_mass(x: Tensor) -> tuple[Tensor, Tensor]:
    """z = (sideways, down, light, nothing): place in units of a quarter canvas, the blob's light, and an unused one."""
    place = (torch.arange(16) - 7.5) / 4
    mass = x.sum((1, 2, 3)) + 1e-6
    sideways, down = ((x.sum((1, axis)) * place).sum(1) / mass for axis in (2, 3))
    mean = torch.stack([sideways, down, 4 * (mass / 9 - 0.75), 0 * mass], 1)
    return mean, torch.tensor([-6.0, -6, -6, 0]).expand_as(mean)


def eye() -> FrozenEncoder:
    return FrozenEncoder((1, 16, 16), 4, torch.device("cpu"), centre_of_mass)


# Policy and loss


@pytest.mark.parametrize(("shape", "flat"), [((1, 32, 32), 64), ((3, 64, 64), 256), ((1, 64, 32), 128)])
def test_policy_is_the_network_of_the_appendix(shape: tuple[int, int, int], flat: int) -> None:
    policy = Policy(shape, n_latents=24, n_parameters=2, hidden=100)
    c = shape[0]
    assert [tuple(p.shape) for p in policy.parameters() if p.ndim > 1] == [
        (16, c, 4, 4),
        *[(16, 16, 4, 4)] * 3,
        (100, flat + 24),
        (2, 100),
    ]
    parameters = policy(torch.rand(5, *shape), 100 * torch.randn(5, 24))
    assert parameters.shape == (5, 2)
    assert bool((parameters.abs() <= 1).all())


def test_policy_depends_on_image_and_target_and_starts_with_hardly_any_action() -> None:
    policy = Policy((1, 32, 32), 4, 2, generator=torch.Generator().manual_seed(3))
    image, other = torch.rand(2, 1, 1, 32, 32, generator=torch.Generator().manual_seed(0))
    z = torch.ones(1, 4)
    here = policy(image, z)
    assert not torch.equal(here, policy(other, z))
    assert not torch.equal(here, policy(image, -z))
    assert 0 < float(here.detach().abs().max()) < 0.5


def test_policy_needs_sixteen_pixels() -> None:
    with pytest.raises(ValueError, match=r"8×32.*at least 16×16; resize"):
        Policy((1, 8, 32), 4, 2)


def test_agent_loss_by_hand() -> None:
    targets = torch.tensor([[1.0, 0, 2], [0, 0, 0]])
    mean = torch.tensor([[0.0, 3, 2], [1, 0, -1]])
    log_var = torch.tensor([[0.25, 1, 1], [0.25, 4, 1]]).log()
    # squared distances 1, 9, 0 and 1, 0, 1; variances 0.25, 1, 1 and 0.25, 4, 1
    assert float(agent_loss(targets, mean, log_var)) == pytest.approx((12.25 + 7.25) / 2)
    assert float(agent_loss(targets, mean, log_var, torch.tensor([0, 2]))) == pytest.approx((2.25 + 3.25) / 2)


def test_agent_loss_is_the_expected_distance_to_samples() -> None:
    generator = torch.Generator().manual_seed(0)
    targets, mean, log_var = torch.randn(3, 1, 4, generator=generator, dtype=torch.float64)
    z = mean + (log_var / 2).exp() * torch.randn(200_000, 4, generator=generator, dtype=torch.float64)
    sampled = (targets - z).square().sum(1).mean()
    assert float(agent_loss(targets, mean, log_var)) == pytest.approx(float(sampled), rel=0.01)


# Which latents an action can change


def test_mobility_by_hand() -> None:
    class Lighten:
        n_parameters = 1

        def apply(self, images: Tensor, parameters: Tensor) -> Tensor:
            return images + parameters[:, :, None, None]

    def posterior(x: Tensor) -> tuple[Tensor, Tensor]:
        light, kind = x[:, 0, 0, 0], 2 * (x[:, 0, 0, 1] - x[:, 0, 0, 0])  # the kind, +1 or -1, is in no action's power
        mean = torch.stack([light + 9 * kind, light, light * kind, light.square(), 0 * light], 1)
        return mean, torch.tensor([1e-9, 1, 1e-9, 1e-9, 1]).log().expand_as(mean)

    encoder = FrozenEncoder((1, 16, 16), 5, torch.device("cpu"), posterior)
    images = np.zeros((2, 1, 16, 16))
    images[0, 0, 0, 1] = images[1, 0, 0, 0] = 0.5
    # A parameter p, uniform in [-1, 1], has the variance 1/3.
    # light: follows p, whatever the kind: all. With a posterior variance of 1 beside it: (1/3) / (1/3 + 1).
    # light × kind: p in one image and -p in the other: no common direction.
    # light²: p² in one image, p² + p + 1/4 in the other, of variances 4/45 and 4/45 + 1/3. The common slope is 1/2, so
    # that 1/4 · 1/3 is explained of 4/45 + 1/6.
    mobility = latent_mobility(encoder, Lighten(), images, actions=4000, span=1)
    assert mobility.tolist() == pytest.approx([1, 1 / 4, 0, (1 / 12) / (4 / 45 + 1 / 6), 0], abs=0.02)
    # A smaller span leaves the first as it is and makes noise of the second: (1/12) / (1/12 + 1).
    mobility = latent_mobility(encoder, Lighten(), images, actions=4000, span=0.5)
    assert mobility[:3].tolist() == pytest.approx([1, 1 / 13, 0], abs=0.01)


def test_translation_moves_place_but_not_light() -> None:
    action = Translation(reach=0.5)
    inside = np.zeros((2, 1, 16, 16), np.float32)
    inside[0, 0, 6:9, 6:9], inside[1, 0, 6:9, 6:9] = 0.5, 1
    assert movable_latents(eye(), action, inside).tolist() == [0, 1]
    assert movable_latents(eye(), action, inside, threshold=0.0).tolist() == [0, 1]  # two parameters move two latents
    with pytest.raises(ValueError, match="more than the action's 2"):
        latent_mobility(eye(), action, inside, actions=2)
    with pytest.raises(ValueError, match=r"\(0, 1\]"):
        movable_latents(eye(), action, inside, span=2)


def test_focus_aims_at_movable_latents_or_at_all() -> None:
    explorer = Explorer(eye(), Translation(reach=0.5), latents=[3])
    inside = np.zeros((2, 1, 16, 16), np.float32)
    inside[0, 0, 6:9, 6:9], inside[1, 0, 6:9, 6:9] = 0.5, 1
    assert explorer.focus(inside).tolist() == [0, 1]
    assert explorer.latents.tolist() == [0, 1]
    assert explorer.focus(np.zeros((2, 16, 16), np.uint8)).tolist() == [0, 1, 2, 3]


# Explorer


def test_the_policy_learns_to_move_a_blob_to_its_target() -> None:
    explorer = Explorer(eye(), Translation(reach=1.5), latents=[0, 1], learning_rate=2e-3, seed=1)
    before = explorer.distance(blobs(256, 99))
    for step in range(150):
        explorer.learn(blobs(64, step))
    after = explorer.distance(blobs(256, 99))
    assert before.after == pytest.approx(before.before, rel=0.1)  # a newborn policy leaves things where they are
    assert after.before.tolist() == before.before.tolist()
    assert bool((after.after < 0.5 * before.before).all())
    imagined = explorer.imagine(blobs(1, 5), targets=[1.0, -1.0, 0, 0])
    assert imagined.reached[0, :2] == pytest.approx([1, -1], abs=0.7)


def test_latents_that_are_not_aimed_at_do_not_move_the_policy() -> None:
    explorer = Explorer(eye(), Translation(), latents=[0, 1], seed=1)
    targets = np.array([[1.0, 1, 3, -2], [1.0, 1, 0, 0]])
    imagined = explorer.imagine(np.repeat(blobs(1, 0), 2, axis=0), targets)
    assert imagined.parameters[0].tolist() == imagined.parameters[1].tolist()
    assert imagined.targets.tolist() == targets.tolist()


def test_distance_by_hand() -> None:
    image = np.zeros((1, 1, 16, 16), np.float32)
    image[0, 0, 7:9, 7:9] = 1  # in the middle: z = (0, 0, 4·(4/9 − 0.75), 0)
    found = Explorer(eye(), Translation()).distance(np.repeat(image, 2, 0), [[3.0, 0, 0, 1], [4, 1, 0, 1]])
    light = 4 * (4 / 9 - 0.75)
    assert found.before == pytest.approx([math.sqrt((9 + 16) / 2), math.sqrt(0.5), -light, 1], abs=1e-4)
    only = Explorer(eye(), Translation()).distance(image, [3.0, 0, 0, 1], latents=[3])
    assert only.latents.tolist() == [3]
    assert only.after == pytest.approx([1])  # no action reaches an unused latent


def test_learning_leaves_the_learner_bit_identical() -> None:
    model, images = learner(), pictures(16)
    model.partial_fit(images)
    model.optimiser_.zero_grad()
    before = copy.deepcopy(model.state_dict())
    random = torch.get_rng_state()
    explorer = Explorer(model, Translation(), seed=0)
    weights = [weight.detach().clone() for weight in explorer.policy.parameters()]
    for step in range(20):
        explorer.learn(pictures(8, step))
    explorer.focus(images)
    explorer.imagine(images)
    explorer.distance(images)
    assert not all(torch.equal(a, b) for a, b in zip(weights, explorer.policy.parameters(), strict=True))
    assert states_equal(before, model.state_dict())
    assert all(weight.grad is None and weight.requires_grad for weight in model.networks_.parameters())
    assert torch.equal(random, torch.get_rng_state())


def test_a_learner_goes_on_as_if_nobody_had_explored() -> None:
    alone, watched = learner(), learner()
    explorer = Explorer(watched, Translation())
    for step in range(4):
        images = pictures(16, step)
        assert alone.partial_fit(images).loss == watched.partial_fit(images).loss
        explorer.learn(images)


def test_explorer_looks_with_the_weights_that_the_learner_has_now() -> None:
    model, images = learner(), pictures(16)
    explorer = Explorer(model, Translation())
    before = explorer.distance(images).before
    model.partial_fit(images)
    z = np.random.default_rng(0).standard_normal((16, 5), np.float32)
    mean, _ = model.posterior(images)
    now = explorer.distance(images).before
    assert now == pytest.approx(np.sqrt(np.square(mean - z).mean(0)), rel=1e-5)
    assert not np.allclose(now, before, rtol=1e-6)


def test_imagined_images_are_made_in_order_and_reached_is_their_encoding() -> None:
    model, images = learner(), pictures(3)
    imagined = Explorer(model, Translation(reach=1e-6)).imagine(images, n=2)
    assert imagined.images.shape == (6, 1, 16, 16)
    assert imagined.parameters.shape == (6, 2)
    assert imagined.targets.shape == imagined.reached.shape == (6, 5)
    assert np.allclose(imagined.images, np.repeat(images / 255, 2, axis=0), atol=1e-4)
    assert imagined.images.min() >= 0
    assert imagined.images.max() <= 1
    assert imagined.reached == pytest.approx(model.posterior(imagined.images)[0], abs=1e-6)
    assert len(np.unique(imagined.targets[:, 0])) == 6


def test_seeds_decide_everything() -> None:
    def life(seed: int) -> tuple[list[float], np.ndarray]:
        explorer = Explorer(eye(), Translation(), seed=seed)
        losses = [explorer.learn(blobs(8, step)) for step in range(3)]
        return losses, explorer.imagine(blobs(4, 9)).images

    (losses, images), (again, same), (others, different) = life(0), life(0), life(1)
    assert losses == again
    assert np.array_equal(images, same)
    assert losses != others
    assert not np.array_equal(images, different)


def test_measuring_does_not_change_what_is_learnt() -> None:
    quiet, measured = Explorer(eye(), Translation()), Explorer(eye(), Translation())
    for step in range(3):
        measured.distance(blobs(8, 77))
        measured.imagine(blobs(8, 77), rng=np.random.default_rng(0))
        assert quiet.learn(blobs(8, step)) == measured.learn(blobs(8, step))


def test_a_loaded_explorer_goes_on_exactly(tmp_path: Path) -> None:
    explorer = Explorer(eye(), Translation(reach=0.7), latents=[0, 1], learning_rate=2e-3, seed=4, hidden=30)
    for step in range(5):
        explorer.learn(blobs(8, step))
    explorer.save(tmp_path / "explorer")
    loaded = Explorer.load(tmp_path / "explorer", eye(), Translation(reach=0.7))
    assert (loaded.steps, loaded.latents.tolist()) == (5, [0, 1])
    for step in range(5, 10):
        assert explorer.learn(blobs(8, step)) == loaded.learn(blobs(8, step))
    here, there = explorer.imagine(blobs(4, 9)), loaded.imagine(blobs(4, 9))
    assert np.array_equal(here.images, there.images)
    assert np.array_equal(here.targets, there.targets)


def test_a_saved_explorer_wants_its_own_action_and_learner(tmp_path: Path) -> None:
    Explorer(eye(), Translation()).save(tmp_path)
    with pytest.raises(CheckpointError, match=r"action = 'Translation.*reach=0.5.*saved with"):
        Explorer.load(tmp_path, eye(), Translation(reach=0.5))
    with pytest.raises(CheckpointError, match="n_latents = 4, this one would have 5"):
        Explorer.load(tmp_path, learner(), Translation())


class Brightness:
    """A user's own action, which knows nothing of this package."""

    n_parameters = 1

    def apply(self, images: Tensor, parameters: Tensor) -> Tensor:
        return images * (1 + 0.5 * parameters[:, :, None, None])


def test_a_users_own_action_plugs_in(tmp_path: Path) -> None:
    explorer = Explorer(eye(), Brightness(), learning_rate=5e-3)
    assert explorer.focus(blobs(32, 0) * 0.8 / blobs(32, 0).max((2, 3), keepdims=True).clip(1e-6)).tolist() == [2]
    before = explorer.distance(blobs(64, 99)).after
    for step in range(40):
        explorer.learn(blobs(32, step))
    assert float(explorer.distance(blobs(64, 99)).after[0]) < 0.8 * float(before[0])
    explorer.save(tmp_path)
    assert Explorer.load(tmp_path, eye(), Brightness()).steps == 40


# Joining the training data


def test_augmented_adds_a_share_and_keeps_what_is_known() -> None:
    explorer = Explorer(eye(), Translation(reach=1.5))
    torch.nn.init.constant_(explorer.policy.output.bias, 1.0)  # a policy that moves everything far
    images = np.round(blobs(8, 3) * 255).astype(np.uint8)
    batch = Batch(images, {"label": 10 + np.arange(8), "x": np.linspace(0, 1, 8), "y": np.zeros(8)})
    mixed = augmented(batch, explorer, share=0.25, rng=np.random.default_rng(0))
    assert (mixed.images.dtype, mixed.images.shape) == (np.uint8, (10, *images.shape[1:]))
    assert np.array_equal(mixed.images[:8], images)
    for name in ("x", "y"):
        assert np.isnan(mixed.factors[name]).tolist() == [False] * 8 + [True] * 2
        assert np.array_equal(mixed.factors[name][:8], batch.factors[name])
    made_of = mixed.factors["label"][8:] - 10
    assert mixed.factors["label"][:8].tolist() == list(range(10, 18))
    assert len(set(made_of)) == 2
    assert all(not np.array_equal(a, images[i]) for a, i in zip(mixed.images[8:], made_of, strict=True))
    again = augmented(images, explorer, share=0.25, rng=np.random.default_rng(0))
    assert np.array_equal(again, mixed.images)


def test_augmented_of_floats_stays_floats_and_shares_of_nothing_and_all_work() -> None:
    explorer, images = Explorer(eye(), Translation()), blobs(5, 0)
    assert np.array_equal(augmented(images, explorer, 0.0, rng=np.random.default_rng(0)), images)
    whole = augmented(torch.from_numpy(images), explorer, 1.0, rng=np.random.default_rng(0))
    assert (whole.dtype, len(whole)) == (np.float32, 10)
    assert np.array_equal(whole[:5], images)
    assert np.array_equal(images, blobs(5, 0))
    with pytest.raises(ValueError, match=r"share=1\.5"):
        augmented(images, explorer, 1.5, rng=np.random.default_rng(0))


def test_a_learner_takes_augmented_batches() -> None:
    model = learner()
    explorer = Explorer(model, Translation(background=1.0))
    step = model.partial_fit(augmented(255 - pictures(16), explorer, rng=np.random.default_rng(0)))
    assert math.isfinite(step.loss)


# Bad input


class Shrinking(Brightness):
    def apply(self, images: Tensor, parameters: Tensor) -> Tensor:
        return images[..., :8]


class Stopping(Brightness):
    def apply(self, images: Tensor, parameters: Tensor) -> Tensor:
        return images * parameters.detach()[:, :, None, None]


class Exploding(Brightness):
    def apply(self, images: Tensor, parameters: Tensor) -> Tensor:
        return images * parameters[:, :, None, None] * math.inf


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Explorer(object(), Translation()), TypeError, "object: pass a VASE learner"),
        (lambda: Explorer(eye(), Translation), TypeError, r"pass an instance, Translation\(\)"),
        (lambda: Explorer(eye(), "left"), TypeError, "str is not an action: it needs `n_parameters`"),
        (lambda: Explorer(eye(), Translation(), learning_rate=0), ValueError, "learning_rate=0"),
        (lambda: Explorer(eye(), Translation(), hidden=0), ValueError, "hidden=0"),
        (lambda: Explorer(eye(), Translation(), latents=[4]), ValueError, "latents 0 to 3"),
        (lambda: Explorer(eye(), Translation(), latents=[]), ValueError, "at least one"),
        (lambda: Explorer(eye(), Translation(), latents=np.ones(4, bool)), ValueError, "np.flatnonzero"),
        (lambda: Explorer(eye(), Translation()).learn(np.zeros((2, 5))), ValueError, "images of shape"),
        (lambda: Explorer(eye(), Translation()).imagine(blobs(2, 0), n=0), ValueError, "n=0"),
        (lambda: Explorer(eye(), Translation()).imagine(blobs(2, 0), np.zeros((3, 4))), ValueError, r"\(2, 4\)"),
        (lambda: Explorer(eye(), Translation()).imagine(blobs(2, 0), [np.nan] * 4), ValueError, "NaN"),
        (lambda: Explorer(eye(), Shrinking()).learn(blobs(2, 0)), ValueError, "same shape and dtype"),
        (lambda: Explorer(eye(), Stopping()).learn(blobs(2, 0)), ValueError, "stops the gradient"),
        (lambda: Explorer(eye(), Exploding()).learn(blobs(2, 0)), FloatingPointError, "lower learning_rate"),
    ],
)
def test_bad_input_is_refused_with_a_remedy(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_an_action_must_have_parameters() -> None:
    class Nothing(Brightness):
        n_parameters = 0

    with pytest.raises(ValueError, match="n_parameters is 0: must be a whole number"):
        Explorer(eye(), Nothing())
