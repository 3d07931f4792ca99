"""What decisions depend on: the statistics of one batch, seen through one environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vase.config import VASEConfig
from vase.method.atypicality import moments
from vase.nn.likelihood import Images

LOSS_TERMS = ("loss", "reconstruction", "deviance", "kl", "dream_encoder", "dream_decoder", "classifier")
"""The losses of a batch that is learnt, by the names of `Step`."""
MIN_BATCH_FOR_ATYPICALITY = 16
"""Images a batch must have for its atypicality to count: in smaller ones typical latents look atypical by chance."""
_TERMS = 5


@dataclass(frozen=True, eq=False)
class BatchStatistics:
    """One batch, seen through one environment: its images, its losses and the atypicality of each latent."""

    images: Images
    """Of several workers, this worker's shard."""
    losses: Mapping[str, float]
    """"reconstruction" and "deviance"; of a batch that is being learnt, all LOSS_TERMS."""
    atypicality: Float[Tensor, "N"]
    """α_n (Eq. 4)."""
    n_images: int
    """Images of the whole batch."""
    candidate: int | None = None
    """ŝ: the classifier's environment for the batch, if it was asked."""
    moments: Float[Tensor, "3 N"] | None = None
    """Of q(z|x) (`method.atypicality.moments`), of a batch that is being learnt."""
    recent: BatchStatistics | None = None
    """The last batches of the environment as the same weights see them now, if they were asked."""

    @property
    def tells_atypicality(self) -> bool:
        """Whether the batch is large enough for its atypicality to count."""
        return self.n_images >= MIN_BATCH_FOR_ATYPICALITY


def to_vector(
    terms: list[Float[Tensor, ""]],
    kl: Float[Tensor, "N"],
    mean: Float[Tensor, "B N"],
    log_var: Float[Tensor, "B N"],
    logits: Float[Tensor, "B K"],
) -> Float[Tensor, "F"]:
    """Everything that a decision depends on, in one vector: one transfer from the device, one exchange of workers.

    Five terms (reconstruction, deviance, dream encoder, dream decoder, classifier), the KL of each latent, moments of
    q(z|x), q(s|x). Every number is a mean over the batch, so that the mean over workers is that of the whole batch.
    """
    with torch.no_grad():
        return torch.cat([torch.stack(terms), kl, moments(mean, log_var).flatten(), logits.softmax(1).mean(0)])


def kl_in(vector: Float[Tensor, "F"], n_latents: int) -> Float[Tensor, "N"]:
    """The KL of each latent in a vector."""
    return vector[_TERMS : _TERMS + n_latents]


def from_vector(
    vector: Float[Tensor, "F"], pressure: Float[Tensor, ""], n_latents: int, config: VASEConfig
) -> tuple[dict[str, float], Float[Tensor, "3 N"], int]:
    """LOSS_TERMS, moments and ŝ from `to_vector`, with the capacity and independence terms, which are in no vector."""
    *host, added = (
        torch.cat([vector, pressure.detach()[None]])
        .cpu()
        .split([_TERMS, n_latents, 3 * n_latents, len(vector) - _TERMS - 4 * n_latents, 1])
    )
    terms, kl, statistics, votes = host
    nll, deviance, encoder, decoder, classifier = terms.tolist()
    balance, weights = config.reconstruction_weight, config.dreaming
    loss = balance * nll + float(added) + weights.encoder_weight * encoder
    loss = loss + balance * weights.decoder_weight * decoder + classifier
    values = (loss, nll, deviance, float(kl.sum()), encoder, decoder, classifier)
    losses = dict(zip(LOSS_TERMS, values, strict=True))
    return losses, statistics.view(3, n_latents), int(votes.argmax())
