"""Training runs: any learner on a stream of worlds, in a directory that survives a crash and resumes exactly.

>>> from vase.training import RunSettings, train
>>> summary = train("runs/mine", RunSettings.of("laptop", stream="mnist,fashion"))  # doctest: +SKIP
>>> summary["environments"]  # doctest: +SKIP
2
"""

from vase.lazy import attach

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
        "summary": "summary",
        "train": "trainer",
    },
)
