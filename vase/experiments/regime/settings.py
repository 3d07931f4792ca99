"""The paper's own regime, sampled: the `paper` preset as it is, for as long as one core can afford.

Nothing of the preset is scaled to the shorter stages: C still rises over 158,730 steps. The first world lasts longest,
because its learning curve is extrapolated; the others tell whether the tests of Eq. 6 find them.
"""

from __future__ import annotations

from vase.experiments.common.conditions import OURS, TABLES, chosen
from vase.experiments.experiment import Condition, Experiment

_HERE = "vase.experiments.regime."

REGIME = Experiment(
    name="regime",
    title="the paper's own regime, sampled: the paper preset for two to three hours of one core",
    stream="moving-fashion*20000,mnist*6000,moving-mnist*4000",
    steps={},
    conditions=(Condition(OURS, seeds=(0,), shown=True),),
    tables={"regime": f"{_HERE}analysis:regime", **chosen(TABLES, "detection")},
    figures={"curves": f"{_HERE}figures:curves"},
    options={"probes": "periodic", "probe_every": 1_000, "frozen_every": 1, "checkpoint_every": 1_000},
    figure_data=(),
)
