"""Kill a training run ten times at random moments, resume it each time, and compare it with one that ran through.

    python -m benchmarks.kill [--kills 10] [--seed 0]

Prints whether rows and weights are the same to the last bit, and writes results/learner/kill.json.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STREAM = "moving-fashion,mnist,moving-mnist"
OPTIONS = ["--stream", STREAM, "--preset", "laptop", "--steps", "250", "--checkpoint-every", "20", "--quiet"]
RESULT = Path(__file__).parent.parent / "results" / "learner" / "kill.json"


def start(out: Path, resume: bool) -> subprocess.Popen[bytes]:
    """A training process, new or resumed."""
    words = ["--resume", "--quiet"] if resume else OPTIONS
    command = [sys.executable, "-m", "vase", "train", *words, "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def fingerprint(out: Path) -> dict[str, str]:
    """SHA-256 of the rows and of every tensor file of the last checkpoints (their names end in a hash, too)."""
    files = [out / "rows.jsonl", *sorted((out / "checkpoints").rglob("*.safetensors"))]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def rows(out: Path) -> int:
    """Lines written so far."""
    path = out / "rows.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def main() -> int:
    """Run, kill, resume, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of the random moments")
    arguments = parser.parse_args()
    moments = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        whole, torn = Path(folder) / "whole", Path(folder) / "torn"
        if start(whole, resume=False).wait() != 0:
            return 1
        killed: list[int] = []
        while len(killed) < arguments.kills:
            process = start(torn, resume=(torn / "config.json").exists())
            before = rows(torn)
            while process.poll() is None and rows(torn) == before:  # it has begun to learn
                time.sleep(0.05)
            time.sleep(moments.uniform(0, 4))
            process.send_signal(signal.SIGKILL)
            if process.wait() != -signal.SIGKILL:
                break
            killed.append(rows(torn))
            print(f"kill {len(killed)} after {killed[-1]} rows", flush=True)
        if start(torn, resume=True).wait() != 0:
            return 1
        same = fingerprint(whole) == fingerprint(torn)
        result = {"command": "python -m benchmarks.kill", "options": OPTIONS, "kills_after_rows": killed}
        result |= {"identical": same, "sha256": fingerprint(whole)}
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    print(f"{len(killed)} kills: rows and weights are {'identical' if same else 'DIFFERENT'}")
    return 0 if same and len(killed) == arguments.kills else 1


if __name__ == "__main__":
    sys.exit(main())
