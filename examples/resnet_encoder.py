"""An encoder of your own: a small residual network in place of the paper's convolutions.

    python examples/resnet_encoder.py

An encoder maps images (B, C, H, W) to features (B, F); VASE adds the head that gives q(z|x). A decoder of your own maps
(B, hidden) to images. Both are copied, and keep the weights that you give them, pretrained ones too.
"""

from __future__ import annotations

import tempfile

import torch
from torch import Tensor, nn

from vase import VASE, VASEConfig
from vase.worlds import Schedule


class Residual(nn.Module):
    """Two 3×3 convolutions beside a shortcut; the first halves height and width."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride=2, padding=1)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.shortcut = nn.Conv2d(inputs, outputs, 1, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        """Features at half the size."""
        return torch.relu(self.second(torch.relu(self.first(x))) + self.shortcut(x))


class ResNet(nn.Sequential):
    """Residual blocks, an average over the image, and 64 features."""

    def __init__(self, channels: int = 1, seed: int = 0) -> None:
        with torch.random.fork_rng():
            torch.manual_seed(seed)  # its weights are yours to decide
            super().__init__(
                Residual(channels, 16), Residual(16, 32), Residual(32, 64), nn.AdaptiveAvgPool2d(2), nn.Flatten()
            )


def main() -> tuple[VASE, VASE]:
    """Train on two small worlds, save, and load again with the encoder passed once more."""
    model = VASE(VASEConfig.smoke(), seed=0, encoder=ResNet())
    for batch in Schedule.parse("digits:28,glyphs:16", steps=100, batch_size=32):
        step = model.partial_fit(batch.images)
    print(f"{len(model.environments)} environments, deviance {step.deviance:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        try:
            VASE.load(folder)
        except ValueError as error:
            print(error)
        return model, VASE.load(folder, encoder=ResNet())


if __name__ == "__main__":
    main()
