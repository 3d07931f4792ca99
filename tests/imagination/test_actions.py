"""Actions of an agent, against arrays that were shifted, turned and scaled by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from vase.imagination import Action, Rotation, Scaling, Translation

CORNERS = torch.tensor([[1.0, 0, 0, 2], [0, 0, 0, 0], [0, 0, 5, 0], [3, 0, 0, 4]]) / 8


def one(image: Tensor) -> Tensor:
    return image[None, None]


def close(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and bool(torch.allclose(a, b, atol=1e-5))


@pytest.mark.parametrize("background", [0.0, 1.0, 0.25])
def test_translation_moves_by_whole_pixels_and_fills_with_the_background(background: float) -> None:
    right_one_down_two = torch.tensor([[1 / 2, 2 / 2]])  # of half a canvas, which is two pixels
    expected = torch.full((4, 4), background)
    expected[2, 1:] = CORNERS[0, :3]
    expected[3, 1:] = CORNERS[1, :3]
    assert close(Translation(background=background).apply(one(CORNERS), right_one_down_two), one(expected))


def test_translation_moves_each_image_by_its_own_way_and_interpolates_between_pixels() -> None:
    images = one(CORNERS).expand(2, 1, 4, 4)
    moved = Translation(reach=0.5).apply(images, torch.tensor([[-1.0, 0], [0.5, 0]]))  # -1 and +0.5 pixels
    assert moved[0, 0, 0].tolist() == pytest.approx([0, 0, 2 / 8, 0], abs=1e-6)
    assert moved[1, 0, 0].tolist() == pytest.approx([0.5 / 8, 0.5 / 8, 0, 1 / 8], abs=1e-6)


def test_translation_across_takes_a_sprite_from_edge_to_edge() -> None:
    image = torch.zeros(1, 1, 32, 32)
    image[..., :20, :20] = 0.7
    action = Translation.across(sprite=20, canvas=32)
    assert action.reach == pytest.approx(24 / 32)
    there = torch.zeros(1, 1, 32, 32)
    there[..., 12:, 12:] = 0.7
    assert close(action.apply(image, torch.ones(1, 2)), there)


def test_each_channel_has_its_own_background() -> None:
    moved = Translation(background=(0.5, 0.25)).apply(torch.zeros(1, 2, 4, 4), torch.ones(1, 2))
    assert moved[0, :, 0, 0].tolist() == [0.5, 0.25]
    with pytest.raises(ValueError, match="2 values for images of 1 channels"):
        Translation(background=(0.5, 0.25)).apply(torch.zeros(1, 1, 4, 4), torch.ones(1, 2))


@pytest.mark.parametrize("action", [Translation(), Scaling(), Rotation(), Rotation(background=1.0)])
@pytest.mark.parametrize("shape", [(3, 1, 32, 32), (2, 3, 20, 28)])
def test_parameters_of_zero_change_nothing(action: Action, shape: tuple[int, ...]) -> None:
    images = torch.rand(shape, generator=torch.Generator().manual_seed(1))
    assert close(action.apply(images, torch.zeros(shape[0], action.n_parameters)), images)


def test_rotation_by_ninety_degrees_is_counter_clockwise() -> None:
    turned = torch.tensor([[2.0, 0, 0, 4], [0, 0, 5, 0], [0, 0, 0, 0], [1, 0, 0, 3]]) / 8
    assert close(Rotation(degrees=180).apply(one(CORNERS), torch.tensor([[0.5]])), one(turned))
    assert close(Rotation(degrees=90).apply(one(turned), torch.tensor([[-1.0]])), one(CORNERS))


def test_rotation_of_a_wide_canvas_keeps_shapes() -> None:
    image = torch.zeros(1, 1, 4, 8)
    image[0, 0, :, 3] = 1  # a vertical bar left of the centre; turned by 90 degrees it lies below the centre
    expected = torch.zeros(1, 1, 4, 8)
    expected[0, 0, 2, 2:6] = 1
    assert close(Rotation(degrees=90).apply(image, torch.tensor([[1.0]])), expected)


def test_scaling_doubles_and_halves_about_the_centre() -> None:
    image = torch.zeros(4, 4)
    image[1:3, 1:3] = torch.tensor([[0.4, 0.8], [0.4, 0.8]])
    # Twice as large: output pixels at ±0.75 and ±0.25 half-pixels of the source columns, so 3:1 mixtures.
    double = Scaling(largest=2).apply(one(image), torch.tensor([[1.0]]))
    assert double[0, 0, 1].tolist() == pytest.approx([0.3, 0.5, 0.7, 0.6], abs=1e-6)
    # Half as large: each output pixel sees the meeting point of four source pixels.
    half = Scaling(largest=2).apply(one(torch.full((4, 4), 0.6)), torch.tensor([[-1.0]]))
    expected = torch.zeros(4, 4)
    expected[1:3, 1:3] = 0.6
    assert close(half, one(expected))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Translation(reach=0), "reach=0.*positive"),
        (lambda: Translation(reach=math.nan), "positive"),
        (lambda: Translation(background=255), "white, as in an inverse world, is 1"),
        (lambda: Scaling(largest=1), "above 1"),
        (lambda: Rotation(degrees=-3), "positive"),
        (lambda: Translation.across(sprite=32, canvas=32), "room to move"),
    ],
)
def test_actions_refuse_values_without_a_meaning(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
