"""Floating-point operations: counted as they are executed, and by hand from the shapes of the networks."""

from __future__ import annotations

import itertools
import math

from torch.utils.flop_counter import FlopCounterMode

from vase.bench.timing import Contestant
from vase.config import VASEConfig


def executed(step: Contestant, steps: int) -> float:
    """Operations of matrix products and convolutions per step, counted by PyTorch over `steps` real steps."""
    with FlopCounterMode(display=False) as counter:
        for _ in range(steps):
            step()
    return counter.get_total_flops() / steps


def needed(config: VASEConfig, images: int) -> int:
    """Operations of one forward and backward pass of encoder and decoder over `images`, by hand.

    A product of weights is two operations per weight and use forward and twice as many backward (for the inputs and for
    the weights), except that nobody needs the gradient of the images. Biases and activations do not count.
    """
    c, height, width = config.image_shape
    net = config.network
    first = 0
    convolutions = 0
    for depth, (a, b) in enumerate(itertools.pairwise([c, *net.channels]), start=1):
        uses = (height >> depth) * (width >> depth)
        convolutions += uses * 16 * a * b
        first = first or convolutions
    flat = net.channels[-1] * math.prod(side >> len(net.channels) for side in (height, width))
    encoder = convolutions + flat * net.hidden + net.hidden * 2 * net.latents
    decoder = net.latents * net.hidden + net.hidden * flat + convolutions
    return images * 2 * (3 * (encoder + decoder) - first)
