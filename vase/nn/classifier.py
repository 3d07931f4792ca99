"""The environment classifier q(s|x) (App. A.1)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vase.nn.environment_table import EnvironmentTable


class EnvironmentClassifier(nn.Module):
    """ψ: a linear layer from the encoder's features to the environments seen. Its gradients stop at the features."""

    def __init__(self, n_features: int) -> None:
        super().__init__()
        self.environments = EnvironmentTable(n_features, std=n_features**-0.5)

    def forward(self, h: Float[Tensor, "B F"], count: int) -> Float[Tensor, "B K"]:
        """Logits of q(s|x) over the first `count` environments."""
        h = h.detach()
        return torch.cat([h @ block.T for block in self.environments.blocks], 1)[:, :count]
