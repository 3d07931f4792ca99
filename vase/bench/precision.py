"""Half precision: whether bfloat16 works and pays here, measured in a process that may die of it."""

from __future__ import annotations

from typing import Any

import torch

from vase.bench import child
from vase.bench.contestants import Gemm, Learner, ReferenceStep, block, timed_config
from vase.bench.report import Part
from vase.bench.timing import Contestant, Ratio, interleave
from vase.machine import half_precision

STAGES = {"gemm": "GEMM", "step": "a step with dreaming"}


def measure(preset: str, rounds: int) -> Part:
    """GEMM and the learner's step in bfloat16 against float32; a stage that fails says why."""
    trial = half_precision()
    notes = [f"{trial.reason}; bfloat16 {'pays' if trial.pays else 'does not pay'} on this machine."]
    rows, ratios = [], []
    for stage, label in STAGES.items():
        outcome = child.run("precision", {"stage": stage, "preset": preset, "rounds": rounds})
        for said in outcome.said:
            for name, seconds in said["seconds"].items():
                rows.append({"what": name, "ms": 1e3 * sorted(seconds)[len(seconds) // 2]})
            for name, over, under, bar in said["ratios"]:
                ratios.append(Ratio.of(name, said["seconds"][over], said["seconds"][under], at_least=bar))
        if outcome.failure is not None:
            notes.append(f"{label} in bfloat16: {outcome.failure.rstrip('.')}.")
    return Part("precision", "Half precision (bfloat16), one thread", rows, ratios, notes)


def gemm(rounds: int) -> None:
    """Time GEMM in both precisions."""
    names = {"GEMM, float32": Gemm(), "GEMM, bfloat16": Gemm(dtype=torch.bfloat16)}
    timings = interleave(names, rounds=rounds, block=10, warmup=3)
    pair = ["GEMM: float32 / bfloat16", "GEMM, float32", "GEMM, bfloat16", None]
    child.say(seconds=timings.seconds, ratios=[pair])


def step(preset: str, rounds: int) -> None:
    """Time the learner in both precisions, and the reference in float32."""
    config = timed_config(preset)
    half = config.with_values({"network.precision": "bfloat16"})
    contestants: dict[str, Contestant] = {
        "learner, float32": Learner(config, 2),
        "learner, bfloat16": Learner(half, 2),
        "reference, float32": ReferenceStep(config, 2),
    }
    timings = interleave(contestants, rounds=rounds, block=block(config), warmup=2)
    pairs = [
        ["learner: float32 / bfloat16", "learner, float32", "learner, bfloat16", None],
        ["reference, float32 / learner, bfloat16", "reference, float32", "learner, bfloat16", 2.0],
    ]
    child.say(seconds=timings.seconds, ratios=pairs)


def serve(asked: dict[str, Any]) -> None:
    """In the process of its own."""
    if asked["stage"] == "gemm":
        gemm(asked["rounds"])
    else:
        step(asked["preset"], asked["rounds"])
