"""A fingerprint of images that nothing can teach or untrain: fixed features whose averages tell worlds apart.

It depends neither on the likelihood nor on how well a world has been learnt. Its features are fixed random filters, the
picture on a coarse grid, and how fine its detail is; a few milliseconds for a thousand images.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from vase.nn.likelihood import Images

FILTERS = 15
KERNEL = 5
LUMINANCE_GRID = 8
COLOUR_GRID = 4
DETAIL_GRID = 4
_SEED = 0x5A5E
_EPSILON = 0.01
"""Added before a logarithm: a hundredth of the range of pixels, below which differences of energy mean nothing."""
_LEVEL_FLOOR = 0.06
_LOG_FLOOR = 0.3


class Fingerprint(nn.Module):
    """Images (B, C, H, W) of one size, in [0, 1] → features (B, D), the same for every learner and seed.

    - the logarithm of the mean absolute response to each of 15 random 5×5 filters without mean;
    - the luminance on an 8×8 grid, and differences of neighbouring colour channels on a 4×4 grid;
    - the logarithm of the contrast of each channel, and of the detail (the Laplacian) on a 4×4 grid.
    """

    filters: Tensor
    detail_pool: Tensor
    """Averages over a grid as a matrix product: responses are few, and adaptive pooling is slow."""
    smallest_std: Tensor
    """The spread below which a feature's variation is taken for noise, per feature."""

    def __init__(self, channels: int, height: int, width: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(_SEED)
        filters = torch.randn(FILTERS, channels, KERNEL, KERNEL, generator=generator)
        filters = filters - filters.mean((1, 2, 3), keepdim=True)
        filters = filters / filters.flatten(1).norm(dim=1).view(-1, 1, 1, 1)
        # The last filter is the Laplacian of the luminance: noise raises its response, blur lowers it.
        laplacian = torch.zeros(1, channels, KERNEL, KERNEL)
        laplacian[:, :, 2, 1:4] = laplacian[:, :, 1:4, 2] = -1 / channels
        laplacian[:, :, 2, 2] = 4 / channels
        self.register_buffer("filters", torch.cat([filters, laplacian]), persistent=False)
        self.stride = max(2, min(height, width) // 16)
        places = [(max(KERNEL, side) - KERNEL) // self.stride + 1 for side in (height, width)]
        rows, columns = (F.adaptive_avg_pool1d(torch.eye(n)[:, None], DETAIL_GRID)[:, 0] for n in places)
        self.register_buffer("detail_pool", torch.kron(rows, columns), persistent=False)
        logs = FILTERS + channels + DETAIL_GRID**2 + (channels - 1)
        levels = LUMINANCE_GRID**2 + COLOUR_GRID**2 * (channels - 1)
        floors = torch.tensor([_LOG_FLOOR] * logs + [_LEVEL_FLOOR] * levels)
        self.register_buffer("smallest_std", floors, persistent=False)

    @property
    def n_features(self) -> int:
        """D."""
        return len(self.smallest_std)

    @torch.no_grad()
    def forward(self, x: Images) -> Float[Tensor, "B D"]:
        """The features of each image."""
        missing = max(0, KERNEL - x.shape[2]), max(0, KERNEL - x.shape[3])
        x = F.pad(x, (0, missing[1], 0, missing[0])) if any(missing) else x
        response = F.conv2d(x, self.filters, stride=self.stride).abs_()
        response, flat = response.flatten(2), x.flatten(2)
        contrast = torch.linalg.vector_norm(flat - flat.mean(2, keepdim=True), dim=2) / flat.shape[2] ** 0.5
        logs = [response.mean(2)[:, :-1], contrast, response[:, -1] @ self.detail_pool]
        grey = x if x.shape[1] == 1 else x.mean(1, keepdim=True)
        levels = [_pool(grey, LUMINANCE_GRID)]
        if x.shape[1] > 1:
            colour = x[:, :-1] - x[:, 1:]
            levels.append(_pool(colour, COLOUR_GRID))
            logs.append(colour.abs_().mean((2, 3)))
        return torch.cat([torch.log(torch.cat(logs, 1) + _EPSILON), *levels], 1)


def _pool(x: Images, grid: int) -> Float[Tensor, "B F"]:
    """Averages over a grid; the plain pooling, where it can be used, is several times as fast as the adaptive one."""
    height, width = x.shape[2:]
    if height % grid or width % grid:
        return F.adaptive_avg_pool2d(x, grid).flatten(1)
    return F.avg_pool2d(x, (height // grid, width // grid)).flatten(1)
