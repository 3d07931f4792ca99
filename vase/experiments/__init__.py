"""The experiments of the paper: what is run, as data, and what is read from the saved rows."""

from vase.experiments.ablation import ABLATION, LONGER
from vase.experiments.ambiguity import AMBIGUITY
from vase.experiments.five_datasets import FIVE_DATASETS
from vase.experiments.homologies import HOMOLOGIES
from vase.experiments.imagination import IMAGINATION
from vase.experiments.sensitivity import SENSITIVITY
from vase.experiments.streams import RETURNS, TWELVE_WORLDS
from vase.experiments.study import Condition, Experiment, Job, Result, Results, jobs_of, results_of
from vase.experiments.three_stage import THREE_STAGE

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        ABLATION,
        LONGER,
        THREE_STAGE,
        FIVE_DATASETS,
        SENSITIVITY,
        RETURNS,
        TWELVE_WORLDS,
        AMBIGUITY,
        HOMOLOGIES,
        IMAGINATION,
    )
}
"""By name."""

__all__ = ["EXPERIMENTS", "Condition", "Experiment", "Job", "Result", "Results", "jobs_of", "results_of"]
