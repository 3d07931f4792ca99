"""An experiment of your own, outside the package: VASE beside principal components on digits and letters.

PYTHONPATH=examples vase experiment run pca_experiment:EXPERIMENT --preset smoke
PYTHONPATH=examples vase experiment table pca_experiment:EXPERIMENT all --preset smoke
"""

from __future__ import annotations

from vase.experiments import Condition, Experiment
from vase.experiments.common.analysis import detection, forgetting

EXPERIMENT = Experiment(
    name="pca",
    title="does a lifelong learner beat principal components?",
    stream="digits:12,glyphs:12,digits:12",
    steps={"smoke": 70, "laptop": 1_000},
    conditions=(
        Condition("vase", seeds=(0,)),
        Condition("no-dreams", {"dreaming.enabled": "no"}, seeds=(0,)),
        Condition("pca", learner="pca_learner:PCALearner", learner_options={"components": 8}, seeds=(0,)),
    ),
    tables={"forgetting": forgetting, "detection": detection},
    options={"canvas": 16, "probe_every": 35, "measures": False},  # fields of RunSettings
)
