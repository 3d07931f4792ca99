"""The learners that can be explored: every checkpoint of some runs, opened when they are asked for."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from vase.learners.protocol import Learner
from vase.learners.representation import Representation
from vase.method.atypicality import atypicality
from vase.metrics.record import Record
from vase.plots.run import held_out, read_run
from vase.report.build import report_data
from vase.report.decoder import seen_by_decoder
from vase.report.live import starting_points
from vase.training.directory import RunDirectory

CONTEXT = 32  # held-out images of each environment; the first ones are shown
OPEN = 4  # learners in memory at most
_SMALLEST_STD = 1e-4


@dataclass(frozen=True, eq=False)
class Model:
    """A learner as one checkpoint left it, with the images and numbers that the page shows."""

    directory: RunDirectory
    learner: Learner
    shape: tuple[int, int, int]
    contexts: dict[int, Float[np.ndarray, "n K"]]
    """q(s|x) of held-out images of each environment."""
    data: dict[str, Any]
    """What the page shows of the run."""

    @property
    def answers(self) -> Representation:
        """The learner, if it infers environments and decodes in them."""
        if not isinstance(self.learner, Representation):
            kind = type(self.learner).__name__
            raise ValueError(f"a learner of class {kind} cannot be asked this: it has no environments to decode in.")
        return self.learner


class Models:
    """Opens learners by name, and keeps the last few in memory."""

    def __init__(self, runs: Sequence[str | os.PathLike[str]], data: str | None = None) -> None:
        self.directories = [RunDirectory(run) for run in runs]
        self.data = data
        self._read: dict[int, tuple[Record, dict[int, np.ndarray], tuple[int, int, int]]] = {}
        self._open: OrderedDict[str, Model] = OrderedDict()
        for directory in self.directories:
            directory.read_config()
            directory.remember()
        if not self.choices():
            names = ", ".join(str(directory.path) for directory in self.directories) or "no run"
            raise FileNotFoundError(f"{names}: no checkpoint to explore; train first with vase train.")

    def choices(self) -> list[dict[str, Any]]:
        """Every checkpoint that has learnt something, as it can be opened: "RUN@STEP", runs by their place."""
        return [
            {"id": f"{number}@{step}", "run": _name(directory), "step": step, "newest": step == steps[-1]}
            for number, directory in enumerate(self.directories)
            for steps in [directory.checkpoints.steps()]
            for step in steps
            if step > 0
        ]

    def open(self, name: Any) -> Model:
        """The learner of a choice."""
        if not isinstance(name, str) or name not in self._open:
            known = [choice["id"] for choice in self.choices()]
            if name not in known:
                raise ValueError(f"model {name!r}: no checkpoint of this name; choose one of: {', '.join(known)}.")
            number, step = (int(part) for part in str(name).split("@"))
            self._open[str(name)] = self._load(number, step)
        self._open.move_to_end(str(name))
        while len(self._open) > OPEN:
            self._open.popitem(last=False)
        return self._open[str(name)]

    def renamed(self, directory: RunDirectory, names: Mapping[int, str]) -> None:
        """Show new names of latents in the learners of a run that are open."""
        for model in self._open.values():
            if model.directory is directory:
                model.data["latents"]["own"] = {str(latent): name for latent, name in names.items()}

    def _load(self, number: int, step: int) -> Model:
        directory = self.directories[number]
        if number not in self._read:
            plan, record = read_run(directory, self.data)
            images = {s: held_out(plan, world, s, CONTEXT) for s, world in record.world_of.items()}
            self._read[number] = record, images, plan.config.image_shape
        record, images, shape = self._read[number]
        learner = directory.learner("cpu", step)
        data = report_data(directory, learner, record, live_data(learner, images, shape))
        return Model(directory, learner, shape, contexts_of(learner, images), data)


def contexts_of(learner: Learner, images: Mapping[int, np.ndarray]) -> dict[int, Float[np.ndarray, "n K"]]:
    """q(s|x) of the images of each environment that the learner knows."""
    if not isinstance(learner, Representation):
        return {}
    known = {s: x for s, x in sorted(images.items()) if s < len(learner.environments)}
    return {s: learner.infer_environment(x).each for s, x in known.items()}


def live_data(learner: Learner, images: dict[int, np.ndarray], shape: tuple[int, int, int]) -> dict[str, Any] | None:
    """What live latents need if a server decodes; None for a learner without environments or decoder."""
    found = starting_points(learner, images) if isinstance(learner, Representation) else None
    if found is None or not isinstance(learner, Representation):
        return None
    codes = {s: learner.posterior(x) for s, x in images.items() if s < len(learner.environments)}
    return {
        **found,
        "shape": list(shape),
        "latents": learner.n_latents,
        "seen": seen_by_decoder(learner),
        "kl": {s: kl_of_latents(*code) for s, code in codes.items()},
        "atypicality": {s: atypicality_of_latents(*code) for s, code in codes.items()},
    }


def kl_of_latents(mean: Float[np.ndarray, "B N"], std: Float[np.ndarray, "B N"]) -> list[float]:
    """KL(q(z_n|x) ‖ N(0,1)) of each latent, averaged over images: ½(μ² + σ² − 1 − ln σ²)."""
    variance = np.square(np.maximum(std, _SMALLEST_STD))
    return [round(float(n), 4) for n in (0.5 * (np.square(mean) + variance - 1 - np.log(variance))).mean(0)]


def atypicality_of_latents(mean: Float[np.ndarray, "B N"], std: Float[np.ndarray, "B N"]) -> list[float]:
    """α_n on a batch of images (Eq. 4)."""
    log_var = 2 * np.log(np.maximum(std, _SMALLEST_STD))
    return [round(float(n), 4) for n in atypicality(torch.from_numpy(mean), torch.from_numpy(log_var))]


def _name(directory: RunDirectory) -> str:
    return directory.path.resolve().name
