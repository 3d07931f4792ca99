"""A process of the benchmark: `python -m vase.bench JOB SPEC`; vase.bench.child starts it."""

from __future__ import annotations

import json
import sys

import torch

from vase.bench import precision, processes, scaling
from vase.machine import keep_memory

JOBS = {"precision": precision.serve, "scaling": scaling.serve, "processes": processes.serve}

if __name__ == "__main__":
    torch.set_num_threads(1)
    keep_memory()
    JOBS[sys.argv[1]](json.loads(sys.argv[2]))
