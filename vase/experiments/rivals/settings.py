"""The rivals on four streams, and the grid on which the strength of each is chosen."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace
from typing import Any

from vase.experiments.ablation.settings import ABLATION
from vase.experiments.colour.settings import COLOUR
from vase.experiments.common.conditions import (
    ALL_DREAMS,
    ENTANGLED,
    ENTANGLED_LOSS,
    MORE_DREAMS,
    OURS,
    TABLES,
    chosen,
)
from vase.experiments.experiment import THREE_SEEDS, Condition, Experiment
from vase.experiments.five_datasets.settings import FIVE_DATASETS
from vase.experiments.returns.settings import RETURNS

_HERE = "vase.experiments.rivals."
CHOSEN: dict[str, Any] = {
    "ewc": 0.01,
    "si": 0.1,
    "mas": 0.1,
    "lgm": 0.1,
    "curl": 600,
    "curl-colour": 2_500,
    "every": 2_100,
}
"""Strengths of EWC (λ), SI (c) and MAS (λ), LGM's weight, CURL's threshold in nats, batches between boundaries.

Chosen on the grid, by `vase.experiments.rivals.strengths`; CURL's threshold in colour is a guess.
"""
GRIDS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "ewc": ("strength", (0.01, 0.1, 1, 10, 100, 1_000, 10_000)),
    "si": ("strength", (0.01, 0.1, 1, 10)),
    "mas": ("strength", (0.01, 0.1, 1, 10, 100)),
    "curl": ("threshold", (300, 600, 1_200)),
    "lifelong-generative": ("weight", (0.1, 1, 10)),
    "generative-replay": ("boundaries", (150, 450, 700)),
}
"""Learner -> its option and the values to try, on one seed of the first stream that no other table uses.

No number of batches between boundaries divides a stage: every second boundary or so would fall where a world changes,
which methods by the clock are not told.
"""
GRID_SEED, GRID_STEPS = 10, 1_000
"""Stages of the grid are a third as long as those of the tables, and so are its batches between boundaries."""
IMAGES_OF_DREAMS = 4 * 8_192
"""Images, as bytes, in the memory of the 8,192 dreams, as float32, of VASE's pool."""
METHODS: dict[str, tuple[str, str, Mapping[str, Any]]] = {
    "fine-tuned-VAE": ("fine-tuned VAE", "fine-tuning", {}),
    "joint-VAE": ("joint VAE", "fine-tuning", {}),
    "reservoir-1000": ("experience replay, 1,000 images", "reservoir", {"images": 1_000}),
    "reservoir-bytes": ("experience replay, bytes of VASE's dreams", "reservoir", {"images": IMAGES_OF_DREAMS}),
    "dgr-told": ("generative replay, told", "generative-replay", {"boundaries": "told"}),
    "dgr-detected": ("generative replay, our detector", "generative-replay", {"boundaries": "detected"}),
    "dgr-every": ("generative replay, by the clock", "generative-replay", {"boundaries": CHOSEN["every"]}),
    "lgm-told": (
        "lifelong generative modelling, told",
        "lifelong-generative",
        {"boundaries": "told", "weight": CHOSEN["lgm"]},
    ),
    "lgm-detected": (
        "lifelong generative modelling, our detector",
        "lifelong-generative",
        {"boundaries": "detected", "weight": CHOSEN["lgm"]},
    ),
    "curl": ("CURL", "curl", {"threshold": CHOSEN["curl"]}),
    "ewc-told": ("EWC, told", "ewc", {"boundaries": "told", "strength": CHOSEN["ewc"]}),
    "ewc-detected": ("EWC, our detector", "ewc", {"boundaries": "detected", "strength": CHOSEN["ewc"]}),
    "si-told": ("SI, told", "si", {"boundaries": "told", "strength": CHOSEN["si"]}),
    "si": ("SI, by the clock", "si", {"strength": CHOSEN["si"]}),
    "mas-told": ("MAS, told", "mas", {"boundaries": "told", "strength": CHOSEN["mas"], "images": 512}),
    "mas": ("MAS, by the clock", "mas", {"strength": CHOSEN["mas"]}),
}
"""Condition -> name for readers, learner, its options. All train the standard VAE's loss, as they were published."""
NAMES = {
    OURS: "VASE",
    MORE_DREAMS: "VASE, as many dreams as images",
    ENTANGLED: "VASE on the standard VAE's loss",
    "fine-tuned-CCI-VAE": "fine-tuned CCI-VAE",
    "joint-CCI-VAE": "joint CCI-VAE",
    **{name: told for name, (told, _, _) in METHODS.items()},
}
ON_EVERY_STREAM = (
    *(OURS, MORE_DREAMS, ENTANGLED, "fine-tuned-VAE", "joint-VAE", "reservoir-1000", "reservoir-bytes"),
    *("dgr-told", "dgr-detected", "lgm-told", "curl", "ewc-told", "si", "mas"),
)
"""One or a few forms of each method; other boundaries and losses are compared on the first stream only."""
STORES_IMAGES = ("joint-VAE", "joint-CCI-VAE", "reservoir-1000", "reservoir-bytes")
_TABLES = {name: f"{_HERE}analysis:{name}" for name in ("methods", "ranking", "meaning", "worlds")}


