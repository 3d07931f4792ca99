"""Fuzz what reads untrusted bytes: pictures, manifests, configurations, rows and the names of streams.

    python -m benchmarks.fuzz [TARGET ...] [--seconds 60] [--found FOLDER] [--record]    needs: pip install atheris

Each target runs in a process of its own, guided by coverage, from inputs that it accepts. It may refuse bytes with a
ValueError; anything else is a defect, whose input is left in a file of --found. Such files belong into
tests/benchmarks/corpus/TARGET, where tests/benchmarks/test_fuzz.py runs them again, beside inputs of hypothesis.
--record adds the run to results/fuzz/campaign.json, from which the table in docs/security.md is made.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from benchmarks.tables import table

NAMES = ("picture", "manifest", "signed", "config", "rows", "stream")
RESULT = Path(__file__).parent.parent / "results" / "fuzz" / "campaign.json"
INSTRUMENTED = ["vase", "PIL", "safetensors"]
"""Packages whose coverage guides the search."""
MAX_BYTES = 16_384
"""Longest input; longer ones to start from would be cut, and no longer be accepted."""
_EXECUTIONS = re.compile(r"stat::number_of_executed_units:\s*(\d+)")


def fuzz(target: str, seconds: int, found: Path) -> dict[str, Any]:
    """Fuzz one target in another process: {"target", "executions", "seconds", "defects"}."""
    before = set(found.glob(f"{target}-*"))
    words = [sys.executable, "-m", "benchmarks.fuzz", target, "--seconds", str(seconds), "--found", str(found)]
    clock = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="vase-fuzz-") as place:
        inside = {**os.environ, "TMPDIR": place}
        ended = subprocess.run([*words, "--here"], env=inside, stderr=subprocess.PIPE, text=True, check=False)
    spent = round(time.monotonic() - clock)
    executions = _EXECUTIONS.search(ended.stderr)
    if executions is None:
        raise SystemExit(f"{target} was not fuzzed:\n{ended.stderr[-2000:]}")
    defects = sorted(path.name for path in set(found.glob(f"{target}-*")) - before)
    return {"target": target, "executions": int(executions[1]), "seconds": min(spent, seconds), "defects": defects}


def fuzz_here(target: str, seconds: int, found: Path) -> None:
    """Fuzz one target until the time is over, which ends the process; keep one input for each place of a defect."""
    atheris = importlib.import_module("atheris")
    with atheris.instrument_imports(include=INSTRUMENTED):
        targets = importlib.import_module("benchmarks.fuzz_targets")
    folder, seeds = (Path(tempfile.mkdtemp()) for _ in range(2))
    for number, good in enumerate(targets.good_inputs(target)):
        (seeds / str(number)).write_bytes(good)

    def once(data: bytes) -> None:
        try:
            targets.TARGETS[target](data, folder)
        except Exception as error:
            keep(data, error, target, found)

    limits = [f"-max_total_time={seconds}", f"-max_len={MAX_BYTES}", "-rss_limit_mb=4096", "-timeout=300"]
    artifacts = f"-artifact_prefix={found}/{target}-"
    atheris.Setup([sys.argv[0], *limits, artifacts, "-print_final_stats=1", str(seeds)], once)
    atheris.Fuzz()


def keep(data: bytes, error: Exception, target: str, found: Path) -> None:
    """Write the input of a defect to a file that is named after where it was raised, unless there is one."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    path = found / f"{target}-{type(error).__name__}-{Path(last.filename).stem}-{last.lineno}.bin"
    if not path.exists():
        path.write_bytes(data)


def record(runs: list[dict[str, Any]], path: Path = RESULT) -> None:
    """Add runs to those in a file."""
    earlier = json.loads(path.read_text())["runs"] if path.exists() else []
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"runs": [*earlier, *runs]}, indent=1) + "\n")


def results_table(path: Path = RESULT) -> str:
    """The committed runs as a Markdown table."""
    if not path.exists():
        return "No results are committed yet; `python -m benchmarks.fuzz --seconds 180 --record` makes them."
    runs = json.loads(path.read_text())["runs"]
    rows = [_line(name, [run for run in runs if run["target"] == name]) for name in NAMES]
    return table(["target", "inputs", "seconds", "defects"], [*rows, _line("**all**", runs)])


def _line(name: str, runs: list[dict[str, Any]]) -> list[str]:
    """The sums of some runs."""
    found = sorted({defect for run in runs for defect in run["defects"]})
    sums = [sum(run[key] for run in runs) for key in ("executions", "seconds")]
    return [name, *(f"{value:,}" for value in sums), str(len(found))]


def main() -> None:
    """Fuzz some targets, one after another."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", choices=[*NAMES, []], metavar="TARGET", help=", ".join(NAMES))
    parser.add_argument("--seconds", type=int, default=60, help="per target")
    parser.add_argument("--found", type=Path, default=Path("fuzz-found"), help="folder for the inputs of defects")
    parser.add_argument("--record", action="store_true", help=f"add the run to results/fuzz/{RESULT.name}")
    parser.add_argument("--table", action="store_true", help="only print the table of the committed results")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.table:
        print(results_table())
        return
    given.found.mkdir(parents=True, exist_ok=True)
    if given.here:
        fuzz_here(given.targets[0], given.seconds, given.found)
    for target in given.targets or NAMES:
        run = fuzz(target, given.seconds, given.found)
        said = f"{run['executions']:,} inputs in {run['seconds']} s, {len(run['defects'])} defects"
        print(f"{target}: {said}", flush=True)
        if given.record:
            record([run])


if __name__ == "__main__":
    main()
