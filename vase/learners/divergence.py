"""Training that diverges: found in the loss before it is learnt, and in the weights before they are saved."""

from __future__ import annotations

import math

import torch
from torch import nn

from vase.config import VASEConfig


def require_finite_loss(loss: float, step: int, config: VASEConfig) -> None:
    """Refuse to learn from a loss that is not a number."""
    if not math.isfinite(loss):
        raise _diverged(f"the loss became {loss}", step, config)


def require_finite_weights(networks: nn.Module, step: int, config: VASEConfig) -> None:
    """Refuse weights that nothing can be continued from."""
    norms = torch.stack(torch._foreach_norm([p.detach() for p in networks.parameters()]))
    if not bool(torch.isfinite(norms).all()):
        raise _diverged("weights became infinite or NaN", step, config)


def _diverged(what: str, step: int, config: VASEConfig) -> FloatingPointError:
    return FloatingPointError(
        f"{what} at step {step}: go back to a saved state with VASE.load(folder, config=...), and lower learning_rate "
        f"(now {config.learning_rate:g}) or capacity.gamma (now {config.capacity.gamma:g})."
    )
