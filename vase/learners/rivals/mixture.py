"""The networks of CURL: a VAE whose code belongs to one of several components, each with its own head and prior."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from vase.config import VASEConfig
from vase.nn.encoder import LOG_VAR_RANGE
from vase.nn.likelihood import Images
from vase.nn.networks import Networks


class MixtureNetworks(Networks):
    """q(y|x), q(z|x,y) and p(z|y) for `room` components, which share the encoder's features and the decoder."""

    def __init__(self, config: VASEConfig, generator: torch.Generator, room: int) -> None:
        super().__init__(config, generator)
        posterior, n = self.encoder.posterior, config.network.latents
        assert posterior.bias is not None
        self.cluster_weight = nn.Parameter(torch.zeros(room, posterior.in_features))
        self.cluster_bias = nn.Parameter(torch.zeros(room))
        self.head_weight = nn.Parameter(posterior.weight.detach().clone().repeat(room, 1, 1))
        self.head_bias = nn.Parameter(posterior.bias.detach().clone().repeat(room, 1))
        self.prior_mean = nn.Parameter(torch.zeros(room, n))
        self.prior_log_var = nn.Parameter(torch.zeros(room, n))

    @property
    def component_parameters(self) -> list[nn.Parameter]:
        """Everything that belongs to single components."""
        heads = [self.cluster_weight, self.cluster_bias, self.head_weight, self.head_bias]
        return [*heads, self.prior_mean, self.prior_log_var]

    def log_clusters(self, h: Float[Tensor, "B F"], count: int) -> Float[Tensor, "B K"]:
        """log q(y|x) over the first `count` components."""
        return (h @ self.cluster_weight[:count].T + self.cluster_bias[:count]).log_softmax(1)

    def heads(self, h: Float[Tensor, "B F"], count: int) -> tuple[Float[Tensor, "B K N"], Float[Tensor, "B K N"]]:
        """Mean and log-variance of q(z|x,y) for the first `count` components."""
        out = torch.einsum("bf,kof->bko", h, self.head_weight[:count]) + self.head_bias[:count]
        mean, log_var = out.chunk(2, 2)
        return mean, log_var.clamp(*LOG_VAR_RANGE)

    @torch.no_grad()
    def copy_component(self, source: int, target: int) -> None:
        """Let one component begin as another is."""
        for parameter in self.component_parameters:
            parameter[target] = parameter[source]

    @torch.no_grad()
    def codes(self, x: Images, count: int) -> tuple[Float[Tensor, "B K"], Float[Tensor, "B N"], Float[Tensor, "B N"]]:
        """q(y|x), and mean and log-variance of q(z|x,ŷ) for the likeliest component ŷ of each image."""
        h = self.encode(x)[0]
        q, (mean, log_var) = self.log_clusters(h, count).exp(), self.heads(h, count)
        rows = torch.arange(len(x), device=x.device), q.argmax(1)
        return q, mean[rows], log_var[rows]

    def sample_prior(self, y: Int[Tensor, "B"], noise: Float[Tensor, "B N"]) -> Float[Tensor, "B N"]:
        """z ~ p(z|y)."""
        return self.prior_mean[y] + torch.exp(0.5 * self.prior_log_var[y]) * noise


def mixture_loss(
    cost: Float[Tensor, "P"], rows: Int[Tensor, "P"], weights: Float[Tensor, "P"], log_q: Float[Tensor, "B K"]
) -> Float[Tensor, "B"]:
    """−ELBO of each image: Σ_y q(y|x)·(−log p(x|z_y) + KL(q(z|x,y) ‖ p(z|y))) + KL(q(y|x) ‖ uniform).

    `cost` is what stands in brackets, for pairs of images and components; `rows` are the images of the pairs and
    `weights` their q(y|x).
    """
    expected = torch.zeros(len(log_q), dtype=cost.dtype, device=cost.device).index_add(0, rows, weights * cost)
    return expected + (log_q.exp() * log_q).sum(1) + math.log(log_q.shape[1])
