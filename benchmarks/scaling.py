"""How time and memory of a step grow with environments, latents, image size and batch."""

from __future__ import annotations

import resource
import sys
from collections import deque
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from torch import Tensor

from benchmarks import child
from benchmarks.reference import PLAIN
from vase.bench.contestants import Learner, block, timed_config
from vase.bench.report import Part
from vase.bench.timing import Ratio, Spread, interleave
from vase.config import VASEConfig

AXES: dict[str, tuple[int, ...]] = {
    "environments": (8, 16, 50),
    "latents": (64, 128),
    "image side": (32, 64, 128),
    "batch": (32, 128, 512),
}
"""What is varied, each against the base of the preset with two environments."""
Memory = dict[str, list[float]]
"""Kind of memory -> bytes in each trial."""
TRIALS = 3
"""Processes per case: the resident memory of the same work varies by a percent or two."""
BAR = 1.05
"""For time and memory at the most environments against two."""


def variant(preset: str, axis: str | None = None, value: int = 0) -> tuple[VASEConfig, int]:
    """The configuration and the number of environments of one case; without an axis, of the base."""
    config, environments = timed_config(preset, **PLAIN), 2
    match axis:
        case "environments":
            environments = value
        case "latents":
            config = config.with_values({"network.latents": value})
        case "image side":
            config = config.with_values({"image_shape": (config.image_shape[0], value, value)})
        case "batch":
            config = config.with_values({"batch_size": value})
    return config, environments


def base_value(preset: str, axis: str) -> int:
    """Where the preset itself stands on an axis."""
    config = timed_config(preset, **PLAIN)
    sides = {"latents": config.network.latents, "image side": config.image_shape[-1], "batch": config.batch_size}
    return sides.get(axis, 2)


def measure(preset: str, rounds: int, axes: dict[str, tuple[int, ...]] | None = None) -> Part:
    """Each case by turns with the base; memory in processes of their own."""
    rows: list[dict[str, Any]] = []
    ratios: list[Ratio] = []
    notes = []
    base = memory_of(preset)
    steps = block(timed_config(preset, **PLAIN))
    for axis, values in (AXES if axes is None else axes).items():
        start = base_value(preset, axis)
        rows.append(_row(f"{axis} {start} (base)", None, None, base, base))
        for value in values:
            if value == start:
                continue
            pair = {"base": Learner(*variant(preset)), "case": Learner(*variant(preset, axis, value))}
            few = rounds if axis == "environments" else max(2, rounds // 3)
            timings = interleave(pair, rounds=few, block=steps, warmup=2)
            last = axis == "environments" and value == values[-1]
            bar = BAR if last else None
            ratio = timings.ratio("case", "base", f"time: {axis} {value} / {start}", at_most=bar)
            memory = memory_of(preset, axis, value)
            rows.append(_row(f"{axis} {value}", timings.ms("case").median, ratio.median, memory, base))
            ratios.append(ratio)
            for kind in ("own", "peak") if last and base and memory else ():
                name = f"memory ({kind}): {axis} {value} / {start}"
                ratios.append(Ratio.of(name, memory[kind], base[kind], at_most=BAR))
            if not memory:
                notes.append(f"{axis} {value}: the process that was to measure its memory failed.")
            if disturbed := sum(one.disturbed for one in pair.values()):
                notes.append(f"{axis} {value}: {disturbed} steps were not ordinary ones; measure again.")
    notes.append(
        "own: all tensors of the learner (weights, gradients, moments, slow weights, snapshot, dreams, last batches). "
        "peak: the largest resident memory of a process that takes the steps, PyTorch included. ×: against the base."
    )
    return Part("scaling", f"How a step with dreaming grows: {preset} preset", rows, ratios, notes)


def _row(case: str, ms: float | None, time: float | None, memory: Memory, base: Memory) -> dict[str, Any]:
    row: dict[str, Any] = {"case": case, "ms": ms, "time ×": time}
    for kind in ("own", "peak"):
        row[f"{kind} MB"] = Spread.of(memory[kind]).median / 1e6 if memory else None
        row[f"{kind} ×"] = Ratio.of(kind, memory[kind], base[kind]).median if memory and base else None
    return row


def memory_of(preset: str, axis: str | None = None, value: int = 0) -> Memory:
    """Bytes of one case in processes of their own; empty if one of them failed."""
    outcomes = [
        child.run("benchmarks.scaling", {"preset": preset, "axis": axis, "value": value}) for _ in range(TRIALS)
    ]
    if any(outcome.failure for outcome in outcomes):
        return {}
    return {kind: [outcome.said[-1][kind] for outcome in outcomes] for kind in ("own", "peak")}


def peak_bytes() -> int:
    """The largest resident memory of this process so far."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):  # not Linux, where this would begin with the peak of the parent process
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def tell_memory(asked: dict[str, Any]) -> None:
    """In a process of its own: say what one case takes."""
    config, environments = variant(asked["preset"], asked["axis"], asked["value"])
    learner = Learner(config, environments)
    for _ in range(block(config)):
        learner()
    child.say(own=own_bytes(learner.model), peak=peak_bytes())


def own_bytes(owner: object) -> int:
    """Bytes of every tensor that hangs on an object, each storage once: weights, gradients, moments, memory, dreams."""
    storages: dict[int, int] = {}
    seen: dict[int, object] = {}
    waiting: list[Any] = [owner]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if isinstance(value, Tensor):
            storages[value.untyped_storage().data_ptr()] = value.untyped_storage().nbytes()
            if value.is_leaf:
                waiting.append(value.grad)
        elif isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple | set | deque):
            waiting += list(value)
        elif hasattr(value, "__dict__") and not isinstance(value, type | ModuleType | FunctionType):
            waiting.append(vars(value))
    return sum(storages.values())


if __name__ == "__main__":
    child.serve(tell_memory)
