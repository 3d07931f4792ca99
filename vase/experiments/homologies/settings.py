"""Cross-domain homologies (Figure 4B): two first-person 3D worlds, outdoors → indoors, and what their latents share.

The paper shows pictures. The numbers for them are: the homology score of each factor that the worlds share, and, since
every scene is rendered in both worlds, how far a frame decoded as the other world is from its real twin there.

Regressors read z^s = a^s ⊙ z with z ~ q(z|x) (Eq. 1 and 2), as the decoder of an environment does. Samples, not means:
a latent without information has means next to zero, which standardising would blow up to full size; in samples they
drown in the noise that the decoder sees too.

Laptop values. The decoder's standard deviation is 0.1, so that the 12,288 numbers of a frame cost thousands of nats,
against about a hundred for a 32×32 sprite. What is weighed against them grows accordingly, to the paper's values: γ =
200, and 1000 for the encoder on dreams. λ is the paper's too. κ compares deviances, which for Gaussians are squared
errors over twice the variance: a ratio that does not depend on the variance. The paper's 1.1 is kept for its preset;
batches of 64 frames differ by some per cent, and 1.5 is far below what a change of world costs.
"""

from __future__ import annotations

from vase.experiments.common.conditions import ENTANGLED, ENTANGLED_LOSS, FIGURES, OURS, chosen
from vase.experiments.experiment import THREE_SEEDS, Condition, Experiment

_HERE = "vase.experiments.homologies."
_ANALYSIS = f"{_HERE}analysis:"
_ALWAYS = {"network.likelihood": "gaussian", "capacity.gamma": 200, "mask.threshold": 2.0}
_PAPER = {
    "capacity.c_max": 25,
    "capacity.ramp_steps": 100_000,
    "environments.kappa": 1.1,
    "dreaming.tau": 5_000,
}

HOMOLOGIES = Experiment(
    name="homologies",
    title="Figure 4B: two first-person 3D worlds, outdoors → indoors, and the factors that they share",
    stream="outdoors,indoors",
    steps={"laptop": 4_000, "paper": 60_000},
    conditions=(
        Condition(OURS, seeds=THREE_SEEDS, shown=True),
        Condition(ENTANGLED, {**ENTANGLED_LOSS, "mask.threshold": 20.0}, seeds=THREE_SEEDS, shown=True),
    ),
    tables={name: f"{_ANALYSIS}{name}" for name in ("homology", "worlds", "twins")},
    figures={"figure4b": f"{_HERE}figures:figure4b", **chosen(FIGURES, "traversals")},
    options={"probes": "none", "measures": False, "canvas": 64},
    values={
        "laptop": {**_ALWAYS, "dreaming.encoder_weight": 1000, "dreaming.pool": 2048},
        "smoke": {**_ALWAYS, "dreaming.pool": 256},
        "paper": {**_ALWAYS, **_PAPER},
    },
    analyse=f"{_HERE}evaluation:analyse",
    figure_data=(OURS,),
)
