"""Sweeps: many runs in parallel, every seed with every combination of varied values."""

# ruff: noqa: F401
from typing import TYPE_CHECKING, Literal, get_args

from vase.lazy import attach

if TYPE_CHECKING:
    from vase.sweeps.runner import Cell, Outcome, Status, Stopped, run_many
else:
    _names = ("Cell", "Outcome", "Status", "Stopped", "run_many")
    __getattr__, __dir__, __all__ = attach(__name__, dict.fromkeys(_names, "runner"))

Backend = Literal["processes", "ray", "dask"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)
