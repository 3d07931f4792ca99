"""The state of an optimiser by the names of its parameters: the only place that saves and restores one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn


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
