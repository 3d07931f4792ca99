"""The Adam of learners, and its state by the names of parameters: the only place that makes, saves and changes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from vase.config import VASEConfig
from vase.nn.networks import Networks


def adam(parameters: Iterable[nn.Parameter], config: VASEConfig) -> torch.optim.Adam:
    """Adam as the configuration asks for it."""
    return torch.optim.Adam(parameters, lr=config.learning_rate, betas=(0.9, config.adam_beta2), fused=True)


def optimiser_state(optimiser: torch.optim.Optimizer, module: nn.Module) -> dict[str, dict[str, Tensor]]:
    """Parameter name -> moment -> tensor."""
    found = ((name, optimiser.state.get(parameter)) for name, parameter in module.named_parameters())
    return {name: dict(moments) for name, moments in found if moments}


def load_optimiser_state(
    optimiser: torch.optim.Optimizer, module: nn.Module, state: Mapping[str, Mapping[str, Any]]
) -> None:
    """Restore `optimiser_state`, each moment in the memory layout and on the device of its parameter."""
    optimiser.state.clear()
    parameters = dict(module.named_parameters())
    for name, moments in state.items():
        parameter = parameters[name]
        for moment, value in moments.items():
            like = parameter if value.ndim else torch.empty_like(value, device=parameter.device)
            optimiser.state[parameter][moment] = torch.empty_like(like).copy_(value)


def forget_moments(optimiser: torch.optim.Optimizer, networks: Networks, latents: list[int]) -> None:
    """No moments for the weights next to some latents, which have been drawn anew or rescaled."""
    for parameter, index in networks.weights_of(latents):
        for moment in ("exp_avg", "exp_avg_sq"):
            if parameter in optimiser.state:
                optimiser.state[parameter][moment][index] = 0


@torch.no_grad()
def rotate_moments(
    optimiser: torch.optim.Optimizer,
    networks: Networks,
    latents: Int[Tensor, "n"],
    matrix: Float[Tensor, "n n"],
    shares: Float[Tensor, "n n"],
) -> None:
    """The moments that belong to `networks.rotate`: first ones change as gradients do, second ones are averages."""
    head, into = networks.encoder.posterior, networks.decoder.from_latents.weight
    latents, matrix, shares = latents.to(into.device), matrix.to(into), shares.to(into)
    n, back = into.shape[1], torch.linalg.inv(matrix).T
    if state := optimiser.state.get(into):
        state["exp_avg"][:, latents] = state["exp_avg"][:, latents] @ matrix.T
        state["exp_avg_sq"][:, latents] = state["exp_avg_sq"][:, latents] @ shares.T
    for parameter in (head.weight, head.bias):
        if parameter is not None and (state := optimiser.state.get(parameter)):
            first, second = state["exp_avg"], state["exp_avg_sq"]
            first[latents], first[latents + n] = back @ first[latents], shares @ first[latents + n]
            second[latents], second[latents + n] = shares @ second[latents], shares @ second[latents + n]
