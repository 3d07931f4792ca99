"""What a user would run instead, on the same networks, batch and images; in a process with its own interpreter."""

from __future__ import annotations

from vase.bench import child
from vase.bench.contestants import ROOT
from vase.bench.report import Part
from vase.bench.timing import Ratio, Spread

SCRIPT = ROOT / "benchmarks" / "peers.py"


def measure(preset: str, rounds: int, python: str | None = None) -> Part:
    """Time per training step of each peer that can be imported, by turns with the learner."""
    title = f"Peers: {preset} networks, float32, one thread"
    if not SCRIPT.exists():
        return Part("peers", title, notes=[f"{SCRIPT} is missing: run vase bench from a clone of the repository."])
    outcome = child.run(str(SCRIPT), {"preset": preset, "rounds": rounds}, python)
    rows, ratios, notes = [], [], []
    for said in outcome.said:
        notes += said.get("notes", [])
        seconds = said.get("seconds", {})
        rows += [{"step": name, "ms": Spread.of([1e3 * s for s in values])} for name, values in seconds.items()]
        ratios += [
            Ratio.of(f"{over} / {under}", seconds[over], seconds[under], at_least=1.0)
            for over, under in said.get("pairs", [])
        ]
    if outcome.failure is not None:
        notes.append(f"The peers' process failed: {outcome.failure}")
    return Part("peers", title, rows, ratios, notes)
