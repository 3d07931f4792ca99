"""Training runs: any learner on a stream of worlds, in a directory that survives a crash and resumes exactly.

>>> from vase.training import RunSettings, train
>>> summary = train("runs/mine", RunSettings.of("laptop", stream="mnist,fashion"))  # doctest: +SKIP
>>> summary["environments"]  # doctest: +SKIP
2
"""

# ruff: noqa: F401
from typing import TYPE_CHECKING

from vase.lazy import attach

if TYPE_CHECKING:
    from vase.training.callbacks import Callback, Run
    from vase.training.directory import RunDirectory
    from vase.training.forking import fork
    from vase.training.plan import Plan, make_plan
    from vase.training.settings import RunSettings
    from vase.training.summary import describe
    from vase.training.trainer import Interrupted, train
else:
    _modules = {
        **dict.fromkeys(("Callback", "Run"), "callbacks"),
        **dict.fromkeys(("Plan", "make_plan"), "plan"),
        **dict.fromkeys(("Interrupted", "train"), "trainer"),
        "RunDirectory": "directory",
        "fork": "forking",
        "RunSettings": "settings",
        "describe": "summary",
    }
    __getattr__, __dir__, __all__ = attach(__name__, _modules)
