"""The decoder p(x|z,s): a linear layer from latents and environment, and a module from it to pixels (App. A.1)."""

from __future__ import annotations

import itertools
import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from vase.nn.conv_transpose import conv_transpose2d_fast
from vase.nn.encoder import grid_size
from vase.nn.environment_table import EnvironmentTable
from vase.nn.modes import evaluating


def _cropped(y: Float[Tensor, "B C h w"], sides: tuple[int, int]) -> Float[Tensor, "B C H W"]:
    """The pixels of the image: grids reach beyond it if its sides are no multiples of their stride."""
    return y if y.shape[2:] == sides else y[:, :, : sides[0], : sides[1]].contiguous()


class DeconvImage(nn.Module):
    """One fully connected layer and transposed 4×4 convolutions of stride 2, with ReLUs: the paper's decoder."""

    def __init__(self, image_shape: tuple[int, int, int], channels: tuple[int, ...], hidden: int) -> None:
        super().__init__()
        depth, height, width = image_shape
        self.grid = (channels[-1], *grid_size((height, width), 2 ** len(channels)))
        self.sides = (height, width)
        self.linear = nn.Linear(hidden, math.prod(self.grid))
        sizes = (*channels[::-1], depth)
        self.deconvs = nn.ModuleList(
            nn.ConvTranspose2d(a, b, 4, stride=2, padding=1) for a, b in itertools.pairwise(sizes)
        )

    def forward(self, h: Float[Tensor, "B hidden"]) -> Float[Tensor, "B C H W"]:
        """Parameters of the likelihood of each pixel."""
        y = F.relu_(self.linear(h)).unflatten(1, self.grid).contiguous(memory_format=torch.channels_last)
        for layer in self.deconvs[:-1]:
            y = F.relu_(conv_transpose2d_fast(y, layer))
        return _cropped(conv_transpose2d_fast(y, self.deconvs[-1]), self.sides)


class BroadcastImage(nn.Module):
    """A decoder that knows where things are: the code at every place of a grid, beside the place's coordinates.

    The cheap form of Watters et al. (2019): a linear map of the code and one of the coordinates, added on a grid of a
    quarter of the image, a 1×1 convolution, and two transposed convolutions.
    """

    coordinates: Tensor

    def __init__(self, image_shape: tuple[int, int, int], channels: tuple[int, ...], hidden: int) -> None:
        super().__init__()
        depth, height, width = image_shape
        wide, narrow = channels[-1], channels[0]
        self.sides = (height, width)
        rows, columns = grid_size(self.sides, 4)
        y, x = torch.meshgrid(torch.linspace(-1, 1, rows), torch.linspace(-1, 1, columns), indexing="ij")
        self.register_buffer("coordinates", torch.stack([x, y])[None], persistent=False)
        self.linear = nn.Linear(hidden, wide)
        self.place = nn.Conv2d(2, wide, 1)
        self.mix = nn.Conv2d(wide, wide, 1)
        self.deconvs = nn.ModuleList(
            nn.ConvTranspose2d(a, b, 4, stride=2, padding=1) for a, b in itertools.pairwise((wide, narrow, depth))
        )

    def forward(self, h: Float[Tensor, "B hidden"]) -> Float[Tensor, "B C H W"]:
        """Parameters of the likelihood of each pixel."""
        y = self.linear(h)[:, :, None, None] + self.place(self.coordinates)
        y = F.relu_(self.mix(F.relu_(y.contiguous(memory_format=torch.channels_last))))
        y = F.relu_(conv_transpose2d_fast(y, self.deconvs[0]))
        return _cropped(conv_transpose2d_fast(y, self.deconvs[1]), self.sides)


class Decoder(nn.Module):
    """θ: a hidden layer that sees z and the one-hot s, and any module from it (B, hidden) to images.

    One-hot s concatenated to z is a row of a table that is added to the hidden layer.
    """

    def __init__(self, image: nn.Module, latents: int, hidden: int) -> None:
        super().__init__()
        self.from_latents = nn.Linear(latents, hidden)
        self.image = image
        self.environments = EnvironmentTable(hidden, std=latents**-0.5)

    def forward(self, z: Float[Tensor, "B N"], s: Int[Tensor, "B"]) -> Float[Tensor, "B C H W"]:
        """Parameters of p(x|z,s): logits for Bernoulli, means for Gaussian."""
        return self.image(F.relu_(self.from_latents(z) + self.environments.rows()[s]))

    @torch.no_grad()
    def reseed(self, latents: list[int], generator: torch.Generator, *, std: float) -> None:
        """Fresh weights for latents that no environment uses; `std` 0 leaves the decoder's outputs as they are."""
        weight = self.from_latents.weight
        column = torch.randn(weight.shape[0], len(latents), generator=generator) * std * weight.shape[1] ** -0.5
        weight[:, latents] = column.to(weight.device)

    @torch.no_grad()
    def rotate(self, latents: Int[Tensor, "n"], matrix: Float[Tensor, "n n"]) -> None:
        """Take Mz for what was z in some latents, with the same outputs."""
        weight = self.from_latents.weight
        weight[:, latents] = weight[:, latents] @ torch.linalg.inv(matrix)

    @torch.no_grad()
    def standardise(self, latents: Int[Tensor, "n"], mean: Float[Tensor, "n"], std: Float[Tensor, "n"], s: int) -> None:
        """Take (z − mean)/std for what was z in some latents, with the same outputs in environment s."""
        weight = self.from_latents.weight
        self.environments.row(s).add_(weight[:, latents] @ mean)
        weight[:, latents] *= std


def check_image(image: nn.Module, hidden: int, image_shape: tuple[int, int, int]) -> None:
    """Refuse a decoder that does not give images of the right shape."""
    with torch.no_grad(), evaluating(image):
        y = image(torch.zeros(2, hidden))
    if not isinstance(y, Tensor) or y.shape != (2, *image_shape):
        found = tuple(y.shape) if isinstance(y, Tensor) else type(y).__name__
        raise ValueError(f"decoder: gives {found} for inputs (2, {hidden}); it must give (2, {image_shape}) images.")
