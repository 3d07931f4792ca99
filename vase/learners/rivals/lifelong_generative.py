"""Lifelong generative modelling (Ramapuram et al. 2017): a student learns from the world and from a teacher's samples.

A batch is a mixture in which the present world has the share of one world among all. On the teacher's samples, the
student's posterior is held to the teacher's.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from vase.config import VASEConfig
from vase.learners.arguments import require_number
from vase.learners.records import Step
from vase.learners.representation import encode_in_chunks
from vase.learners.rivals.generative_replay import GenerativeReplay
from vase.learners.rivals.vae import decode_mean
from vase.nn.likelihood import Images


def teacher_share(batch: int, past: int) -> int:
    """Images of a batch that come from the teacher: B·t/(t+1) after t worlds, and at least two that do not.

    >>> teacher_share(64, 0), teacher_share(64, 1), teacher_share(64, 2)
    (0, 32, 43)
    """
    return min(round(batch * past / (past + 1)), batch - 2)


def kl_between(
    mean: Float[Tensor, "B N"],
    log_var: Float[Tensor, "B N"],
    other_mean: Float[Tensor, "B N"],
    other_log_var: Float[Tensor, "B N"],
) -> Float[Tensor, "B"]:
    """KL(N(μ, σ²) ‖ N(μ', σ'²)) of diagonal Gaussians."""
    ratio = (log_var - other_log_var).exp()
    distance = (mean - other_mean).square() * (-other_log_var).exp()
    return 0.5 * (ratio + distance - 1 + other_log_var - log_var).sum(1)


class LifelongGenerative(GenerativeReplay):
    """ELBO on the mixture, plus `weight` times KL(q_student ‖ q_teacher) on the teacher's samples."""

    def __init__(
        self,
        config: VASEConfig | None = None,
        *,
        seed: int = 0,
        device: str = "auto",
        boundaries: str | int = "told",
        weight: float | str = 1.0,
    ) -> None:
        super().__init__(config, seed=seed, device=device, boundaries=boundaries)
        self.weight = require_number("weight", weight, float, minimum=0)

    def learn(self, x: Images) -> Step:
        """One gradient step on the mixture."""
        teacher, sampled = self.teacher.networks, teacher_share(len(x), self.teacher.past)
        if teacher is None or sampled < 1:
            return self.update(*self.loss(x))
        taught = decode_mean(self, teacher, self.noise(sampled, self.n_latents))
        loss, batch = self.loss(torch.cat([x[: len(x) - sampled], taught]))
        student = self.networks.encode(taught)[1:]
        consistency = kl_between(*student, *encode_in_chunks(teacher, taught)[1:]).mean()
        loss = loss + self.weight * consistency
        return self.update(loss, batch, loss=float(loss.detach()))
