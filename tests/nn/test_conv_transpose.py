"""The fast transposed convolution: the same numbers and gradients as PyTorch's own."""

import copy
from unittest.mock import patch

import pytest
import torch
from torch import nn

from vase.nn import conv_transpose
from vase.nn.conv_transpose import conv_transpose2d_fast


def layer(inputs: int, outputs: int, dtype: torch.dtype = torch.float64) -> nn.ConvTranspose2d:
    torch.manual_seed(0)
    return nn.ConvTranspose2d(inputs, outputs, 4, stride=2, padding=1).to(dtype)


def images(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=dtype)


def test_one_pixel_by_hand():
    # A single pixel of value 2 spreads over a 2×2 image: taps 1 and 2 of the kernel's rows and columns.
    one = layer(1, 1)
    with torch.no_grad():
        one.weight.copy_(torch.arange(16.0).view(1, 1, 4, 4))
        one.bias.fill_(0.5)
    got = conv_transpose2d_fast(torch.full((1, 1, 1, 1), 2.0, dtype=torch.float64), one)
    assert got.flatten().tolist() == [2 * 5 + 0.5, 2 * 6 + 0.5, 2 * 9 + 0.5, 2 * 10 + 0.5]


@pytest.mark.parametrize("outputs", [1, 3, 4, 5, 32])
@pytest.mark.parametrize("size", [(1, 1), (2, 2), (4, 2), (3, 5), (16, 16)])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_values_and_gradients_are_pytorchs(outputs: int, size: tuple[int, int], layout: torch.memory_format):
    ours = layer(6, outputs)
    theirs = copy.deepcopy(ours)
    x, x_too = (images(3, 6, *size).contiguous(memory_format=layout).requires_grad_() for _ in range(2))
    y, y_too = conv_transpose2d_fast(x, ours), theirs(x_too)
    assert y.shape == (3, outputs, 2 * size[0], 2 * size[1])
    assert torch.allclose(y, y_too, rtol=1e-12, atol=1e-12)
    weight = images(*y.shape)
    (y * weight).sum().backward()
    (y_too * weight).sum().backward()
    for a, b in ((x, x_too), (ours.weight, theirs.weight), (ours.bias, theirs.bias)):
        assert torch.allclose(a.grad, b.grad, rtol=1e-10, atol=1e-10)


def test_float32_agrees_to_rounding():
    ours = layer(32, 1, torch.float32)
    x = images(64, 32, 16, 16, dtype=torch.float32).contiguous(memory_format=torch.channels_last)
    with torch.no_grad():
        assert torch.allclose(conv_transpose2d_fast(x, ours), ours(x), rtol=1e-5, atol=1e-5)


def test_the_result_may_be_changed_in_place():
    # a hidden layer with few channels, followed by a ReLU in place
    ours = layer(4, 2)
    x = images(2, 4, 2, 2).requires_grad_()
    torch.relu_(conv_transpose2d_fast(x, ours)).sum().backward()
    again = images(2, 4, 2, 2).requires_grad_()
    torch.relu(ours(again)).sum().backward()
    assert torch.allclose(x.grad, again.grad)


def test_gradients_that_nobody_wants_are_not_computed():
    frozen = layer(4, 2).requires_grad_(False)
    x = images(2, 4, 2, 2).requires_grad_()
    with patch.object(torch.ops.aten, "convolution_backward", side_effect=AssertionError("not needed")):
        conv_transpose2d_fast(x, frozen).sum().backward()
    assert x.grad is not None
    assert frozen.weight.grad is None


def test_numerical_gradient():
    one = layer(2, 1)
    x = images(1, 2, 2, 2).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda *a: conv_transpose.ConvTranspose2dFast.apply(*a), (x, one.weight, one.bias), eps=1e-6
    )


def test_under_autocast_the_layer_itself_runs():
    class Layer(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.repeat(1, 1, 2, 2) + 1

    with torch.autocast("cpu", torch.bfloat16):
        assert conv_transpose2d_fast(torch.zeros(1, 1, 1, 1), Layer()).tolist() == [[[[1, 1], [1, 1]]]]
