"""The policy g(z*, x) and its loss (App. "Imagination-based exploration experiments")."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from vase.nn.likelihood import Images

FILTERS = 16
SMALLEST = 16  # pixels that four halvings need


class Policy(nn.Module):
    """An image and a target z* → parameters of an action, in (−1, 1).

    Four 4×4 convolutions of 16 filters, stride 2, ReLU; their output and z* enter one hidden layer; tanh. All weights
    come from `generator`; the last layer's are small, so that a newborn policy hardly acts.
    """

    def __init__(
        self,
        image_shape: tuple[int, int, int],
        n_latents: int,
        n_parameters: int,
        *,
        hidden: int = 256,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        channels, height, width = image_shape
        if min(height, width) < SMALLEST:
            rule = f"the policy halves them four times and needs at least {SMALLEST}×{SMALLEST}"
            raise ValueError(f"images of {height}×{width}: {rule}; resize them.")
        generator = generator or torch.Generator().manual_seed(0)
        sizes = [channels, *[FILTERS] * 4]
        flat = FILTERS * (height >> 4) * (width >> 4)
        convs = [nn.utils.skip_init(nn.Conv2d, a, b, 4, stride=2, padding=1) for a, b in pairwise(sizes)]
        self.convs = nn.ModuleList(convs)
        self.hidden = nn.utils.skip_init(nn.Linear, flat + n_latents, hidden)
        self.output = nn.utils.skip_init(nn.Linear, hidden, n_parameters)
        for layer, gain in [*((conv, 2.0) for conv in convs), (self.hidden, 2.0), (self.output, 0.01)]:
            nn.init.normal_(layer.weight, 0, math.sqrt(gain / layer.weight[0].numel()), generator=generator)
            nn.init.zeros_(layer.bias)

    def forward(self, images: Images, targets: Float[Tensor, "B N"]) -> Float[Tensor, "B P"]:
        """What to do to each image, to bring its encoding to its target."""
        h = images
        for conv in self.convs:
            h = torch.relu(conv(h))
        return torch.tanh(self.output(torch.relu(self.hidden(torch.cat([h.flatten(1), targets], 1)))))


def agent_loss(
    targets: Float[Tensor, "B N"],
    mean: Float[Tensor, "B N"],
    log_var: Float[Tensor, "B N"],
    latents: Int[Tensor, "L"] | None = None,
) -> Float[Tensor, ""]:
    """L_agent = E‖z* − z‖² over z ~ q(z|g·x), averaged over the batch.

    The expectation over z is taken exactly: (z* − μ)² + σ² per latent, so that sampling adds no noise.

    `latents` restricts the distance to latents that the action can change at all (`movable_latents`). The others, such
    as the identity of a sprite that can only be moved, add what no policy can lower, and a pull towards positions where
    the encoder mistakes the sprite for another. None is the paper's distance, over all latents.
    """
    error = (targets - mean).square() + log_var.exp()
    if latents is not None:
        error = error[:, latents]
    return error.sum(1).mean()
