"""The paper's experiments, one folder each: settings as data, tables and figures from saved rows."""

from vase.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "Analysis": "experiment",
        "Condition": "experiment",
        "Experiment": "experiment",
        "Job": "results",
        "Result": "results",
        "Results": "results",
        "experiment_names": "registry",
        "export": "writer",
        "jobs_of": "results",
        "load_experiment": "registry",
        "results_of": "results",
    },
)
