"""The decoder as data: exact enough, and only where the page can compute it."""

from __future__ import annotations

import base64

import numpy as np
import pytest
import torch
from torch import nn

from vase import VASE, VASEConfig
from vase.nn.decoder import DeconvImage
from vase.nn.likelihood import Bernoulli
from vase.report.decoder import export_decoder, pack


def fitted(**parts: object) -> VASE:
    learner = VASE(VASEConfig.smoke(image_shape=(1, 32, 32)), seed=0, device="cpu", **parts)
    learner.partial_fit(np.zeros((4, 32, 32), np.uint8))
    return learner


def test_weights_in_sixteen_bits() -> None:
    packed = pack(torch.tensor([[1.0, -0.5], [0.25, 0.0]]))
    whole = np.frombuffer(base64.b64decode(packed["int16"]), "<i2")
    assert whole.tolist() == [32767, -16384, 8192, 0]  # -16383.5 is rounded to even
    assert packed["shape"] == [2, 2]
    assert packed["scale"] == pytest.approx(1 / 32767)
    assert pack(torch.zeros(3))["scale"] == 1.0


def test_the_layers_of_the_broadcast_decoder() -> None:
    found = export_decoder(fitted())
    assert found is not None
    assert [layer["kind"] for layer in found["layers"]] == ["broadcast", "mix", "deconv", "deconv"]
    assert found["layers"][0]["place"]["shape"] == [32, 8, 8]
    assert found["output"] == "sigmoid"
    assert found["seen"] == [[True] * 10]
    assert found["environments"]["shape"] == [1, 128], "only the environments that are known"


def test_none_for_what_a_page_cannot_compute() -> None:
    class Own(DeconvImage):
        def forward(self, h: torch.Tensor) -> torch.Tensor:
            return super().forward(h) * 2

    class Inverse(Bernoulli):
        def mean(self, y: torch.Tensor) -> torch.Tensor:
            return 1 - super().mean(y)

    plain = nn.Sequential(nn.Linear(128, 32 * 32), nn.Unflatten(1, (1, 32, 32)))
    assert export_decoder(fitted(decoder=plain)) is None
    assert export_decoder(fitted(decoder=Own((1, 32, 32), (16, 16), 128))) is None
    assert export_decoder(fitted(likelihood=Inverse())) is None
    assert export_decoder(VASE(VASEConfig.smoke(), seed=0, device="cpu")) is None, "nothing has been learnt"
