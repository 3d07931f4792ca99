"""The step against a bare VAE, the plain reference and the GEMM peak, with its floating-point operations."""

from __future__ import annotations

from typing import Any

from benchmarks.flops import executed, needed
from benchmarks.reference import PLAIN
from benchmarks.reference_step import Gemm, ReferenceStep
from vase.bench import step
from vase.bench.contestants import block, timed_config
from vase.bench.report import Part
from vase.bench.timing import Ratio, interleave

PLAIN_FIRST, PLAIN_DREAMING, GEMM = "reference, first world", "reference, dreaming", "GEMM"
PASSES = {step.BARE: 1, step.FIRST: 1, step.DREAMING: 2, PLAIN_FIRST: 1, PLAIN_DREAMING: 2} | {
    step.EQ6[step.FIRST]: 1,
    step.EQ6[step.DREAMING]: 2,
}
"""Forward and backward passes over a batch."""
SHARES = {"laptop": 0.5, "paper": 0.7}
"""Bars for the share of the GEMM peak."""


def measure(preset: str, rounds: int) -> Part:
    """Time, arithmetic and ratios of a step."""
    config = timed_config(preset, **PLAIN)
    gemm = Gemm()
    contestants = step.make_contestants(config)
    contestants |= {PLAIN_FIRST: ReferenceStep(config, 1), PLAIN_DREAMING: ReferenceStep(config, 2)}
    flops = {name: executed(one, block(config)) for name, one in contestants.items()}
    flops[GEMM], contestants[GEMM] = gemm.flops, gemm
    timings = interleave(contestants, rounds=rounds, block=block(config), warmup=2)
    peak = timings.rates(GEMM, gemm.flops)
    rows: list[dict[str, Any]] = []
    for name in contestants:
        ms = timings.ms(name)
        least = needed(config, PASSES[name] * config.batch_size) if name in PASSES else gemm.flops
        share = Ratio.of(name, timings.rates(name, flops[name]), peak)
        rows.append(
            {
                "step": name,
                "ms": ms,
                "steps/s": 1e3 / ms.median,
                "GFLOP": flops[name] / 1e9,
                "needed": least / 1e9,
                "GFLOP/s": flops[name] / 1e6 / ms.median,
                "of peak": share.median,
                "needed of peak": share.median * least / flops[name],
            }
        )
    ratios = [
        *step.ratios(timings),
        timings.ratio(PLAIN_FIRST, step.FIRST),
        timings.ratio(PLAIN_DREAMING, step.DREAMING, at_least=1.4),
        Ratio.of(
            f"arithmetic of {step.DREAMING} / {GEMM}",
            timings.rates(step.DREAMING, flops[step.DREAMING]),
            peak,
            at_least=SHARES.get(preset),
        ),
    ]
    notes = [
        *step.notes(config, contestants),
        "GFLOP: counted by PyTorch over as many real steps. needed: one forward and backward pass by hand.",
    ]
    return Part("step", f"A step of the {preset} preset, float32, one thread", rows, ratios, notes)
