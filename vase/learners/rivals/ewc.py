"""Elastic weight consolidation (Kirkpatrick et al. 2017) on the ELBO, as in Nguyen et al. 2018."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from vase.config import VASEConfig
from vase.learners.arguments import require_number
from vase.learners.records import Step
from vase.learners.rivals.penalised import Penalised, RecentImages
from vase.learners.rivals.penalty import mean_of_gradients
from vase.learners.rivals.reservoir import from_bytes
from vase.method.capacity import kl_per_latent, sample_posterior
from vase.nn.likelihood import Images


class EWC(Penalised):
    """F = N·mean(∂ELBO/∂θ)², over single images of a world that ended; then ½·λ·ΣF(θ − θ*)²/N beside the loss.

    N is the number of images of that world. The mean is over its last `images`.
    """

    def __init__(
        self,
        config: VASEConfig | None = None,
        *,
        seed: int = 0,
        device: str = "auto",
        boundaries: str | int = "told",
        strength: float | str = 10.0,
        images: int | str = 512,
    ) -> None:
        super().__init__(config, seed=seed, device=device, boundaries=boundaries, strength=strength)
        self.recent = RecentImages(require_number("images", images, int, minimum=1))
        self.fisher = Scale()
        self.parts |= {"recent": self.recent, "fisher": self.fisher}

    def cross_boundary(self) -> None:
        """Measure what the weights mean to the world that ended; one without images means nothing."""
        if not self.recent.seen:
            return
        x = from_bytes(self.recent.images, self.device)
        squares = mean_of_gradients(self.negative_elbo, x, self.penalty.weights, torch.square)
        scale = self.fisher.next(self.recent.seen)
        self.penalty.importance = [before * scale for before in self.penalty.importance]
        self.penalty.add(squares)
        self.recent.clear()

    def negative_elbo(self, x: Images) -> Float[Tensor, ""]:
        """−ELBO of images, weighted as the configuration weights it."""
        _, mean, log_var = self.networks.encode(x)
        z = sample_posterior(mean, log_var, self.active, self.noise(*mean.shape))
        y = self.networks.decode(z, torch.zeros(len(x), dtype=torch.long, device=self.device))
        kl = kl_per_latent(mean, log_var, self.active).sum()
        return self.config.reconstruction_weight * self.likelihood.nll(y, x).mean() + kl

    def learn(self, x: Images) -> Step:
        """One gradient step, and the images are kept for the end of their world."""
        step = super().learn(x)
        self.recent.add(x)
        return step


class Scale:
    """N, by which all Fisher information is divided: the size of the last world that ended.

    F is N times a mean and the penalty is divided by N, so that the last world enters by its mean, and an earlier one
    by its mean times the ratio of the two sizes.
    """

    def __init__(self) -> None:
        self.size = 0

    def next(self, size: int) -> float:
        """What importances relative to the old N are multiplied by, now that N is `size`."""
        before, self.size = self.size, size
        return before / size if before else 1.0

    def state_dict(self) -> dict[str, Any]:
        """N."""
        return {"size": self.size}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.size = state["size"]
