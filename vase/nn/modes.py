"""Evaluation mode for modules that behave differently in training, such as BatchNorm and Dropout."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Put a module into evaluation mode; afterwards every submodule has its own mode again."""
    training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True
