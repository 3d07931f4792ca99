"""Recruiting spare latents: fresh weights and a KL warm-up for latents that no environment uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vase.config import RecruitConfig


class LatentRecruiter:
    """Remembers when each latent was recruited, and how much its KL counts since then."""

    def __init__(self, config: RecruitConfig, n_latents: int) -> None:
        self.config = config
        self.recruited_at = torch.full((n_latents,), -1, dtype=torch.long)
        """Step at which each latent was last recruited; −1 for never."""

    def recruit(self, latents: Bool[Tensor, "N"], step: int) -> None:
        """Start the warm-up of some latents."""
        self.recruited_at[latents] = step

    def kl_warmup(self, step: int) -> Float[Tensor, "N"] | None:
        """The weight of each latent's KL, from 0 when it is recruited to 1; None if all have full weight."""
        steps = self.config.warmup_steps
        if steps == 0 or int(self.recruited_at.max()) < 0:
            return None
        share = ((step - self.recruited_at) / steps).clamp(0, 1)
        return torch.where(self.recruited_at < 0, 1.0, share)

    def state_dict(self) -> dict[str, Any]:
        """When each latent was recruited."""
        return {"recruited_at": self.recruited_at}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.recruited_at = state["recruited_at"].clone()
