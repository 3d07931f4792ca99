"""The step: the learner against a bare VAE, the reference and the GEMM peak, all by turns in one process."""

from __future__ import annotations

from typing import Any

from vase.bench.contestants import REFERENCE, BareVAE, Gemm, Learner, ReferenceStep, block, timed_config
from vase.bench.flops import executed, needed
from vase.bench.report import Part
from vase.bench.timing import Contestant, Ratio, interleave

BARE, FIRST, DREAMING = "bare VAE", "learner, first world", "learner, dreaming"
PLAIN_FIRST, PLAIN_DREAMING, GEMM = "reference, first world", "reference, dreaming", "GEMM"
SHARES = {"laptop": 0.5, "paper": 0.7}
"""Bars for the share of the GEMM peak."""


def measure(preset: str, rounds: int) -> Part:
    """Time, arithmetic and ratios of a step."""
    config = timed_config(preset)
    steps = block(config)
    gemm = Gemm()
    contestants: dict[str, Contestant] = {
        BARE: BareVAE(config),
        FIRST: Learner(config, 1),
        DREAMING: Learner(config, 2),
    }
    notes = []
    if REFERENCE.exists():
        contestants |= {PLAIN_FIRST: ReferenceStep(config, 1), PLAIN_DREAMING: ReferenceStep(config, 2)}
    else:
        notes.append("No reference: benchmarks/reference.py is in a clone of the repository only.")
    contestants[GEMM] = gemm
    flops = {name: executed(step, steps) for name, step in contestants.items() if step is not gemm}
    flops[GEMM] = gemm.flops
    timings = interleave(contestants, rounds=rounds, block=steps, warmup=2)
    peak = timings.rates(GEMM, gemm.flops)
    passes = {BARE: 1, FIRST: 1, DREAMING: 2, PLAIN_FIRST: 1, PLAIN_DREAMING: 2}
    rows: list[dict[str, Any]] = []
    for name in contestants:
        ms = timings.ms(name)
        least = needed(config, passes[name] * config.batch_size) if name in passes else gemm.flops
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
        timings.ratio(FIRST, BARE, at_most=1.10),
        timings.ratio(DREAMING, BARE, at_most=2.15),
    ]
    if PLAIN_DREAMING in contestants:
        ratios += [timings.ratio(PLAIN_FIRST, FIRST), timings.ratio(PLAIN_DREAMING, DREAMING, at_least=1.4)]
    label = f"arithmetic of {DREAMING} / {GEMM}"
    rates = timings.rates(DREAMING, flops[DREAMING])
    ratios.append(Ratio.of(label, rates, peak, at_least=SHARES.get(preset)))
    notes += [
        f"A number per round is the mean of {steps} steps, which hold everything that is done at intervals once.",
        "GFLOP: counted by PyTorch over as many real steps. needed: one forward and backward pass by hand.",
    ]
    disturbed = {name: count for name, step in contestants.items() if (count := getattr(step, "disturbed", 0))}
    if disturbed:
        notes.append(f"Disturbed: {disturbed} steps were not ordinary ones; measure again.")
    return Part("step", f"A step of the {preset} preset, float32, one thread", rows, ratios, notes)
