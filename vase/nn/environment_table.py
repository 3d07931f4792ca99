"""A table with one row per environment that grows without changing any earlier row."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

BLOCK = 8
"""Environments per block of rows."""


class EnvironmentTable(nn.Module):
    """Rows (K, width), one per environment, in blocks that are laid out ahead of use."""

    def __init__(self, width: int, std: float) -> None:
        super().__init__()
        self.width, self.std = width, std
        self.blocks = nn.ParameterList()

    @property
    def room(self) -> int:
        """Environments for which rows exist."""
        return BLOCK * len(self.blocks)

    def rows(self) -> Float[Tensor, "K width"]:
        """All rows."""
        return torch.cat(list(self.blocks)) if len(self.blocks) > 1 else self.blocks[0]

    def row(self, index: int) -> Float[Tensor, "width"]:
        """The row of one environment, writable in place."""
        return self.blocks[index // BLOCK][index % BLOCK]

    def append_block(self, generator: torch.Generator, device: torch.device) -> nn.Parameter:
        """Room for BLOCK more environments; returns the new parameter."""
        values = torch.randn(BLOCK, self.width, generator=generator) * self.std
        self.blocks.append(nn.Parameter(values.to(device)))
        return self.blocks[-1]

    def copy_blocks(self, source: EnvironmentTable) -> None:
        """Take over the blocks that `source` has and this copy lacks."""
        for block in list(source.blocks)[len(self.blocks) :]:
            self.blocks.append(nn.Parameter(block.detach().clone(), requires_grad=False))
