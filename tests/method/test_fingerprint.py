"""Features of pictures that can be worked out by hand, and which of them tell what has changed."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from photographs import blurred, noisy, photographs

from vase.method.fingerprint import Fingerprint

NOTHING = math.log(0.01)
"""The logarithm of an energy of zero."""
CONTRAST, DETAIL, GREY_LEVELS = slice(15, 16), slice(16, 32), slice(32, 96)
"""Places of the features of a grey image, after the 15 filters."""


def features(images: torch.Tensor) -> torch.Tensor:
    return Fingerprint(*images.shape[1:])(images)


def some(channels: int = 3, seed: int = 0, n: int = 8) -> torch.Tensor:
    return torch.from_numpy(photographs(n, np.random.default_rng(seed), channels=channels))


def test_a_constant_grey_image() -> None:
    # No filter responds, there is no contrast and no detail; all 64 cells are as bright as the image.
    found = features(torch.full((1, 1, 32, 32), 0.3))[0]
    assert found.shape == (15 + 1 + 16 + 64,)
    assert found[:32].tolist() == pytest.approx([NOTHING] * 32, abs=1e-3)
    assert found[GREY_LEVELS].tolist() == pytest.approx([0.3] * 64)


def test_a_constant_colour() -> None:
    # (0.2, 0.5, 0.9): luminance 1.6/3, differences of neighbouring channels −0.3 and −0.4.
    found = features(torch.tensor([0.2, 0.5, 0.9]).view(1, 3, 1, 1).expand(1, 3, 32, 32))[0]
    assert found.shape == (15 + 3 + 16 + 2 + 64 + 2 * 16,)
    assert found[15:34].tolist() == pytest.approx([NOTHING] * 19, abs=1e-3)  # contrasts and detail
    assert found[34:36].tolist() == pytest.approx([math.log(0.31), math.log(0.41)], abs=1e-5)
    assert found[36:100].tolist() == pytest.approx([1.6 / 3] * 64)
    assert found[100:].tolist() == pytest.approx([-0.3] * 16 + [-0.4] * 16)


def test_a_step() -> None:
    """Black left of column 8 of 16, white right of it."""
    image = torch.zeros(1, 1, 16, 16)
    image[..., 8:] = 1.0
    found = features(image)[0]
    assert found[CONTRAST].tolist() == pytest.approx([math.log(0.51)])
    assert found[GREY_LEVELS].view(8, 8).tolist() == [[0.0] * 4 + [1.0] * 4] * 8
    # Stride 2: the Laplacian is centred on columns 2, 4, ..., 12, and is 4 − 3·1 − 0 = 1 at column 8 only. The third
    # of four cells averages columns 8 and 10: ½.
    expected = [[NOTHING, NOTHING, math.log(0.51), NOTHING]] * 4
    assert np.allclose(found[DETAIL].view(4, 4), expected, atol=1e-4)


def test_half_the_contrast() -> None:
    step = torch.zeros(1, 1, 16, 16)
    step[..., 8:] = 0.5
    assert features(step)[0, CONTRAST].tolist() == pytest.approx([math.log(0.26)])


@pytest.mark.parametrize("channels", [1, 3])
def test_it_is_the_same_for_everybody(channels: int) -> None:
    images = some(channels)
    first = features(images)
    torch.manual_seed(12345)
    before = torch.get_rng_state()
    again = features(images)
    assert torch.equal(first, again)
    assert torch.equal(before, torch.get_rng_state())
    assert Fingerprint(channels, 32, 32).state_dict() == {}  # nothing to save


def test_filters_stay_the_same_for_ever() -> None:
    """What was learnt with other filters would be worth nothing."""
    first = Fingerprint(1, 8, 8).filters[0, 0, 0].tolist()
    assert first == pytest.approx([0.0164875, -0.1303214, -0.0443058, 0.1373966, -0.1047644], abs=1e-6)


def test_filters_see_differences_only() -> None:
    filters = Fingerprint(3, 32, 32).filters
    assert filters.shape == (16, 3, 5, 5)
    assert filters.sum((1, 2, 3)).tolist() == pytest.approx([0.0] * 16, abs=1e-5)
    assert filters[:15].square().sum((1, 2, 3)).tolist() == pytest.approx([1.0] * 15)
    assert len({tuple(f.flatten().tolist()) for f in filters}) == 16


@pytest.mark.parametrize("channels", [1, 3])
def test_images_do_not_depend_on_their_batch(channels: int) -> None:
    images = some(channels)
    alone = torch.cat([features(image[None]) for image in images])
    assert torch.allclose(features(images), alone, atol=1e-5)


@pytest.mark.parametrize(
    "shape", [(1, 8, 8), (3, 8, 8), (1, 3, 4), (3, 8, 40), (1, 28, 28), (3, 64, 64), (3, 256, 256)]
)
def test_images_of_any_size(shape: tuple[int, int, int]) -> None:
    module = Fingerprint(*shape)
    found = module(torch.rand(2, *shape, generator=torch.Generator().manual_seed(0)))
    assert found.shape == (2, module.n_features) == (2, {1: 96, 3: 132}[shape[0]])
    assert bool(torch.isfinite(found).all())
    assert not torch.equal(found[0], found[1])


@pytest.mark.parametrize("shape", [(1, 32, 32), (3, 8, 40), (1, 33, 70)])
def test_detail_is_averaged_on_a_grid(shape: tuple[int, int, int]) -> None:
    images = torch.from_numpy(np.random.default_rng(0).random((2, *shape), np.float32))
    fingerprint = Fingerprint(*shape)
    response = F.conv2d(images, fingerprint.filters[-1:], stride=fingerprint.stride).abs()
    expected = torch.log(F.adaptive_avg_pool2d(response, 4).flatten(1) + 0.01)
    begin = 15 + shape[0]
    assert torch.allclose(fingerprint(images)[:, begin : begin + 16], expected, atol=1e-5)


def test_large_images_are_read_in_larger_steps() -> None:
    assert [Fingerprint(1, side, side).stride for side in (8, 32, 64, 256)] == [2, 2, 4, 16]


def test_smallest_spread_of_logarithms_and_levels() -> None:
    assert Fingerprint(1, 8, 8).smallest_std.tolist() == pytest.approx([0.3] * 32 + [0.06] * 64)
    assert Fingerprint(3, 8, 8).smallest_std.tolist() == pytest.approx([0.3] * 36 + [0.06] * 96)


def test_blur_lowers_detail_and_noise_raises_it() -> None:
    images = some(1, n=64).numpy()
    worlds = (images, blurred(images), noisy(images))
    sharp, soft, rough = (float(features(torch.from_numpy(x))[:, DETAIL].mean()) for x in worlds)
    assert soft < sharp - 0.5
    assert rough > sharp + 0.3


def test_no_gradient_is_kept() -> None:
    images = some(1).requires_grad_()
    assert not features(images).requires_grad
