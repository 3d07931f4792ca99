"""Sizes of the shift benchmark, and its detectors by name. Imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass

RATES = (1.0, 10.0, 100.0)
"""False alarms per 10,000 stationary batches that detectors are set to; the first one is that of the tables."""
LEARNERS = {
    "monitor": "vase:ShiftMonitor",
    "vase": "vase:VASE",
    "vase-loss": "vase.experiments.shifts.variants:loss_alone",
    "vase-latents": "vase.experiments.shifts.variants:latents_alone",
    "vase-thresholds": "vase.experiments.shifts.variants:thresholds",
    "vase-small": "vase.experiments.shifts.variants:small",
    "vase-small-gaussian": "vase.experiments.shifts.variants:small_gaussian",
}
"""Name -> reference of what has `partial_fit`; made from a configuration and a seed."""
PARTS = ("streams", "controls", "single")
"""What can be run by itself: streams that change, stationary ones, and single batches."""
ADJUSTABLE = ("monitor", "vase-small", "vase-small-gaussian")
"""The learners that run at every rate."""
BASELINE_NAMES = (
    *("dummy", "adwin-loss", "page-hinkley-loss", "kswin-loss"),
    *("ks-latents", "ks-latents-frozen", "ks-untrained", "ks-untrained-frozen"),
    *("mmd-latents", "mmd-latents-frozen", "mmd-untrained", "mmd-untrained-frozen"),
)
DETECTORS = ("monitor", *BASELINE_NAMES)
"""What runs by default."""


@dataclass(frozen=True)
class Size:
    """How much is run."""

    name: str
    streams: int
    seeds: tuple[int, ...]
    control: int
    """Batches of a stationary control."""
    training: int
    """Batches that the VAE of the baselines learns from."""


FULL = Size("full", streams=40, seeds=(0, 1, 2), control=10_000, training=300)
SMOKE = Size("smoke", streams=4, seeds=(0,), control=200, training=20)
QUICK = Size("quick", streams=40, seeds=(0,), control=1_500, training=300)
SIZES = {size.name: size for size in (FULL, QUICK, SMOKE)}


def check_detector(name: str) -> None:
    """Refuse the name of a detector that does not exist."""
    if name not in (*BASELINE_NAMES, *LEARNERS) and ":" not in name:
        known = ", ".join((*LEARNERS, *BASELINE_NAMES))
        raise ValueError(f"no detector {name!r}; there are {known}, and package.module:Class of your own.")
