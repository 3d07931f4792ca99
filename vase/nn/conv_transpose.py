"""The decoder's 4×4 convolutions of stride 2, transposed, in the forms that a CPU computes fastest.

Three facts make the difference on a CPU with oneDNN. The gradient of a transposed convolution's weight is that of an
ordinary convolution's weight with input and output exchanged, and the ordinary form takes half the time or less. The
gradient of its input is an ordinary convolution. And a layer with one or three output channels (an image) wastes most
of a vector register: as a matrix product followed by a few shifted sums it takes a fifth to a half of the time.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

MAX_GEMM_CHANNELS = 4
"""Output channels up to which a layer is computed as a matrix product and shifted sums."""
_GEOMETRY = ([2, 2], [1, 1], [1, 1], False, [0, 0], 1)
"""Stride 2, padding 1, dilation 1, not transposed, no output padding, one group."""
_TAPS = ((1, 3), (2, 0))
"""Kernel rows that reach an even and an odd output row: that of the input row itself, and that of its neighbour."""


def conv_transpose2d_fast(x: Float[Tensor, "B I H W"], layer: nn.Module) -> Float[Tensor, "B O 2*H 2*W"]:
    """What `layer`, a ConvTranspose2d of kernel 4, stride 2 and padding 1, gives: twice the height and width."""
    if x.device.type != "cpu" or torch.is_autocast_enabled("cpu") or torch.compiler.is_exporting():
        return layer(x)
    return ConvTranspose2dFast.apply(x, layer.weight, layer.bias)


class ConvTranspose2dFast(torch.autograd.Function):
    """The forward and backward passes, each in its fastest form."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """The layer's output."""
        ctx.save_for_backward(x, weight)
        if weight.shape[1] <= MAX_GEMM_CHANNELS:
            return _by_shifts(x, weight).add_(bias[:, None, None])
        return F.conv_transpose2d(x, weight, bias, stride=2, padding=1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Gradients of input, weight and bias, as far as they are wanted."""
        (g,) = gradients
        x, weight = ctx.saved_tensors
        want_x, want_weight, want_bias = ctx.needs_input_grad
        aten = torch.ops.aten
        return (
            aten.convolution(g, weight, None, *_GEOMETRY) if want_x else None,
            aten.convolution_backward(x, g, weight, None, *_GEOMETRY, [False, True, False])[1] if want_weight else None,
            g.sum((0, 2, 3)) if want_bias else None,
        )


def _by_shifts(x: Float[Tensor, "B I H W"], weight: Float[Tensor, "I O 4 4"]) -> Float[Tensor, "B O 2*H 2*W"]:
    """One matrix product for all taps; every output pixel is then the sum of four of its numbers.

    Output row 2i gets tap 1 of input row i and tap 3 of row i−1; row 2i+1 gets tap 2 of row i and tap 0 of row i+1.
    The same holds for columns.
    """
    b, _, h, w = x.shape
    o = weight.shape[1]
    taps = (weight.flatten(1).T @ x.flatten(2)).view(b, o, 4, 4, h, w)
    y = x.new_empty(b, o, 2 * h, 2 * w)
    pixel = y.view(b, o, h, 2, w, 2)
    for row, (here, neighbour) in enumerate(_TAPS):
        rows = taps[:, :, here].clone()
        _to(rows, row, 3).add_(_from(taps[:, :, neighbour], row, 3))
        for column, (here_too, beside) in enumerate(_TAPS):
            pixels = rows[:, :, here_too]
            _to(pixels, column, 3).add_(_from(rows[:, :, beside], column, 3))
            pixel[:, :, :, row, :, column] = pixels
    return y


def _to(values: Tensor, odd: int, axis: int) -> Tensor:
    """The places that have a neighbour: all but the first (even outputs) or the last (odd ones)."""
    return values.narrow(axis, 1 - odd, values.shape[axis] - 1)


def _from(values: Tensor, odd: int, axis: int) -> Tensor:
    """Their neighbours: the place before (even outputs) or after (odd ones)."""
    return values.narrow(axis, odd, values.shape[axis] - 1)
