"""Training runs: a stream, a learner and probes in a directory that survives a crash and can be resumed exactly.

>>> from vase.runs import RunSettings, train
>>> found = train("runs/mine", RunSettings.of("laptop", stream="mnist,fashion"))  # doctest: +SKIP
>>> found["environments"]  # doctest: +SKIP
2
"""

from vase.runs.directory import RunDirectory
from vase.runs.grid import grid
from vase.runs.many import Cell, Outcome, Status, Stopped, run_many
from vase.runs.settings import Plan, RunSettings, make_plan
from vase.runs.summary import describe, summary
from vase.runs.training import Event, Interrupted, train

__all__ = [
    "Cell",
    "Event",
    "Interrupted",
    "Outcome",
    "Plan",
    "RunDirectory",
    "RunSettings",
    "Status",
    "Stopped",
    "describe",
    "grid",
    "make_plan",
    "run_many",
    "summary",
    "train",
]
