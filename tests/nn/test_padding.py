"""Images whose sides are no multiples of the stride: padded for the encoder, cropped by the decoder."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from vase import VASE, VASEConfig
from vase.nn.decoder import BroadcastImage, DeconvImage
from vase.nn.encoder import ConvFeatures


def test_the_encoder_sees_the_edges_repeated() -> None:
    torch.manual_seed(0)
    odd, even = ConvFeatures((1, 10, 13), (4, 4), 8), ConvFeatures((1, 12, 16), (4, 4), 8)
    even.load_state_dict(odd.state_dict())
    x = torch.rand(3, 1, 10, 13)
    by_hand = x[:, :, [0, *range(10), 9]][:, :, :, [0, *range(13), 12, 12]]  # 1 + 10 + 1 rows, 1 + 13 + 2 columns
    assert torch.equal(odd(x), even(by_hand))


@pytest.mark.parametrize(("kind", "stride"), [(BroadcastImage, 4), (DeconvImage, 16)])
def test_the_decoder_gives_the_pixels_of_the_image(kind: type, stride: int) -> None:
    torch.manual_seed(0)
    odd = kind((3, 17, 30), (4, 4, 4, 4), 8)
    even = kind((3, -(-17 // stride) * stride, -(-30 // stride) * stride), (4, 4, 4, 4), 8)
    even.load_state_dict(odd.state_dict())
    h = torch.rand(2, 8)
    assert torch.equal(odd(h), even(h)[:, :, :17, :30])


def test_multiples_of_the_stride_are_not_copied() -> None:
    net = ConvFeatures((1, 16, 32), (4, 4), 8)
    assert net.padding == (0, 0, 0, 0)
    assert BroadcastImage((1, 16, 32), (4, 4), 8)(torch.zeros(1, 8)).shape == (1, 1, 16, 32)


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 17, 30)])
def test_losses_are_those_of_real_pixels(shape: tuple[int, int, int], tmp_path) -> None:
    model = VASE(VASEConfig.smoke(shape), seed=0, device="cpu")
    images = np.random.default_rng(0).random((8, *shape), dtype=np.float32)
    step = model.partial_fit(images)
    assert 0.5 < step.reconstruction / np.prod(shape) < 1.2, (
        "about log 2 of each pixel at the start, and no more of them"
    )
    assert model.config_.reconstruction_weight == 64 * 64 / (shape[1] * shape[2])
    assert model.reconstruct(images).shape == model.dream(8).shape == (8, *shape)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(
        VASE.load(tmp_path / "model", device="cpu").transform(images), model.transform(images)
    )
