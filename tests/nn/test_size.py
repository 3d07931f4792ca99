"""The size of networks before they are built: as they are built, and what is warned of."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

from vase import VASE, VASEConfig
from vase.nn import size
from vase.nn.networks import Networks
from vase.nn.size import network_size, warn_if_huge


@pytest.mark.parametrize(
    "config",
    [
        VASEConfig.laptop(),
        VASEConfig.laptop((3, 50, 70)),
        VASEConfig.paper(),
        VASEConfig.paper((3, 40, 64)),
        VASEConfig.smoke((1, 8, 8)).with_values({"network.channels": "4,8"}),
    ],
    ids=["broadcast", "broadcast padded", "transposed", "transposed padded", "two layers"],
)
def test_parameters_are_those_of_the_networks(config: VASEConfig) -> None:
    nets = Networks(config, torch.Generator().manual_seed(0))
    assert network_size(config).parameters == sum(parameter.numel() for parameter in nets.parameters())


def test_operations_by_hand() -> None:
    # 8×8, two convolutions of 2 and 4 filters, 8 hidden, 3 latents; multiplications of an image in a forward pass:
    config = VASEConfig.smoke((1, 8, 8)).with_values(
        {"network.channels": "2,4", "network.hidden": 8, "network.latents": 3}
    )
    encoder = 16 * 16 * 1 * 2 + 4 * 16 * 2 * 4 + 4 * 4 * 8 + 8 * 6
    broadcast = 3 * 8 + 8 * 4 + 4 * (2 * 4 + 4 * 4 + 16 * 4 * 2) + 16 * 16 * 2 * 1
    assert network_size(config).operations == 6 * (encoder + broadcast)  # two per product, and twice as many backward
    grown = 3 * 8 + 8 * 16 + 4 * 16 * 4 * 2 + 16 * 16 * 2 * 1
    transposed = config.with_values({"network.decoder": "transposed"})
    assert network_size(transposed).operations == 6 * (encoder + grown)


def test_a_huge_size_is_warned_of_with_a_better_one() -> None:
    config = VASEConfig.laptop((3, 480, 640))
    told = (
        r"19\.9 million parameters, about 14\.6 s per step of 64 images on one CPU core; use images of 48×64 \(from_f"
    )
    with pytest.warns(UserWarning, match=told):
        warn_if_huge(config)
    wide = VASEConfig.laptop((3, 64, 64)).with_values({"network.channels": "256,256,512,512"})
    with pytest.warns(UserWarning, match="use fewer channels"):
        warn_if_huge(wide)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_huge(VASEConfig.paper())
        warn_if_huge(VASEConfig.laptop((3, 48, 64)))


def test_the_learner_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size, "MOST_PARAMETERS", 1000)
    with pytest.warns(UserWarning, match="networks of 0.1 million parameters, about 0.0 s per step of 32 images"):
        VASE(VASEConfig.smoke((1, 16, 16)), device="cpu").encode(np.zeros((2, 16, 16), np.uint8))
