"""Many runs side by side: every seed with every combination of varied values."""

from vase.sweeps.grid import grid
from vase.sweeps.many import Cell, Outcome, Status, Stopped, run_many

__all__ = ["Cell", "Outcome", "Status", "Stopped", "grid", "run_many"]
