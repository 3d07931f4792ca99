"""Memory-aware synapses (Aljundi et al. 2018): weights are held by how much the network's output depends on them."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from vase.config import VASEConfig
from vase.learners.arguments import require_number
from vase.learners.records import Step
from vase.learners.rivals.penalised import Penalised, RecentImages
from vase.learners.rivals.penalty import mean_of_gradients
from vase.learners.rivals.reservoir import from_bytes
from vase.method.capacity import sample_posterior
from vase.nn.likelihood import Images


class MAS(Penalised):
    """Ω = mean |∂‖F(x)‖²/∂θ| over single images, averaged over boundaries; λ·ΣΩ(θ − θ*)² beside the loss.

    F(x) is the reconstruction E[x|z] of a sampled code; θ* are the weights at the last boundary. Without boundaries it
    consolidates every 100 batches. `strength` is λ, `images` the number of last images that are looked at.
    """

    def __init__(
        self,
        config: VASEConfig | None = None,
        *,
        seed: int = 0,
        device: str = "auto",
        boundaries: str | int = 100,
        strength: float | str = 100.0,
        images: int | str = 64,
    ) -> None:
        half = require_number("strength", strength, float, minimum=0)
        super().__init__(config, seed=seed, device=device, boundaries=boundaries, strength=2 * half)
        self.recent = RecentImages(require_number("images", images, int, minimum=1))
        self.parts["recent"] = self.recent

    def cross_boundary(self) -> None:
        """Average the sensitivities of the output over this boundary and those before."""
        if not self.recent.seen:
            return
        x = from_bytes(self.recent.images, self.device)
        new = mean_of_gradients(self.squared_norm, x, self.penalty.weights, torch.abs)
        share = 1 / (self.penalty.count + 1)
        self.penalty.replace([torch.lerp(*pair, share) for pair in zip(self.penalty.importance, new, strict=True)])

    def squared_norm(self, x: Images) -> Float[Tensor, ""]:
        """‖F(x)‖², summed over images."""
        _, mean, log_var = self.networks.encode(x)
        z = sample_posterior(mean, log_var, self.active, self.noise(*mean.shape))
        y = self.networks.decode(z, torch.zeros(len(x), dtype=torch.long, device=self.device))
        return self.likelihood.mean(y).square().sum()

    def learn(self, x: Images) -> Step:
        """One gradient step, and the images are kept for the next consolidation."""
        step = super().learn(x)
        self.recent.add(x)
        return step
