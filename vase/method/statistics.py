"""What decisions depend on, in one vector: one exchange between workers and one transfer from the device per step."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vase.config import DreamConfig
from vase.method.atypicality import kl_of_moments, moments

TERMS = ("loss", "reconstruction", "deviance", "kl", "dream_encoder", "dream_decoder", "classifier")
"""Numbers that a learnt batch has and a held one lacks, by the names of `Step`."""
_TERMS = 5


def pack(
    terms: list[Float[Tensor, ""]],
    kl: Float[Tensor, "N"],
    mean: Float[Tensor, "B N"],
    log_var: Float[Tensor, "B N"],
    logits: Float[Tensor, "B K"],
) -> Float[Tensor, "F"]:
    """Five terms (reconstruction, deviance, dream encoder, dream decoder, classifier), KL, moments of q(z|x), q(s|x).

    Every number is a mean over the batch, so that the mean over workers is that of the whole batch.
    """
    with torch.no_grad():
        return torch.cat([torch.stack(terms), kl, moments(mean, log_var).flatten(), logits.softmax(1).mean(0)])


def kl_in(vector: Float[Tensor, "F"], n_latents: int) -> Float[Tensor, "N"]:
    """The KL of each latent in a packed vector."""
    return vector[_TERMS : _TERMS + n_latents]


@dataclass(frozen=True)
class Facts:
    """One batch as the learner judges it."""

    numbers: dict[str, float]
    """TERMS with their values."""
    alpha: Float[Tensor, "N"]
    """α (Eq. 4)."""
    candidate: int
    """ŝ: the classifier's environment for the batch."""

    @classmethod
    def of(cls, vector: Float[Tensor, "F"], capacity: Float[Tensor, ""], n_latents: int, weights: DreamConfig) -> Facts:
        """Unpack a vector, with the capacity term that was made from it."""
        *host, added = (
            torch.cat([vector, capacity.detach()[None]])
            .cpu()
            .split([_TERMS, n_latents, 3 * n_latents, len(vector) - _TERMS - 4 * n_latents, 1])
        )
        terms, kl, statistics, votes = host
        nll, deviance, encoder, decoder, classifier = terms.tolist()
        loss = nll + float(added) + weights.encoder_weight * encoder + weights.decoder_weight * decoder + classifier
        values = (loss, nll, deviance, float(kl.sum()), encoder, decoder, classifier)
        numbers = dict(zip(TERMS, values, strict=True))
        return cls(numbers, kl_of_moments(statistics.view(3, n_latents)), int(votes.argmax()))
