"""What an agent can do to an image: actions with continuous parameters, differentiable in them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from vase.nn.likelihood import Images

Colour = float | tuple[float, ...]  # one value for all channels, or one per channel


@runtime_checkable
class Action(Protocol):
    """A differentiable action space. Anything with these two members can be explored."""

    @property
    def n_parameters(self) -> int:
        """P, the numbers that say what is done."""

    def apply(self, images: Images, parameters: Float[Tensor, "B P"]) -> Images:
        """Act on each image by its row of `parameters` in [-1, 1]; only torch operations, so that gradients flow."""


@dataclass(frozen=True)
class Translation:
    """Moves the image by (right, down), with bilinear interpolation: the paper's action.

    `reach` is the way, in half canvases, of a parameter of 1; what comes in from outside has the colour `background`
    (1 in an inverse world). `Translation.across` gives the reach that takes a sprite from edge to edge.
    """

    reach: float = 1.0
    background: Colour = 0.0
    n_parameters: ClassVar[int] = 2

    def __post_init__(self) -> None:
        _positive("Translation", "reach", self.reach, "a share of half the canvas, e.g. 1")
        _check_colour("Translation", self.background)

    @classmethod
    def across(cls, sprite: int, canvas: int, background: Colour = 0.0) -> Translation:
        """Parameters of ±1 take a sprite from one edge of the canvas to the other, and no farther."""
        if not 0 < sprite < canvas:
            raise ValueError(f"sprite={sprite} on canvas={canvas}: the sprite needs room to move; use a larger canvas.")
        return cls(reach=2 * (canvas - sprite) / canvas, background=background)

    def apply(self, images: Images, parameters: Float[Tensor, "B 2"]) -> Images:
        """Move each image by its own way."""
        eye = torch.eye(2, dtype=images.dtype, device=images.device).expand(len(images), 2, 2)
        return warp(images, torch.cat([eye, -self.reach * parameters[:, :, None]], 2), self.background)


@dataclass(frozen=True)
class Scaling:
    """Enlarges the image about its centre by the factor largest^parameter; −1 shrinks by as much, 0 does nothing."""

    largest: float = 2.0
    background: Colour = 0.0
    n_parameters: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not (math.isfinite(self.largest) and self.largest > 1):
            raise ValueError(f"Scaling(largest={self.largest!r}): must be a factor above 1, e.g. 2.")
        _check_colour("Scaling", self.background)

    def apply(self, images: Images, parameters: Float[Tensor, "B 1"]) -> Images:
        """Scale each image by its own factor."""
        inverse = torch.exp(-math.log(self.largest) * parameters)[:, :, None]
        shape = torch.eye(2, 3, dtype=images.dtype, device=images.device)
        return warp(images, inverse * shape, self.background)


@dataclass(frozen=True)
class Rotation:
    """Turns the image about its centre, counter-clockwise, by parameter × `degrees`."""

    degrees: float = 180.0
    background: Colour = 0.0
    n_parameters: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _positive("Rotation", "degrees", self.degrees, "the largest angle, e.g. 180")
        _check_colour("Rotation", self.background)

    def apply(self, images: Images, parameters: Float[Tensor, "B 1"]) -> Images:
        """Turn each image by its own angle."""
        height, width = images.shape[-2:]
        angle = math.radians(self.degrees) * parameters[:, 0]
        c, s, none = angle.cos(), angle.sin(), torch.zeros_like(angle)
        rows = [torch.stack([c, -s * height / width, none], 1), torch.stack([s * width / height, c, none], 1)]
        return warp(images, torch.stack(rows, 1), self.background)


def warp(images: Images, matrices: Float[Tensor, "B 2 3"], background: Colour = 0.0) -> Images:
    """The spatial transformer: `matrices` take a place in the result to the place in the image that is seen there.

    Places run from −1 to 1 over the canvas, x first; outside it everything has the colour `background`.
    """
    colour = torch.as_tensor(background, dtype=images.dtype, device=images.device).reshape(-1, 1, 1)
    if len(colour) not in (1, images.shape[1]):
        found = f"background of {len(colour)} values for images of {images.shape[1]} channels"
        raise ValueError(f"{found}: give one value per channel, or one for all.")
    grid = F.affine_grid(matrices, list(images.shape), align_corners=False)
    moved = F.grid_sample(images - colour, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    return moved + colour


def act(action: Action, images: Images, parameters: Float[Tensor, "B P"]) -> Images:
    """What an action makes of images, or an error that says what is wrong with the action."""
    moved = action.apply(images, parameters)
    if not isinstance(moved, Tensor) or moved.shape != images.shape or moved.dtype != images.dtype:
        got = f"{tuple(moved.shape)}, {moved.dtype}" if isinstance(moved, Tensor) else type(moved).__name__
        found = f"{type(action).__name__}.apply returned {got} for images of {tuple(images.shape)}, {images.dtype}"
        raise ValueError(f"{found}: it must return a tensor of the same shape and dtype.")
    return moved


def check_action(action: Any) -> int:
    """The number of parameters of an action, if it is one."""
    if isinstance(action, type) or not isinstance(action, Action) or not callable(action.apply):
        name = action.__name__ if isinstance(action, type) else type(action).__name__
        hint = f"; pass an instance, {name}()" if isinstance(action, type) else ""
        rule = "it needs `n_parameters` and `apply(images, parameters) -> images`"
        raise TypeError(f"{name} is not an action: {rule}{hint}.")
    count = action.n_parameters
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ValueError(f"{type(action).__name__}.n_parameters is {count!r}: must be a whole number of at least 1.")
    return count


def _positive(action: str, name: str, value: float, meaning: str) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{action}({name}={value!r}): must be positive, {meaning}.")


def _check_colour(action: str, colour: Colour) -> None:
    values = colour if isinstance(colour, tuple) else (colour,)
    if not values or not all(0 <= value <= 1 for value in values):
        rule = "must lie in [0, 1], one value or one per channel"
        scale = "black is 0, and white, as in an inverse world, is 1"
        raise ValueError(f"{action}(background={colour!r}): {rule}; {scale}.")
