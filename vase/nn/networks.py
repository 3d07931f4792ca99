"""Encoder, decoder and environment classifier (App. A.1).

Environments come in blocks of rows that are laid out ahead of use: the one-hot input of the decoder and the softmax of
the classifier grow by a block when one is full, and no earlier output changes by a bit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from vase.config import VASEConfig
from vase.nn.conv_transpose import deconvolve

Sampler = Callable[[Tensor, Tensor], Tensor]
"""Mean and log-variance of q(z|x) → what the decoder gets."""
BLOCK = 8
"""Environments per block of the decoder's input table and the classifier."""


class Networks(nn.Module):
    """φ (encoder), θ (decoder) and ψ (classifier) of one learner."""

    def __init__(self, config: VASEConfig, generator: torch.Generator) -> None:
        super().__init__()
        c, height, width = config.image_shape
        net = config.network
        sizes = [c, *net.channels]
        self.n_latents = net.latents
        self.fan_in = net.init == "fan-in"
        self.reduced = False
        self.grid = (net.channels[-1], height >> len(net.channels), width >> len(net.channels))
        flat = math.prod(self.grid)
        self.convs = nn.ModuleList(nn.Conv2d(a, b, 4, stride=2, padding=1) for a, b in itertools.pairwise(sizes))
        self.features = nn.Linear(flat, net.hidden)
        self.posterior = nn.Linear(net.hidden, 2 * net.latents)
        self.from_latents = nn.Linear(net.latents, net.hidden)
        self.to_grid = nn.Linear(net.hidden, flat)
        back = sizes[::-1]
        self.deconvs = nn.ModuleList(
            nn.ConvTranspose2d(a, b, 4, stride=2, padding=1) for a, b in itertools.pairwise(back)
        )
        self.environment_input = nn.ParameterList()
        self.environment_output = nn.ParameterList()
        self._initialise(generator)
        self.grow(1, generator)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # a tenth faster on a CPU

    def _initialise(self, generator: torch.Generator) -> None:
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d | nn.Linear | nn.ConvTranspose2d):
                fan_in = layer.weight[0].numel()
                if self.fan_in and isinstance(
                    layer, nn.ConvTranspose2d
                ):  # each output pixel of a stride-2 layer sees 2×2 taps
                    fan_in = layer.in_channels * 4
                with torch.no_grad():
                    assert layer.bias is not None
                    if self.fan_in:
                        layer.weight.normal_(0, fan_in**-0.5, generator=generator)
                        layer.bias.zero_()
                    else:
                        bound = fan_in**-0.5
                        layer.weight.uniform_(-bound, bound, generator=generator)
                        layer.bias.uniform_(-bound, bound, generator=generator)

    @property
    def room(self) -> int:
        """Environments for which rows exist."""
        return BLOCK * len(self.environment_input)

    def grow(self, count: int, generator: torch.Generator) -> list[nn.Parameter]:
        """Make room for `count` environments; returns the new parameters, if any."""
        new = []
        hidden = self.features.out_features
        device = self.features.weight.device
        while self.room < count:
            rows = torch.randn(BLOCK, hidden, generator=generator) * self.n_latents**-0.5
            outputs = torch.randn(BLOCK, hidden, generator=generator) * hidden**-0.5
            for table, values in ((self.environment_input, rows), (self.environment_output, outputs)):
                table.append(nn.Parameter(values.to(device)))
                new.append(table[-1])
        return new

    def copy_room(self, source: Networks) -> None:
        """Take over the blocks of environments that `source` has and this copy lacks."""
        for mine, theirs in (
            (self.environment_input, source.environment_input),
            (self.environment_output, source.environment_output),
        ):
            for block in list(theirs)[len(mine) :]:
                mine.append(nn.Parameter(block.detach().clone(), requires_grad=False))

    def forward(
        self, x: Float[Tensor, "B C H W"], sample: Sampler, s: Int[Tensor, "B"], count: int
    ) -> tuple[Float[Tensor, "B N"], Float[Tensor, "B N"], Float[Tensor, "B C H W"], Float[Tensor, "B K"]]:
        """Mean and log-variance of q(z|x), the decoder's output for `sample(mean, log_var)`, and logits of q(s|x)."""
        h, mean, log_var = self.encode(x)
        return mean, log_var, self.decode(sample(mean, log_var), s), self.classify(h, count)

    def encode(
        self, x: Float[Tensor, "B C H W"]
    ) -> tuple[Float[Tensor, "B hidden"], Float[Tensor, "B N"], Float[Tensor, "B N"]]:
        """Features h, and mean and log-variance of q(z|x)."""
        h = x.contiguous(memory_format=torch.channels_last)
        with self._precision(x):
            for conv in self.convs:
                h = F.relu_(conv(h))
            h = F.relu_(self.features(h.flatten(1)))
        h = h.float() if self.reduced else h
        mean, log_var = self.posterior(h).chunk(2, 1)
        return h, mean, log_var.clamp(-14, 6)

    def decode(self, z: Float[Tensor, "B N"], s: Int[Tensor, "B"]) -> Float[Tensor, "B C H W"]:
        """Parameters of p(x|z,s): one-hot s concatenated to z is a row of a table added to the first layer."""
        table = (
            torch.cat(list(self.environment_input)) if len(self.environment_input) > 1 else self.environment_input[0]
        )
        with self._precision(z):
            h = F.relu_(self.from_latents(z) + table[s])
            h = F.relu_(self.to_grid(h)).unflatten(1, self.grid).contiguous(memory_format=torch.channels_last)
            for layer in self.deconvs[:-1]:
                h = F.relu_(deconvolve(h, layer))
            y = deconvolve(h, self.deconvs[-1])
        return y.float() if self.reduced else y

    def _precision(self, like: Tensor) -> AbstractContextManager[Any]:
        """bfloat16, if wanted, for passes that are differentiated; those that decide something are float32."""
        half = self.reduced and torch.is_grad_enabled()
        return torch.autocast(like.device.type, torch.bfloat16) if half else nullcontext()

    def classify(self, h: Float[Tensor, "B hidden"], count: int) -> Float[Tensor, "B K"]:
        """Logits of q(s|x) over the environments seen; gradients stop at the features."""
        h = h.detach()
        return torch.cat([h @ block.T for block in self.environment_output], 1)[:, :count]

    @torch.no_grad()
    def reseed(self, latents: list[int], generator: torch.Generator, *, decoder_std: float = 1.0) -> None:
        """Fresh weights for latents that nobody uses; `decoder_std` 0 leaves the decoder's outputs as they are."""
        n, hidden = self.n_latents, self.features.out_features
        column = torch.randn(hidden, len(latents), generator=generator) * decoder_std * n**-0.5
        means = torch.randn(len(latents), hidden, generator=generator) * 0.5 * hidden**-0.5
        log_vars = torch.randn(len(latents), hidden, generator=generator) * 0.1 * hidden**-0.5
        assert self.posterior.bias is not None
        spread = [n + i for i in latents]
        self.from_latents.weight[:, latents] = column.to(self.from_latents.weight.device)
        self.posterior.weight[latents] = means.to(self.posterior.weight.device)
        self.posterior.weight[spread] = log_vars.to(self.posterior.weight.device)
        self.posterior.bias[latents + spread] = 0
