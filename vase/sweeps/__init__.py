"""Sweeps: many runs in parallel, every seed with every combination of varied values."""

from typing import TYPE_CHECKING

from vase.lazy import attach

if TYPE_CHECKING:
    from vase.sweeps.runner import Cell as Cell
    from vase.sweeps.runner import Outcome as Outcome
    from vase.sweeps.runner import Status as Status
    from vase.sweeps.runner import Stopped as Stopped
    from vase.sweeps.runner import run_many as run_many

__getattr__, __dir__, __all__ = attach(
    __name__, dict.fromkeys(("Cell", "Outcome", "Status", "Stopped", "run_many"), "runner")
)
