"""Floating-point operations, by hand and as PyTorch counts them."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from benchmarks.flops import executed, needed
from benchmarks.reference import Networks
from benchmarks.reference_step import Gemm
from vase import VASEConfig
from vase.nn.conv_transpose import conv_transpose2d_fast
from vase.worlds import Schedule

SMOKE = VASEConfig.smoke()


def test_flops_by_hand():
    # 32×32, channels 32-32-64-64, 256 hidden, 24 latents; multiplications per image and pass:
    first = 16 * 16 * 32 * 16
    convolutions = first + 8 * 8 * 32 * 32 * 16 + 4 * 4 * 32 * 64 * 16 + 2 * 2 * 64 * 64 * 16
    linear = 256 * 256 + 256 * 48 + 24 * 256 + 256 * 256
    total = 2 * convolutions + linear
    assert needed(VASEConfig.laptop(), 64) == 64 * 2 * (3 * total - first)
    assert needed(VASEConfig.laptop(), 64) / 1e9 == pytest.approx(1.56, rel=0.01)
    assert needed(VASEConfig.paper(), 64) / 1e9 == pytest.approx(24, rel=0.02)


def test_pytorch_counts_what_the_hand_counts():
    """On plain modules exactly; the reference's one-hot input and its classifier are added by hand."""
    room, hidden = 8, SMOKE.network.hidden
    nets = Networks(SMOKE, room)
    (batch,) = Schedule.parse("digits", 1, batch_size=32)
    x, s = torch.from_numpy(batch.images).float() / 255, torch.zeros(32, dtype=torch.long)

    def step() -> None:
        h, mean, _ = nets.encode(x)
        (nets.decode(mean, s).sum() + nets.classifier(h.detach()).sum()).backward()

    one_hot = 32 * 2 * room * hidden * 3
    classifier = 32 * 2 * room * hidden * 2  # its input needs no gradient
    assert executed(step, 2) == needed(SMOKE, 32) + one_hot + classifier


@pytest.mark.parametrize("outputs", [1, 32])
def test_pytorch_counts_the_decoder_s_own_form_of_its_layers(outputs):
    layer = nn.ConvTranspose2d(16, outputs, 4, 2, 1)
    x = torch.randn(3, 16, 8, 8, requires_grad=True)
    assert executed(lambda: conv_transpose2d_fast(x, layer).sum().backward(), 1) == 3 * 2 * (
        3 * 16 * outputs * 16 * 8 * 8
    )


def test_gemm():
    gemm = Gemm(side=8)
    gemm()
    assert gemm.flops == 2 * 8**3 == executed(gemm, 3)
    assert torch.equal(gemm.out, gemm.a @ gemm.b)
