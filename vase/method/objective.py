"""The objective of one batch: Eq. 8, weighted as in App. A.3, plus the classifier's L_env."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from vase.config import VASEConfig
from vase.distributed import Distributed
from vase.method.atypicality import kl_of_moments
from vase.method.capacity import capacity_target, capacity_term, kl_per_latent
from vase.method.dream_buffer import Dreams
from vase.method.dreaming import encoder_proximity
from vase.method.statistics import BatchStatistics, from_vector, kl_in, to_vector
from vase.nn.likelihood import Images, Likelihood


@dataclass(frozen=True, eq=False)
class Outputs:
    """One pass of the networks over a batch, followed by the dreams."""

    mean: Float[Tensor, "B N"]
    log_var: Float[Tensor, "B N"]
    y: Images
    """The decoder's outputs."""
    logits: Float[Tensor, "B K"]
    """Of q(s|x)."""


@dataclass(frozen=True)
class Objective:
    """Turns the outputs of a pass into the loss that is differentiated, and into the statistics of the batch."""

    config: VASEConfig
    likelihood: Likelihood

    def __call__(
        self,
        out: Outputs,
        x: Images,
        s: Int[Tensor, "B"],
        active: Bool[Tensor, "N"],
        dreams: Dreams | None,
        *,
        step: int,
        kl_warmup: Float[Tensor, "N"] | None,
        independence: Float[Tensor, ""] | None = None,
        workers: Distributed,
    ) -> tuple[Float[Tensor, ""], BatchStatistics]:
        """(loss, statistics) of the batch x in environment s."""
        c, b, p = self.config, len(x), self.likelihood
        target = x if dreams is None else torch.cat([x, dreams.target])
        errors = p.nll(out.y, target)
        nll, here = errors[:b].mean(), (out.mean[:b], out.log_var[:b])
        kl = kl_per_latent(*here, active)
        classifier = F.cross_entropy(out.logits[:b], s)
        encoder = decoder = nll.new_zeros(())
        if dreams is not None:
            past = out.mean[b:], out.log_var[b:]
            encoder = encoder_proximity(*past, dreams.mean, dreams.log_var, dreams.gate).mean()
            decoder = (errors[b:] - dreams.floor).mean()  # KL(p_old ‖ p_new): −log p of the target above its floor
            classifier = classifier + F.cross_entropy(out.logits[b:], dreams.s)
        deviance = nll.detach() - p.floor(target[:b]).mean()
        vector = workers.mean(to_vector([nll, deviance, encoder, decoder, classifier], kl, *here, out.logits[:b]))
        n = len(active)
        if workers.size > 1:  # the value of the whole batch with the gradient of this worker's shard
            kl = kl + (kl_in(vector, n) - kl).detach()
        capacity = capacity_term(kl, capacity_target(step, c.capacity), c.capacity, kl_warmup)
        pressure = capacity if independence is None else capacity + independence
        balance = c.reconstruction_weight
        loss = balance * nll + pressure + classifier
        if dreams is not None:
            loss = loss + c.dreaming.encoder_weight * encoder + balance * c.dreaming.decoder_weight * decoder
        losses, statistics, candidate = from_vector(vector, pressure, n, c)
        alpha = kl_of_moments(statistics)
        return loss, BatchStatistics(x, losses, alpha, b * workers.size, candidate, statistics)
