"""Columns of rows: what a step and a switch say of themselves, whatever stream they come from."""

from __future__ import annotations

import math
from typing import Any

from vase.learners.records import Step

_LOSSES = ("loss", "reconstruction", "deviance", "kl", "capacity", "dream_encoder", "dream_decoder", "classifier")


def step_columns(step: Step) -> dict[str, Any]:
    """Environment, losses, latents and evidence of one batch; None for what JSON cannot hold."""
    return {
        "environment": step.environment,
        "held": step.held,
        **{name: finite(getattr(step, name)) for name in _LOSSES},
        "atypicality": [finite(value) for value in step.atypicality.tolist()],
        "mask": step.mask.tolist(),
        **_evidence(step),
    }


def switch_columns(step: Step) -> dict[str, Any]:
    """Why the environment was announced to have changed, and what changed."""
    return {
        "reasons": list(step.reasons),
        **_evidence(step),
        "posterior": [finite(value) for value in step.posterior.tolist()],
        "change": None if step.change is None else step.change.to_row(),
        **({} if step.retired is None else {"retired": step.retired}),
    }


def _evidence(step: Step) -> dict[str, float | None]:
    """How strange the batch was; None where nothing was tested."""
    return {"p_value": finite(step.p_value), "effect": finite(step.effect)}


def finite(value: float) -> float | None:
    """A number with the seven digits that float32 holds; None for what JSON cannot hold."""
    return float(f"{value:.7g}") if math.isfinite(value) else None
