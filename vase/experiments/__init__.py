"""The experiments of the paper: what is run, as data, and what is read from the saved rows."""

from vase.experiments import ablation, five_datasets, sensitivity, three_stage
from vase.experiments.study import Condition, Experiment, Job, Result, Results, jobs_of, results_of

EXPERIMENTS = {
    module.EXPERIMENT.name: module.EXPERIMENT for module in (ablation, three_stage, five_datasets, sensitivity)
}

__all__ = ["EXPERIMENTS", "Condition", "Experiment", "Job", "Result", "Results", "jobs_of", "results_of"]
