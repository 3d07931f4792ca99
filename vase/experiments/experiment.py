"""An experiment as data: a stream, conditions and seeds, and references to the functions that read its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from vase.spelling import did_you_mean
from vase.training.settings import RunSettings

Reference = str | Callable[..., Any]
"""A function, or "package.module:function", which is imported when it is called for."""
FIVE_SEEDS = (0, 1, 2, 3, 4)
THREE_SEEDS = (0, 1, 2)


def resolve(reference: Reference) -> Any:
    """The object behind a reference. Raises ValueError if its module or its attribute does not exist."""
    if not isinstance(reference, str):
        return reference
    module_name, _, attribute = reference.partition(":")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not module_name.startswith(error.name):
            raise  # the module exists, and one that it imports does not
        raise ValueError(
            f"{reference}: there is no module {error.name!r}; install it, or run the command from the folder that "
            "contains it."
        ) from error
    if not hasattr(module, attribute):
        known = [name for name in vars(module) if not name.startswith("_")]
        raise ValueError(f"{reference}: {module_name} has no {attribute!r}{did_you_mean(attribute, known)}")
    return getattr(module, attribute)


@dataclass(frozen=True, eq=False)
class Analysis:
    """What an experiment measured on the learner after training."""

    numbers: dict[str, Any]
    """JSON-ready."""
    pictures: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Saved for conditions that figures show."""


@dataclass(frozen=True)
class Condition:
    """One way to run the stream of an experiment."""

    name: str
    """In file names, e.g. "disentangled-SDA"."""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the configuration by dotted name."""
    seeds: tuple[int, ...] = FIVE_SEEDS
    shown: bool = False
    """Save step rows and pictures of the first seed, for figures."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Other settings of its runs, e.g. {"imagination": "mnist"}."""
    learner: str = "vase"
    """The learner: a registered name, or "package.module:Class" of your own."""
    learner_options: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of that learner."""
    stream: str = ""
    """Another stream than the experiment's, e.g. one of its worlds alone; empty for the same."""


@dataclass(frozen=True)
class Experiment:
    """What is run, and how tables and figures are made from the saved rows."""

    name: str
    title: str
    """One line for a list."""
    stream: str
    steps: Mapping[str, int]
    """Preset -> batches per stage; presets without an entry use their own default."""
    conditions: tuple[Condition, ...]
    tables: Mapping[str, Reference]
    """Name -> function from Results to Table; the first one is the main one."""
    figures: Mapping[str, Reference] = field(default_factory=dict)
    """Name -> function from Results to a matplotlib figure."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Other settings of every run, e.g. {"measures": False}."""
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Preset -> fields of the configuration with other values in this experiment."""
    analyse: Reference | None = None
    """Function from (learner, plan, record) to an Analysis of the trained learner, saved with its rows."""
    figure_data: tuple[str, ...] | None = None
    """Conditions whose first seed saves traversals and reconstructions; None: all that figures show."""
    reference: str = ""
    """Where it was loaded from, e.g. "my.module:EXPERIMENT"; empty for the experiments of this package."""

    @property
    def command_name(self) -> str:
        """How the command line refers to it."""
        return self.reference or self.name

    def saves_figure_data(self, condition: Condition) -> bool:
        """Whether the first seed of a condition saves traversals and reconstructions."""
        return condition.shown if self.figure_data is None else condition.name in self.figure_data

    def settings(self, condition: Condition, seed: int, preset: str, **place: Any) -> RunSettings:
        """The settings of one run. `place`: data, device and threads, and the folders faces and frames."""
        return RunSettings.of(
            preset,
            stream=condition.stream or self.stream,
            steps=self.steps.get(preset),
            overrides={**self.values.get(preset, {}), **condition.overrides},
            seed=seed,
            learner=condition.learner,
            learner_options=condition.learner_options,
            **{"measures": True, **self.options, **condition.options, **place},
        )

    def condition(self, name: str) -> Condition:
        """A condition by its name."""
        for condition in self.conditions:
            if condition.name == name:
                return condition
        known = ", ".join(condition.name for condition in self.conditions)
        raise ValueError(f"{self.name} has no condition {name!r}; it has {known}.")