def _conditions(names: Container[str], **other: Mapping[str, Any]) -> tuple[Condition, ...]:
    """VASE and its rivals of these names; `other` are options of a learner that differ on this stream."""
    joint = {"joint": True}
    found = [
        Condition(OURS, seeds=THREE_SEEDS),
        Condition(MORE_DREAMS, ALL_DREAMS, THREE_SEEDS),
        Condition(ENTANGLED, ENTANGLED_LOSS, seeds=THREE_SEEDS),
        Condition("fine-tuned-CCI-VAE", seeds=THREE_SEEDS, learner="fine-tuning"),
        Condition("joint-CCI-VAE", seeds=THREE_SEEDS, learner="fine-tuning", options=joint),
    ]
    for name, (_, learner, options) in METHODS.items():
        shared = joint if name.startswith("joint") else {}
        own = {**options, **other.get(learner, {})}
        found.append(Condition(name, ENTANGLED_LOSS, THREE_SEEDS, False, shared, learner, own))
    return tuple(condition for condition in found if condition.name in names)


def _rivals(
    name: str,
    title: str,
    stream: str,
    steps: int,
    conditions: Container[str] = ON_EVERY_STREAM,
    **other: Mapping[str, Any],
) -> Experiment:
    """The rivals on a stream."""
    return Experiment(
        name=name,
        title=f"VASE beside its rivals: {title}",
        stream=stream,
        steps={"laptop": steps},
        conditions=_conditions(conditions, **other),
        tables={**_TABLES, **chosen(TABLES, "forgetting-frozen", "detection")},
        figures={"cost": f"{_HERE}figures:cost"},
        options={"probe_every": max(1, steps // 2), "frozen_every": 1},
        analyse=f"{_HERE}evaluation:evaluate",
    )


RIVALS = _rivals("rivals", "moving Fashion → MNIST → moving MNIST", ABLATION.stream, 3_000, NAMES)
RIVALS = replace(RIVALS, tables={"streams": f"{_HERE}streams:streams", **RIVALS.tables})
RIVALS_RETURNS = _rivals("rivals-returns", "MNIST and Fashion, three and two times", RETURNS.stream, 2_000)
RIVALS_FIVE = _rivals("rivals-five", "five worlds", FIVE_DATASETS.stream, 2_000)
RIVALS_COLOUR = _rivals(
    "rivals-colour",
    "CIFAR-10's animals → vehicles → emoji → animals",
    COLOUR.stream,
    1_500,
    curl={"threshold": CHOSEN["curl-colour"]},
)


def _grid() -> tuple[Condition, ...]:
    found = [Condition("fine-tuned-VAE", ENTANGLED_LOSS, (GRID_SEED,), learner="fine-tuning")]
    for learner, (option, values) in GRIDS.items():
        told = {"boundaries": "told"} if learner in ("ewc", "si", "mas", "lifelong-generative") else {}
        for value in values:
            options = {**told, option: value}
            name = f"{learner}-{option}={value:g}"
            found.append(Condition(name, ENTANGLED_LOSS, (GRID_SEED,), learner=learner, learner_options=options))
    return tuple(found)


RIVALS_GRID = Experiment(
    name="rivals-grid",
    title="the strength of each rival: one seed of moving Fashion → MNIST → moving MNIST",
    stream=RIVALS.stream,
    steps={"laptop": GRID_STEPS},
    conditions=_grid(),
    tables={"grid": f"{_HERE}analysis:grid"},
    options={**RIVALS.options, "probe_every": GRID_STEPS // 2},
    analyse=RIVALS.analyse,
)
