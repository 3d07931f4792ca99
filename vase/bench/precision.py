"""Half precision: whether bfloat16 works and pays here."""

from __future__ import annotations

from vase.bench.contestants import Learner, block, timed_config
from vase.bench.report import Part
from vase.bench.timing import interleave
from vase.machine import half_precision


def measure(preset: str, rounds: int) -> Part:
    """The learner's step in bfloat16 against float32, if a trial in a process of its own says that bfloat16 works."""
    title = "Half precision (bfloat16), one thread"
    trial = half_precision()
    notes = [f"{trial.reason}; bfloat16 {'pays' if trial.pays else 'does not pay'} on this machine."]
    if not trial.works:
        return Part("precision", title, notes=notes)
    configs = {kind: timed_config(preset, **{"network.precision": kind}) for kind in ("float32", "bfloat16")}
    pair = {f"learner, {kind}": Learner(config, 2) for kind, config in configs.items()}
    timings = interleave(pair, rounds=rounds, block=block(configs["float32"]), warmup=2)
    rows = [{"step": name, "ms": timings.ms(name)} for name in pair]
    return Part("precision", title, rows, [timings.ratio(*pair)], notes)
