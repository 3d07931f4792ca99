"""The encoder q(z|x): features of an image, and the linear head that gives mean and log-variance (App. A.1)."""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from vase.nn.modes import evaluating

LOG_VAR_RANGE = (-14.0, 6.0)


def grid_size(sides: tuple[int, int], stride: int) -> tuple[int, int]:
    """Rows and columns of the smallest grid of cells of ``stride`` pixels that covers an image.

    >>> grid_size((48, 50), 16)
    (3, 4)
    """
    return -(-sides[0] // stride), -(-sides[1] // stride)


class ConvFeatures(nn.Module):
    """4×4 convolutions of stride 2 and one fully connected layer, with ReLUs: the paper's features h.

    Images whose sides are no multiples of the convolutions' total stride are padded with the values of their edges.
    """

    def __init__(self, image_shape: tuple[int, int, int], channels: tuple[int, ...], hidden: int) -> None:
        super().__init__()
        depth, height, width = image_shape
        sizes = (depth, *channels)
        rows, columns = grid_size((height, width), 2 ** len(channels))
        flat = channels[-1] * rows * columns
        missing = (rows << len(channels)) - height, (columns << len(channels)) - width
        self.padding = (missing[1] // 2, missing[1] - missing[1] // 2, missing[0] // 2, missing[0] - missing[0] // 2)
        self.convs = nn.ModuleList(nn.Conv2d(a, b, 4, stride=2, padding=1) for a, b in itertools.pairwise(sizes))
        self.linear = nn.Linear(flat, hidden)

    def forward(self, x: Float[Tensor, "B C H W"]) -> Float[Tensor, "B hidden"]:
        """Features of each image."""
        padded = F.pad(x, self.padding, mode="replicate") if any(self.padding) else x
        h = padded.contiguous(memory_format=torch.channels_last)
        for conv in self.convs:
            h = F.relu_(conv(h))
        return F.relu_(self.linear(h.flatten(1)))


class Encoder(nn.Module):
    """φ: any module from images to features (B, F), and a linear head from the features to q(z|x)."""

    def __init__(self, features: nn.Module, n_features: int, latents: int) -> None:
        super().__init__()
        self.features = features
        self.posterior = nn.Linear(n_features, 2 * latents)

    def head(self, h: Float[Tensor, "B F"]) -> tuple[Float[Tensor, "B N"], Float[Tensor, "B N"]]:
        """Mean and log-variance of q(z|x)."""
        mean, log_var = self.posterior(h).chunk(2, 1)
        return mean, log_var.clamp(*LOG_VAR_RANGE)

    def forward(self, x: Float[Tensor, "B C H W"]) -> tuple[Float[Tensor, "B N"], Float[Tensor, "B N"]]:
        """Mean and log-variance of q(z|x)."""
        return self.head(self.features(x))

    @torch.no_grad()
    def reseed(self, latents: list[int], generator: torch.Generator) -> None:
        """Fresh head weights for latents that no environment uses."""
        features, n = self.posterior.in_features, self.posterior.out_features // 2
        means = torch.randn(len(latents), features, generator=generator) * 0.5 * features**-0.5
        log_vars = torch.randn(len(latents), features, generator=generator) * 0.1 * features**-0.5
        weight, bias = self.posterior.weight, self.posterior.bias
        assert bias is not None
        rows = [n + i for i in latents]
        weight[latents] = means.to(weight.device)
        weight[rows] = log_vars.to(weight.device)
        bias[latents + rows] = 0

    @torch.no_grad()
    def rotate(self, latents: Int[Tensor, "n"], matrix: Float[Tensor, "n n"], shares: Float[Tensor, "n n"]) -> None:
        """Replace the means μ of some latents by Mμ; log-variances become averages, weighted by shares."""
        n, bias = self.posterior.out_features // 2, self.posterior.bias
        assert bias is not None
        for rows in (self.posterior.weight, bias):
            rows[latents] = matrix @ rows[latents]
            rows[latents + n] = shares @ rows[latents + n]

    @torch.no_grad()
    def standardise(self, latents: Int[Tensor, "n"], mean: Float[Tensor, "n"], std: Float[Tensor, "n"]) -> None:
        """Take (z − mean)/std for what was z in some latents."""
        n, bias = self.posterior.out_features // 2, self.posterior.bias
        assert bias is not None
        self.posterior.weight[latents] /= std[:, None]
        bias[latents] = (bias[latents] - mean) / std
        bias[latents + n] -= 2 * std.log()


def count_features(features: nn.Module, image_shape: tuple[int, int, int]) -> int:
    """F, the number of features that a module gives; an error says what is wrong with it."""
    with torch.no_grad(), evaluating(features):
        h = features(torch.zeros(2, *image_shape))
    if not isinstance(h, Tensor) or h.ndim != 2 or len(h) != 2:
        found = tuple(h.shape) if isinstance(h, Tensor) else type(h).__name__
        raise ValueError(f"encoder: gives {found} for 2 images of shape {image_shape}; it must give features (2, F).")
    return h.shape[1]
