"""Training runs: a stream, a learner and probes in a directory that survives a crash and can be resumed exactly.

>>> from vase.training import RunSettings, train
>>> found = train("runs/mine", RunSettings.of("laptop", stream="mnist,fashion"))  # doctest: +SKIP
>>> found["environments"]  # doctest: +SKIP
2
"""

from typing import TYPE_CHECKING

from vase.lazy import attach

if TYPE_CHECKING:
    from vase.training.directory import RunDirectory as RunDirectory
    from vase.training.plan import Plan as Plan
    from vase.training.plan import make_plan as make_plan
    from vase.training.settings import RunSettings as RunSettings
    from vase.training.summary import describe as describe
    from vase.training.trainer import Event as Event
    from vase.training.trainer import Interrupted as Interrupted
    from vase.training.trainer import train as train

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "Event": "trainer",
        "Interrupted": "trainer",
        "Plan": "plan",
        "RunDirectory": "directory",
        "RunSettings": "settings",
        "describe": "summary",
        "make_plan": "plan",
        "train": "trainer",
    },
)
