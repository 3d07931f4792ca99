"""Backends of a sweep, all through joblib: processes of this machine, a Ray cluster, a Dask cluster."""

from __future__ import annotations

import importlib
import os
import re
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from joblib import parallel_config

from vase.sweeps import BACKENDS, Backend
from vase.sweeps.ray_guard import guarded

MIN_WORKERS = 2
"""Workers of every backend, at least: joblib would run a single one inside the calling process."""


@contextmanager
def engine(backend: Backend, jobs: int, address: str | None = None) -> Iterator[None]:
    """Run every `joblib.Parallel` inside the block on `jobs` workers of a backend, one thread per task.

    Without the address of a running Ray or Dask cluster, one is started on this machine, and ended with the block.
    """
    check(backend, address)
    start = {"processes": _processes, "ray": _ray, "dask": _dask}[backend]
    with start(jobs, address):
        yield


def check(backend: str, address: str | None = None) -> None:
    """Refuse a backend that does not exist, is not installed, or takes no address."""
    if backend not in BACKENDS:
        raise ValueError(f"backend={backend!r}: must be one of {', '.join(BACKENDS)}.")
    if backend == "processes" and address is not None:
        raise ValueError(f"address={address!r}: processes run on this machine; leave it out, or use ray or dask.")
    for module in {"ray": ("ray",), "dask": ("dask", "distributed")}.get(backend, ()):
        try:
            importlib.import_module(module)
        except ImportError:
            raise ModuleNotFoundError(
                f"{module} is not installed: pip install {module}, or use the backend processes."
            ) from None


@contextmanager
def _processes(jobs: int, address: str | None) -> Iterator[None]:
    with warnings.catch_warnings():
        # Workers whose memory has grown are replaced between two runs; that is intended.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given", UserWarning)
        with parallel_config("loky", n_jobs=max(MIN_WORKERS, jobs), inner_max_num_threads=1):
            yield


@contextmanager
def _ray(jobs: int, address: str | None) -> Iterator[None]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")  # by default, Ray's workers run at low priority
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # Ray's future default; avoids a warning
    ray: Any = importlib.import_module("ray")
    mine, session = not ray.is_initialized(), None
    if mine:
        here: dict[str, Any] = {"num_cpus": max(MIN_WORKERS, jobs), "include_dashboard": False}
        known = address or os.environ.get("RAY_ADDRESS")
        try:
            _reach(known)
            joined = ray.init(**({"address": known} if known else here), log_to_driver=False, logging_level="error")
            session = None if known else joined.address_info["session_dir"]
        except (OSError, RuntimeError, ValueError) as error:
            what = "Ray could not be started on this machine"
            remedy = "use the backend processes, or give the address of a running cluster"
            if known:
                what = f"no Ray cluster at {known!r}"
                remedy = "start one with ray start --head, or leave out the address to start one on this machine"
            raise OSError(f"{what} ({_first_line(error)}); {remedy}.") from error
    try:
        cpus = int(ray.cluster_resources().get("CPU", 0))
        if cpus < jobs:
            raise ValueError(f"jobs={jobs}: the Ray cluster has {cpus} CPUs; ask for fewer, or add machines.")
        if cpus < MIN_WORKERS:
            raise ValueError(
                f"jobs={jobs}: the Ray cluster has {cpus} CPU, but needs {MIN_WORKERS} even for one job, which joblib "
                "would otherwise run inside the driver; add a CPU, or use the backend processes."
            )
        importlib.import_module("ray.util.joblib").register_ray()
        each = {"num_cpus": 1, "scheduling_strategy": "SPREAD"}
        with (
            nullcontext() if session is None else guarded(session),
            parallel_config("ray", n_jobs=max(MIN_WORKERS, jobs), ray_remote_args=each),
        ):
            yield
    finally:
        if mine:
            ray.shutdown()


def _reach(address: str | None) -> None:
    """Fail fast if HOST:PORT does not answer; Ray itself would wait for minutes."""
    if address and (match := re.fullmatch(r"([^/:]+):(\d+)", address)):
        socket.create_connection((match[1], int(match[2])), timeout=10).close()


@contextmanager
def _dask(jobs: int, address: str | None) -> Iterator[None]:
    distributed: Any = importlib.import_module("distributed")
    cluster: Any = address
    if address is None:
        workers = {"n_workers": max(MIN_WORKERS, jobs), "threads_per_worker": 1, "processes": True}
        cluster = distributed.LocalCluster(**workers, dashboard_address=None, silence_logs="ERROR")
    try:
        try:
            client = distributed.Client(cluster, timeout=10)
        except (OSError, TimeoutError, ValueError) as error:
            raise OSError(
                f"no Dask cluster at {address!r} ({_first_line(error)}); start one with dask scheduler and dask "
                "worker, or leave out the address to start one on this machine."
            ) from error
        if address is None:
            client.run(os.setsid)  # Ctrl-C reaches the driver alone, which stops the workers
        with client, parallel_config("dask", n_jobs=max(MIN_WORKERS, jobs), client=client):
            yield
    finally:
        if address is None:
            cluster.close()


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
