"""Measure how fast `vase explore` answers while somebody drags, and write results/speed/explorer.json.

    OMP_NUM_THREADS=1 python -m benchmarks.explorer RUN

The server runs in a process of its own with one thread. Questions come as the page asks them: one at a time, each after
the answer to the last one, over HTTP. Beside the time until the answer stands the processor time that the server spent
on it, which other work on the machine does not change.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np

from vase.bench import report

RESULT = Path(__file__).parent.parent / "results" / "speed" / "explorer.json"
BAR = 50.0  # milliseconds
POINTS = 9
MOVES = {
    "drag": "a latent is dragged",
    "strip": "one strip is drawn",
    "mix": "two images are mixed",
    "about": "an image is picked",
}


def questions(data: dict[str, Any], model: str, rng: np.random.Generator) -> dict[str, tuple[str, dict[str, Any]]]:
    """One question of each kind, as the page would ask it: address and body."""
    live = data["live"]
    code = rng.standard_normal(live["latents"]).round(4).tolist()
    first, second = (live["images"][int(i)]["picture"] for i in rng.integers(0, len(live["images"]), 2))
    places = list(range(len(data["environments"])))
    blend = {"first": first, "second": second, "share": round(float(rng.random()), 2), "context": 16}
    return {
        "drag": ("decode", {"model": model, "codes": [code] * len(places), "environments": places}),
        "strip": ("decode", {"model": model, "codes": [code] * POINTS, "environments": 0}),
        "mix": ("mix", {"model": model, **blend}),
        "about": ("about", {"model": model, "image": first}),
    }


def measure(address: str, rounds: int, cpu: Callable[[], float]) -> dict[str, dict[str, float]]:
    """Milliseconds until the answer, and of the server's processor, for each kind of question."""
    parts = urlsplit(address)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=120)

    def ask(path: str, body: dict[str, Any] | None = None) -> bytes:
        connection.request("GET" if body is None else "POST", parts.path + path, body and json.dumps(body))
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {text.decode()}")
        return text

    model = json.loads(ask("models"))[-1]["id"]
    data = json.loads(ask(f"model?id={quote(model)}"))
    rng, found = np.random.default_rng(0), {}
    for kind in MOVES:
        ask(*questions(data, model, rng)[kind])  # the first one warms caches
        times, before = [], cpu()
        for _ in range(rounds):
            question = questions(data, model, rng)[kind]
            start = time.perf_counter()
            ask(*question)
            times.append(1e3 * (time.perf_counter() - start))
        spent = 1e3 * (cpu() - before) / rounds
        found[kind] = {
            "median_ms": round(statistics.median(times), 2),
            "p95_ms": round(float(np.quantile(times, 0.95)), 2),
            "server_cpu_ms": round(spent, 2),
        }
    connection.close()
    return found


def table(record: dict[str, Any]) -> str:
    """The table of docs/explorer.md."""
    lines = ["| while | until the answer, median | 95 % | processor of the server |", "| --- | --- | --- | --- |"]
    for kind, numbers in record["answers"].items():
        shown = (numbers[name] for name in ("median_ms", "p95_ms", "server_cpu_ms"))
        lines.append(f"| {MOVES[kind]} | {' | '.join(f'{value:.0f}' for value in shown)} |")
    start, end = record["load"]
    return "\n".join(
        [
            *lines,
            "",
            f"{record['rounds']} questions each; load of the machine's {record['cores']} cores "
            f"meanwhile: {start:.0f} to {end:.0f}.",
        ]
    )


def processor_seconds(process: int) -> float:
    """Processor time of a process and its threads so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Start the explorer, ask it, print and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", help="directory of a run")
    parser.add_argument("--rounds", type=int, default=300, help="questions of each kind (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    load = os.getloadavg()[0]
    words = [sys.executable, "-m", "vase", "explore", given.run, "--no-browser"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as server:
        try:
            address = (server.stdout.readline() if server.stdout else "").split()[-1]
            found = measure(address, given.rounds, lambda: processor_seconds(server.pid))
        finally:
            server.terminate()
    settings = json.loads((Path(given.run) / "config.json").read_text())["settings"]
    record = {
        "command": f"OMP_NUM_THREADS=1 python -m benchmarks.explorer RUN --rounds {given.rounds}",
        **report.machine(),
        "run": {name: settings[name] for name in ("preset", "stream", "steps", "seed")},
        "rounds": given.rounds,
        "bar_ms": BAR,
        "load": [round(load, 2), round(os.getloadavg()[0], 2)],
        "answers": found,
    }
    report.write(given.out, record)
    print(f"{record['command']}\n\n{table(record)}")


if __name__ == "__main__":
    main()
