"""Deep generative replay (Shin et al. 2017): images of a frozen copy stand for the worlds before the last boundary."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from vase.config import VASEConfig
from vase.learners.records import Step
from vase.learners.rivals.boundaries import Bounded
from vase.learners.rivals.teacher import Teacher
from vase.learners.rivals.vae import decode_mean
from vase.nn.likelihood import Images


def weighted_loss(new: Float[Tensor, ""], replayed: Float[Tensor, ""], worlds: int) -> Float[Tensor, ""]:
    """(1/t)·new + (1−1/t)·replayed in the t-th world: every world counts the same."""
    return new / worlds + (1 - 1 / worlds) * replayed


class GenerativeReplay(Bounded):
    """At each boundary the networks are frozen; every later batch is joined by as many images of the frozen ones."""

    def __init__(
        self, config: VASEConfig | None = None, *, seed: int = 0, device: str = "auto", boundaries: str | int = "told"
    ) -> None:
        super().__init__(config, seed=seed, device=device, boundaries=boundaries)
        self.teacher = Teacher(self.networks)
        self.parts["teacher"] = self.teacher

    def cross_boundary(self) -> None:
        """Freeze a copy."""
        self.teacher.follow()

    def learn(self, x: Images) -> Step:
        """One gradient step on the batch and on replayed images."""
        loss, batch = self.loss(x)
        if self.teacher.networks is not None:
            z = self.noise(len(x), self.n_latents)
            replayed = decode_mean(self, self.teacher.networks, z)
            loss = weighted_loss(loss, self.loss(replayed, independence=False)[0], self.teacher.past + 1)
        return self.update(loss, batch, loss=float(loss.detach()))
