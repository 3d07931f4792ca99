"""pythae's β-TCVAE and FactorVAE on the learner's own networks, as learners that can be trained and scored."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from pythae.models import BetaTCVAE as PythaeBetaTCVAE
from pythae.models import BetaTCVAEConfig, FactorVAEConfig
from pythae.models import FactorVAE as PythaeFactorVAE
from pythae.models.base.base_utils import ModelOutput
from pythae.models.nn import BaseDecoder, BaseEncoder
from torch import Tensor

from vase.config import VASEConfig
from vase.images import as_floats
from vase.nn.networks import Networks
from vase.nn.optim import adam

BETA = 6.0
"""Weight of the total correlation (Chen et al. 2018)."""
GAMMA = 10.0
"""That of the discriminator's (Kim and Mnih 2018, the least of their values for 3D shapes)."""


class _Encoder(BaseEncoder):
    def __init__(self, nets: Networks) -> None:
        super().__init__()
        self.part = nets.encoder

    def forward(self, x: Tensor) -> ModelOutput:
        mean, log_var = self.part(x)
        return ModelOutput(embedding=mean, log_covariance=log_var)


class _Decoder(BaseDecoder):
    def __init__(self, nets: Networks) -> None:
        super().__init__()
        self.part = nets.decoder

    def forward(self, z: Tensor) -> ModelOutput:
        label = torch.zeros(len(z), dtype=torch.long)
        return ModelOutput(reconstruction=torch.sigmoid(self.part(z, label)))


class _Peer:
    """A model of pythae with the optimiser and the learning rate of the configuration."""

    def __init__(self, config: VASEConfig, seed: int, make: Any, settings: Any) -> None:
        torch.manual_seed(seed)
        nets = Networks(config, torch.Generator().manual_seed(seed))
        self.model = make(settings, encoder=_Encoder(nets), decoder=_Decoder(nets))
        parts = [*self.model.encoder.parameters(), *self.model.decoder.parameters()]
        self.optimiser = adam(parts, config)

    def posterior(self, images: Any) -> tuple[Float[np.ndarray, "B N"], Float[np.ndarray, "B N"]]:
        """Mean and standard deviation of q(z|x)."""
        with torch.no_grad():
            out = self.model.encoder(floats(images))
        return out.embedding.numpy(), (0.5 * out.log_covariance).exp().numpy()


class BetaTCVAE(_Peer):
    """Chen et al. 2018, by minibatch stratified sampling."""

    def __init__(self, config: VASEConfig, seed: int) -> None:
        super().__init__(config, seed, PythaeBetaTCVAE, BetaTCVAEConfig(**shape(config), beta=BETA))

    def partial_fit(self, images: Any) -> None:
        """One step on a batch."""
        loss = self.model({"data": floats(images)}, dataset_size=60_000).loss
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()


class FactorVAE(_Peer):
    """Kim and Mnih 2018. Half of each batch trains the VAE, and the other half the discriminator, as pythae has it."""

    def __init__(self, config: VASEConfig, seed: int) -> None:
        super().__init__(config, seed, PythaeFactorVAE, FactorVAEConfig(**shape(config), gamma=GAMMA))
        self.judges = list(self.model.discriminator.parameters())
        self.judging = adam(self.judges, config)

    def partial_fit(self, images: Any) -> None:
        """One step of the VAE and one of the discriminator."""
        out = self.model({"data": floats(images)})
        self.optimiser.zero_grad()
        out.autoencoder_loss.backward(retain_graph=True)
        self.judging.zero_grad()
        out.discriminator_loss.backward(inputs=self.judges)
        self.optimiser.step()
        self.judging.step()


def floats(images: Any) -> Tensor:
    """uint8 images (B, C, H, W) in [0, 1]."""
    return torch.from_numpy(as_floats(images))


def shape(config: VASEConfig) -> dict[str, Any]:
    """What every model of pythae is told."""
    return {
        "input_dim": config.image_shape,
        "latent_dim": config.network.latents,
        "reconstruction_loss": "bce",
    }
