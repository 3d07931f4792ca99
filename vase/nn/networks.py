"""All networks of one learner: encoder φ, decoder θ and environment classifier ψ (App. A.1)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from vase.config import VASEConfig
from vase.nn.classifier import EnvironmentClassifier
from vase.nn.decoder import BroadcastImage, Decoder, DeconvImage, check_image
from vase.nn.encoder import ConvFeatures, Encoder, count_features
from vase.nn.init import initialise
from vase.nn.modes import evaluating

Sampler = Callable[[Tensor, Tensor], Tensor]
"""Mean and log-variance of q(z|x) → what the decoder gets."""


class Networks(nn.Module):
    """Encoder, decoder and classifier, with room for environments that grows together.

    Args:
      config: sizes and initialisation.
      generator: all weights are drawn from it.
      encoder: a module from images to features (B, F), instead of the paper's convolutions.
      decoder: a module from (B, hidden) to images, instead of the one that the configuration names.

    Modules that are passed are copied, and keep the weights they have.
    """

    def __init__(
        self,
        config: VASEConfig,
        generator: torch.Generator,
        encoder: nn.Module | None = None,
        decoder: nn.Module | None = None,
    ) -> None:
        super().__init__()
        net, shape = config.network, config.image_shape
        features = ConvFeatures(shape, net.channels, net.hidden) if encoder is None else copy.deepcopy(encoder)
        make_image = BroadcastImage if net.decoder == "broadcast" else DeconvImage
        image = make_image(shape, net.channels, net.hidden) if decoder is None else copy.deepcopy(decoder)
        n_features = net.hidden if encoder is None else count_features(features, shape)
        if decoder is not None:
            check_image(image, net.hidden, shape)
        self.reduced = False
        self.encoder = Encoder(features, n_features, net.latents)
        self.decoder = Decoder(image, net.latents, net.hidden)
        self.classifier = EnvironmentClassifier(n_features)
        drawn = [features] if encoder is None else []
        drawn += [self.encoder.posterior, self.decoder.from_latents, *([image] if decoder is None else [])]
        for part in drawn:
            initialise(part, net.init, generator)
            part.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # a tenth faster on a CPU
        self.has_modes = encoder is not None or decoder is not None  # training and evaluation may differ
        self.grow(1, generator)

    @property
    def room(self) -> int:
        """Environments for which rows exist."""
        return self.classifier.environments.room

    def grow(self, count: int, generator: torch.Generator) -> list[nn.Parameter]:
        """Make room for `count` environments without changing any output; returns the new parameters, if any."""
        device = self.encoder.posterior.weight.device
        new = []
        while self.room < count:
            for table in (self.decoder.environments, self.classifier.environments):
                new.append(table.append_block(generator, device))
        return new

    def copy_room(self, source: Networks) -> None:
        """Take over the environments' rows that `source` has and this copy lacks."""
        self.decoder.environments.copy_blocks(source.decoder.environments)
        self.classifier.environments.copy_blocks(source.classifier.environments)

    def forward(
        self, x: Float[Tensor, "B C H W"], sample: Sampler, s: Int[Tensor, "B"], count: int
    ) -> tuple[Float[Tensor, "B N"], Float[Tensor, "B N"], Float[Tensor, "B C H W"], Float[Tensor, "B K"]]:
        """Mean and log-variance of q(z|x), the decoder's output for `sample(mean, log_var)`, and logits of q(s|x)."""
        h, mean, log_var = self.encode(x)
        return mean, log_var, self.decode(sample(mean, log_var), s), self.classify(h, count)

    def encode(
        self, x: Float[Tensor, "B C H W"]
    ) -> tuple[Float[Tensor, "B F"], Float[Tensor, "B N"], Float[Tensor, "B N"]]:
        """Features h, and mean and log-variance of q(z|x)."""
        with self._precision(x), self._mode():
            h = self.encoder.features(x)
        h = h.float() if self.reduced else h
        return h, *self.encoder.head(h)

    def decode(self, z: Float[Tensor, "B N"], s: Int[Tensor, "B"]) -> Float[Tensor, "B C H W"]:
        """Parameters of p(x|z,s)."""
        with self._precision(z), self._mode():
            y = self.decoder(z, s)
        return y.float() if self.reduced else y

    def classify(self, h: Float[Tensor, "B F"], count: int) -> Float[Tensor, "B K"]:
        """Logits of q(s|x) over the environments seen."""
        return self.classifier(h, count)

    def _precision(self, like: Tensor) -> AbstractContextManager[Any]:
        """bfloat16, if wanted, for passes that are differentiated; those that decide something are float32."""
        half = self.reduced and torch.is_grad_enabled()
        return torch.autocast(like.device.type, torch.bfloat16) if half else nullcontext()

    def _mode(self) -> AbstractContextManager[Any]:
        """Evaluation mode for passes that are not differentiated; the paper's networks have only one mode."""
        return evaluating(self) if self.has_modes and self.training and not torch.is_grad_enabled() else nullcontext()

    def reseed(self, latents: list[int], generator: torch.Generator, *, decoder_std: float = 1.0) -> None:
        """Fresh weights next to latents that no environment uses; `decoder_std` 0 keeps the decoder's outputs."""
        self.decoder.reseed(latents, generator, std=decoder_std)
        self.encoder.reseed(latents, generator)

    def rotate(self, latents: Int[Tensor, "n"], matrix: Float[Tensor, "n n"], shares: Float[Tensor, "n n"]) -> None:
        """Another basis of some latents: z becomes Mz, and reconstructions of means stay as they are."""
        like = self.encoder.posterior.weight
        latents, matrix = latents.to(like.device), matrix.to(like)
        self.encoder.rotate(latents, matrix, shares.to(like))
        self.decoder.rotate(latents, matrix)

    def standardise(self, latents: Int[Tensor, "n"], mean: Float[Tensor, "n"], std: Float[Tensor, "n"], s: int) -> None:
        """Another origin and unit of some latents: z becomes (z − mean)/std, outputs in environment s stay the same."""
        like = self.encoder.posterior.weight
        latents, mean, std = latents.to(like.device), mean.to(like), std.to(like)
        self.encoder.standardise(latents, mean, std)
        self.decoder.standardise(latents, mean, std, s)

    def weights_of(self, latents: list[int]) -> list[tuple[Tensor, tuple[Any, ...]]]:
        """The weights next to some latents, as (parameter, index) pairs."""
        posterior, n = self.encoder.posterior, self.decoder.from_latents.in_features
        rows = latents + [n + i for i in latents]
        assert posterior.bias is not None
        return [
            (self.decoder.from_latents.weight, (slice(None), latents)),
            (posterior.weight, (rows,)),
            (posterior.bias, (rows,)),
        ]
