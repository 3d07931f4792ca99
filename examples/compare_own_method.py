"""A method of your own in the table of rivals: a VAE that averages its weights, beside VASE and all others.

PYTHONPATH=examples vase experiment run compare_own_method:MINE --only averaged --jobs 2
PYTHONPATH=examples vase experiment table compare_own_method:MINE methods
PYTHONPATH=examples vase experiment run compare_own_method:SMALL --preset smoke    # a minute or two, without any data
PYTHONPATH=examples vase experiment table compare_own_method:SMALL methods --preset smoke
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from vase import Step, VASEConfig
from vase.experiments import Condition
from vase.experiments.rivals.settings import RIVALS
from vase.learners.rivals.vae import VAE
from vase.nn.ema import EMANetworks


class AveragedVAE(VAE):
    """At the end of every step the weights move a little towards their own slow average."""

    def __init__(self, config: VASEConfig, *, seed: int = 0, device: str = "auto", pull: float | str = 0.1) -> None:
        super().__init__(config, seed=seed, device=device)
        self.average, self.pull = EMANetworks(self.networks, decay=0.999), float(pull)
        self.parts["average"] = self.average  # saved, loaded and counted as memory

    def partial_fit(self, images: Any) -> Step:
        """Learn from one batch."""
        step = super().partial_fit(images)
        self.average.update_ema()
        for mine, slow in zip(self.networks.parameters(), self.average.nets.parameters(), strict=True):
            mine.data.lerp_(slow.data, self.pull)
        return step


OWN = Condition(
    "averaged",
    {"capacity.objective": "elbo"},  # the rivals' loss; without it, VASE's
    learner="compare_own_method:AveragedVAE",  # this file's own name, and the class
    learner_options={"pull": 0.1},
    seeds=(0, 1, 2),
)
MINE = replace(RIVALS, conditions=(*RIVALS.conditions, OWN))  # its name is still "rivals": one table for all
FEW = ("disentangled-SDA", "fine-tuned-VAE", "joint-VAE", "dgr-told", "averaged")
SMALL = replace(
    MINE,
    name="small",
    title="a small comparison: moving digits → glyphs",
    stream="moving-digits:12,glyphs:12",
    steps={"smoke": 60},
    conditions=tuple(replace(MINE.condition(name), seeds=(0,)) for name in FEW),
    options={**RIVALS.options, "canvas": 16},
)
