"""Initial weights, drawn from a given generator so that a seed decides everything."""

from __future__ import annotations

from typing import Literal

import torch
from torch import nn

Init = Literal["fan-in", "he", "torch"]


@torch.no_grad()
def initialise(module: nn.Module, scheme: Init, generator: torch.Generator) -> None:
    """Draw the weights of every linear and convolutional layer of a module.

    'fan-in': normal with std 1/√fan_in, biases zero; 'he': with std √(2/fan_in), so that ReLUs keep the scale.
    'torch': PyTorch's default, uniform in ±1/√fan_in.
    """
    for layer in module.modules():
        if not isinstance(layer, nn.Conv2d | nn.Linear | nn.ConvTranspose2d):
            continue
        assert layer.bias is not None
        fan_in = layer.weight[0].numel()
        if scheme != "torch":
            if isinstance(layer, nn.ConvTranspose2d):  # each output pixel of a stride-2 layer sees 2×2 taps
                fan_in = layer.in_channels * 4
            layer.weight.normal_(0, ((2 if scheme == "he" else 1) / fan_in) ** 0.5, generator=generator)
            layer.bias.zero_()
        else:
            bound = fan_in**-0.5
            layer.weight.uniform_(-bound, bound, generator=generator)
            layer.bias.uniform_(-bound, bound, generator=generator)
