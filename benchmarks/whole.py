"""How long the three-world run takes on one core, probes and checkpoints included.

    OMP_NUM_THREADS=1 python -m benchmarks.whole [--seed 0]

Run it on an otherwise idle machine. Writes results/speed/whole.json: wall and processor time, and what the run found.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RESULT = Path(__file__).parent.parent / "results" / "speed" / "whole.json"
STREAM = "moving-fashion,mnist,moving-mnist"


def main() -> int:
    """Train, time, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    options = ["train", "--stream", STREAM, "--preset", "laptop", "--seed", str(arguments.seed)]
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        command = [sys.executable, "-m", "vase", *options, "--quiet", "--out", str(out)]
        begin = time.perf_counter()
        done = subprocess.run(command, check=False)
        seconds = time.perf_counter() - begin
        if done.returncode != 0:
            return done.returncode
        summary = json.loads((out / "summary.json").read_text())
        config = (out / "config.json").read_text()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = {
        "command": " ".join(["vase", *options]),
        "load_before": round(load, 2),
        "seconds": round(seconds, 1),
        "processor_seconds": round(used.ru_utime + used.ru_stime, 1),
        "peak_megabytes": round(used.ru_maxrss / 1024),
        "steps": summary["steps"],
        "environments": summary["environments"],
        "delays": summary["delays"],
        "false_alarms": summary["false_alarms"],
        "identity": summary["identity"]["mean"],
        "position": summary["position"]["mse"]["mean"],
        "versions": json.loads(config)["versions"],
    }
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    print(f"{seconds / 60:.1f} minutes ({result['processor_seconds'] / 60:.1f} of the processor): {RESULT.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
