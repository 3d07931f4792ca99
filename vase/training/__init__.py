"""Training runs: a stream, a learner and probes in a directory that survives a crash and can be resumed exactly.

>>> from vase.training import RunSettings, train
>>> found = train("runs/mine", RunSettings.of("laptop", stream="mnist,fashion"))  # doctest: +SKIP
>>> found["environments"]  # doctest: +SKIP
2
"""

from vase.training.directory import RunDirectory
from vase.training.plan import Plan, make_plan
from vase.training.settings import RunSettings
from vase.training.summary import describe, summary
from vase.training.trainer import Event, Interrupted, train

__all__ = [
    "Event",
    "Interrupted",
    "Plan",
    "RunDirectory",
    "RunSettings",
    "describe",
    "make_plan",
    "summary",
    "train",
]
