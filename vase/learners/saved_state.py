"""Checks of a saved learner: its weights must fit its configuration before anything is built from it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from torch import Tensor

from vase.checkpoint import CheckpointError
from vase.config import VASEConfig
from vase.nn.encoder import grid_size
from vase.nn.environment_table import BLOCK

_FIELDS = ("config", "seed", "custom", "step", "reduced", "environments", "networks", "optimiser", "memory", "detector")
Shapes = dict[str, tuple[int, ...]]


def saved_config(state: Mapping[str, Any]) -> VASEConfig:
    """The configuration of a saved learner."""
    for name in _FIELDS:
        if name not in state:
            raise CheckpointError(f"the saved learner has no {name!r}: not a saved VASE learner, use another copy.")
    try:
        return VASEConfig.from_dict(state["config"])
    except (TypeError, ValueError) as error:
        raise CheckpointError(
            f"the configuration of the saved learner cannot be read ({error}): another version of the package saved "
            "it, or it is damaged; use that version, or another copy."
        ) from error


def require_fitting_weights(state: Mapping[str, Any], config: VASEConfig, *, own_encoder: bool) -> None:
    """Refuse weights of other shapes than the configuration asks for: building it could take any amount of memory."""
    weights = state["networks"] if isinstance(state["networks"], dict) else {}
    for name, shape in weight_shapes(config, own_encoder=own_encoder).items():
        found = tuple(weights[name].shape) if isinstance(weights.get(name), Tensor) else None
        if found != shape:
            raise CheckpointError(
                f"the saved learner does not fit its configuration: {name} has shape {found} instead of {shape}; use "
                "another copy."
            )
    blocks = sum(name.startswith("decoder.environments.blocks.") for name in weights)
    if not isinstance(state["environments"], int) or not 0 <= state["environments"] <= BLOCK * blocks:
        raise CheckpointError(
            f"the saved learner has {state['environments']!r} environments and weights for {BLOCK * blocks}; use "
            "another copy."
        )


def weight_shapes(config: VASEConfig, *, own_encoder: bool = False) -> Shapes:
    """The shapes of weights that fix the sizes of all others.

    >>> weight_shapes(VASEConfig())["decoder.from_latents.weight"]
    (256, 24)
    """
    net, (depth, height, width) = config.network, config.image_shape
    shapes: Shapes = {"decoder.from_latents.weight": (net.hidden, net.latents)}
    if own_encoder:
        return shapes
    for i, (a, b) in enumerate(pairwise((depth, *net.channels))):
        shapes[f"encoder.features.convs.{i}.weight"] = (b, a, 4, 4)
    flat = net.channels[-1] * math.prod(grid_size((height, width), 2 ** len(net.channels)))
    return shapes | {"encoder.features.linear.weight": (net.hidden, flat)}


@contextmanager
def damage_explained() -> Iterator[None]:
    """Turn what a state of the wrong form leads to into a CheckpointError."""
    try:
        yield
    except (KeyError, AttributeError, IndexError, TypeError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise CheckpointError(
            f"the saved learner cannot be read ({type(error).__name__}: {reason}); use another copy."
        ) from error
