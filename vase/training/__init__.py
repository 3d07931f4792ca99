"""Training runs: any learner on a stream of worlds, in a directory that survives a crash and resumes exactly.

>>> from vase.training import RunSettings, train
>>> summary = train("runs/mine", RunSettings.of("laptop", stream="mnist,fashion"))  # doctest: +SKIP
>>> summary["environments"]  # doctest: +SKIP
2
"""

from typing import TYPE_CHECKING

from vase.lazy import attach

if TYPE_CHECKING:
    from vase.training.callbacks import Callback as Callback
    from vase.training.callbacks import Run as Run
    from vase.training.directory import RunDirectory as RunDirectory
    from vase.training.plan import Plan as Plan
    from vase.training.plan import make_plan as make_plan
    from vase.training.settings import RunSettings as RunSettings
    from vase.training.summary import describe as describe
    from vase.training.trainer import Interrupted as Interrupted
    from vase.training.trainer import Trainer as Trainer
    from vase.training.trainer import train as train

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "Callback": "callbacks",
        "Interrupted": "trainer",
        "Plan": "plan",
        "Run": "callbacks",
        "RunDirectory": "directory",
        "RunSettings": "settings",
        "Trainer": "trainer",
        "describe": "summary",
        "make_plan": "plan",
        "train": "trainer",
    },
)
