"""Experiments by name: those of this package, and "package.module:EXPERIMENT" of your own."""

from __future__ import annotations

import os
import sys
from dataclasses import replace

from vase.experiments.experiment import Experiment, resolve
from vase.spelling import suggest

EXPERIMENTS = {
    "ablation": "vase.experiments.ablation.settings:ABLATION",
    "longer": "vase.experiments.ablation.settings:LONGER",
    "regime": "vase.experiments.regime.settings:REGIME",
    "few-latents": "vase.experiments.ablation.settings:FEW_LATENTS",
    "three-stage": "vase.experiments.three_stage.settings:THREE_STAGE",
    "five-datasets": "vase.experiments.five_datasets.settings:FIVE_DATASETS",
    "five-longer": "vase.experiments.five_datasets.settings:FIVE_LONGER",
    "sensitivity": "vase.experiments.sensitivity.settings:SENSITIVITY",
    "returns": "vase.experiments.returns.settings:RETURNS",
    "twelve-worlds": "vase.experiments.twelve_worlds.settings:TWELVE_WORLDS",
    "colour": "vase.experiments.colour.settings:COLOUR",
    "ambiguity": "vase.experiments.ambiguity.settings:AMBIGUITY",
    "homologies": "vase.experiments.homologies.settings:HOMOLOGIES",
    "imagination": "vase.experiments.imagination.settings:IMAGINATION",
    "rivals": "vase.experiments.rivals.settings:RIVALS",
    "rivals-returns": "vase.experiments.rivals.settings:RIVALS_RETURNS",
    "rivals-five": "vase.experiments.rivals.settings:RIVALS_FIVE",
    "rivals-colour": "vase.experiments.rivals.settings:RIVALS_COLOUR",
    "rivals-grid": "vase.experiments.rivals.settings:RIVALS_GRID",
}
"""Name -> reference of the experiments of this package."""


def experiment_names() -> tuple[str, ...]:
    """Names of the experiments of this package. Imports none of them."""
    return tuple(EXPERIMENTS)


def load_experiment(name: str) -> Experiment:
    """An experiment by its name, or by "package.module:ATTRIBUTE", also of a module in the working directory."""
    if name in EXPERIMENTS:
        found: Experiment = resolve(EXPERIMENTS[name])
        return found
    if ":" not in name:
        known = f"there are {', '.join(EXPERIMENTS)}, and package.module:EXPERIMENT of your own."
        close = suggest(name, EXPERIMENTS)
        raise ValueError(f"no experiment {name!r}; {f'did you mean {close!r}?' if close else known}")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    own = resolve(name)
    if not isinstance(own, Experiment):
        raise ValueError(f"{name} is of type {type(own).__name__}: it must be a vase.experiments.Experiment.")
    return replace(own, reference=name)
