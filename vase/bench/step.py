"""The step: the learner against a bare VAE on the same networks, by turns in one process."""

from __future__ import annotations

from collections.abc import Mapping

from vase.bench.contestants import BareVAE, Learner, block, timed_config
from vase.bench.report import Part
from vase.bench.timing import Contestant, Ratio, Timings, interleave
from vase.config import VASEConfig

BARE, FIRST, DREAMING = "bare VAE", "learner, first world", "learner, dreaming"
EQ6 = {FIRST: "first world, tests of Eq. 6", DREAMING: "dreaming, tests of Eq. 6"}
"""The same with the paper's thresholds instead of calibrated tests: what calibration costs."""


def measure(preset: str, rounds: int) -> Part:
    """Milliseconds of a step, and their ratios."""
    config = timed_config(preset)
    contestants = make_contestants(config)
    timings = interleave(contestants, rounds=rounds, block=block(config), warmup=2)
    rows = [{"step": name, "ms": (ms := timings.ms(name)), "steps/s": 1e3 / ms.median} for name in contestants]
    title = f"A step of the {preset} preset, float32, one thread"
    return Part("step", title, rows, ratios(timings), notes(config, contestants))


def make_contestants(config: VASEConfig) -> dict[str, Contestant]:
    """The bare VAE, and learners that know one environment and two, with their own tests and with the paper's."""
    paper = config.with_values({"environments.inference": "paper"})
    known: dict[str, Contestant] = {BARE: BareVAE(config)}
    for count, name in enumerate((FIRST, DREAMING), 1):
        known |= {name: Learner(config, count)}
        if config.environments.inference == "calibrated":
            known |= {EQ6[name]: Learner(paper, count)}
    return known


def ratios(timings: Timings) -> list[Ratio]:
    """The learner's time as a multiple of the bare VAE's, and of its own with the paper's tests."""
    found = [timings.ratio(FIRST, BARE, at_most=1.10), timings.ratio(DREAMING, BARE, at_most=2.15)]
    return found + [timings.ratio(name, eq6, at_most=1.03) for name, eq6 in EQ6.items() if eq6 in timings.seconds]


def notes(config: VASEConfig, contestants: Mapping[str, Contestant]) -> list[str]:
    """How to read the numbers, and what disturbed them."""
    steps = block(config)
    found = [f"A number per round is the mean of {steps} steps, which hold everything that is done at intervals once."]
    disturbed = {name: count for name, step in contestants.items() if (count := getattr(step, "disturbed", 0))}
    if disturbed:
        found.append(f"Disturbed: {disturbed} steps were not ordinary ones; measure again.")
    return found
