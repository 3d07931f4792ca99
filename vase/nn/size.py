"""How large the networks of a configuration would be, told before they are built."""

from __future__ import annotations

import itertools
import math
import warnings
from dataclasses import dataclass

from vase.config import VASEConfig
from vase.nn.encoder import grid_size
from vase.nn.environment_table import BLOCK
from vase.resize import suggested_sides

MOST_PARAMETERS = 8_000_000
"""Larger networks get a warning."""
MOST_SECONDS = 1.0
"""Slower steps get a warning."""
CORE = 80e9
"""Floating-point operations per second of one CPU core, as `benchmarks.speed` finds them in a step."""
DREAMS = 2.0
"""A step with dreams takes about so many times a step without."""


@dataclass(frozen=True)
class NetworkSize:
    """Parameters, and floating-point operations of one forward and backward pass of an image."""

    parameters: int
    operations: int

    def seconds(self, images: int) -> float:
        """About how long a step with dreams takes on one core."""
        return DREAMS * images * self.operations / CORE


def network_size(config: VASEConfig) -> NetworkSize:
    """The size of encoder, decoder and classifier, by hand from their shapes."""
    (depth, height, width), net = config.image_shape, config.network
    cells = math.prod(grid_size((height, width), 2 ** len(net.channels)))
    flat = net.channels[-1] * cells
    pairs = list(itertools.pairwise((depth, *net.channels)))
    conv_weights = [16 * a * b for a, b in pairs]
    conv_uses = [cells * 4 ** (len(pairs) - i) for i in range(1, len(pairs) + 1)]
    linear = flat * net.hidden + net.hidden * 2 * net.latents + net.latents * net.hidden
    parameters = sum(conv_weights) + sum(net.channels) + linear + 2 * net.hidden + 2 * net.latents
    parameters += 2 * BLOCK * net.hidden  # the tables of environments
    uses = sum(weights * use for weights, use in zip(conv_weights, conv_uses, strict=True)) + linear
    if net.decoder == "transposed":
        parameters += net.hidden * flat + flat + sum(conv_weights) + sum(net.channels[:-1]) + depth
        uses += net.hidden * flat + sum(weights * use for weights, use in zip(conv_weights, conv_uses, strict=True))
    else:
        wide, narrow, places = net.channels[-1], net.channels[0], math.prod(grid_size((height, width), 4))
        deconvs = 16 * wide * narrow, 16 * narrow * depth
        parameters += net.hidden * wide + wide * wide + 5 * wide + sum(deconvs) + narrow + depth
        uses += net.hidden * wide + places * (2 * wide + wide * wide + deconvs[0] + 4 * deconvs[1])
    return NetworkSize(parameters, 6 * uses)


def warn_if_huge(config: VASEConfig) -> None:
    """Warn of an image size that makes the networks slow or large, and suggest another."""
    size, (_, height, width) = network_size(config), config.image_shape
    seconds = size.seconds(config.batch_size)
    if size.parameters <= MOST_PARAMETERS and seconds <= MOST_SECONDS:
        return
    rows, columns = suggested_sides(height, width)
    smaller = f"images of {rows}×{columns} (from_folder(..., size=({rows}, {columns})))"
    warnings.warn(
        f"image_shape={config.image_shape}: networks of {size.parameters / 1e6:.1f} million parameters, about "
        f"{seconds:.1f} s per step of {config.batch_size} images on one CPU core; "
        + (f"use {smaller}" if (rows, columns) != (height, width) else "use fewer channels, network.channels"),
        stacklevel=4,
    )
