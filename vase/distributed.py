"""Data-parallel workers that train one learner: each has a shard of every batch, and all take the same decisions.

`torchrun --nproc-per-node 2 -m vase train ...` starts them; `init_distributed` joins them. Without torchrun there is
one worker, and nothing here does anything.
"""

from __future__ import annotations

import atexit
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar, cast

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

TIMEOUT = timedelta(minutes=10)
"""How long a worker waits for another; the longest wait is for the first worker to fetch data or to train probes."""
SETTLE = 0.5
"""Seconds for the threads of the group to drop their tensors."""
_ENVIRONMENT = ("RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
_LOSS = re.compile(r"gloo|nccl|connection (closed|reset|refused)|broken pipe|socket", re.IGNORECASE)
_Result = TypeVar("_Result")
_Batch = TypeVar("_Batch", Tensor, np.ndarray)


class LostWorkers(ConnectionError):
    """Another worker died or cannot be reached."""


@dataclass(frozen=True)
class Distributed:
    """The workers that train one learner. With one worker every method is the identity.

    All workers must call the methods in the same order, `shard` and `wrap` apart, which are local.
    """

    rank: int = 0
    size: int = 1

    @property
    def is_main_process(self) -> bool:
        """Whether this is rank 0, which writes files and runs evaluation."""
        return self.rank == 0

    def mean(self, values: Tensor) -> Tensor:
        """The mean over workers, without gradient; the same bits on all of them."""
        values = values.detach()
        if self.size == 1:
            return values
        first, *others = self._all_gather(values)
        for other in others:  # in the order of the ranks: an all-reduce may add up in any order
            first = first + other
        return first / self.size

    def gather(self, x: Tensor) -> Tensor:
        """The whole batch, of which each worker has a shard; in the order of the ranks."""
        if self.size == 1:
            return x
        self.require_equal_shards(len(x))
        return torch.cat(self._all_gather(x.detach()))

    def require_equal_shards(self, n: int) -> None:
        """Refuse shards of different sizes, on all workers: their means would not be those of the whole batch."""
        if self.size == 1:
            return
        sizes = [int(size) for size in self._all_gather(torch.tensor([n]))]
        if len(set(sizes)) > 1:
            raise ValueError(f"shards of {sizes} images: must be equally large; use Distributed.shard to cut a batch.")

    def shard(self, x: _Batch) -> _Batch:
        """This worker's part of a whole batch."""
        if self.size == 1:
            return x
        part, rest = divmod(len(x), self.size)
        if rest:
            raise ValueError(
                f"a batch of {len(x)} for {self.size} workers: must be divisible by their number; "
                f"use {part * self.size} or {(part + 1) * self.size} images."
            )
        return x[self.rank * part : (self.rank + 1) * part]

    def any(self, flag: bool) -> bool:
        """Whether the flag is set on any worker."""
        if self.size == 1:
            return flag
        return any(int(value) for value in self._all_gather(torch.tensor([flag], dtype=torch.uint8)))

    def barrier(self) -> None:
        """Wait for all workers."""
        self.any(False)

    def on_main_process(self, work: Callable[[], _Result]) -> _Result:
        """Do something on the first worker; all get its result, or its error."""
        if self.size == 1:
            return work()
        box: list[Any] = [None, None]
        if self.is_main_process:
            try:
                box[0] = work()
            except Exception as error:
                dist.broadcast_object_list([None, _portable(error)], device=torch.device("cpu"))
                raise
        dist.broadcast_object_list(box, device=torch.device("cpu"))
        if box[1] is not None:
            raise box[1]
        return cast(_Result, box[0])

    def wrap(self, module: nn.Module) -> nn.Module:
        """The module with gradients averaged over workers; all must have built it from the same seed or checkpoint."""
        if self.size == 1:
            return module
        return DistributedDataParallel(module, forward_sync_buffers=False, init_sync=False)

    def _all_gather(self, x: Tensor) -> list[Tensor]:
        x = x.contiguous()
        parts = [torch.empty_like(x) for _ in range(self.size)]
        dist.all_gather(parts, x)
        return parts


def get_distributed() -> Distributed:
    """The workers of this process group; one if there is none."""
    if dist.is_available() and dist.is_initialized():
        return Distributed(dist.get_rank(), dist.get_world_size())
    return Distributed()


@contextmanager
def init_distributed(device: str = "auto", timeout: timedelta = TIMEOUT) -> Iterator[Distributed]:
    """Join the workers that torchrun started; alone without torchrun.

    Raises:
        LostWorkers: another worker died, or did not answer in time.
    """
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1 or get_distributed().size > 1:  # nobody else, or the caller has joined them already
        yield get_distributed()
        return
    for name in _ENVIRONMENT:
        if name not in os.environ:
            raise ValueError(f"WORLD_SIZE={size}, but {name} is not set: start the workers with torchrun.")
    rank = int(os.environ["RANK"])
    backend = _backend(device, int(os.environ["LOCAL_RANK"]), size)
    try:
        dist.init_process_group(backend, timeout=timeout)
        atexit.register(_leave)  # after an error: closed at once, it would end the others before this one can speak
        yield get_distributed()
        _leave()
    except BaseException as error:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # torchrun stops all when one ends; each may say why it ends
        if not (isinstance(error, dist.DistError) or (type(error) is RuntimeError and _LOSS.search(str(error)))):
            raise
        raise LostWorkers(
            f"worker {rank} of {size} lost the others ({_reason(error)}): one of them died or cannot be reached; its "
            "own message, if it left one, says why. Start again with --resume to continue from the last checkpoint."
        ) from error


def _backend(device: str, local_rank: int, size: int) -> str:
    """What the workers talk through; each takes the GPU of its local rank."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        return "gloo"
    if device != "cuda":
        raise ValueError(
            f"device={device!r} with {size} workers: must be 'auto', 'cpu' or 'cuda', where each worker takes the GPU "
            "of its local rank; choose GPUs by CUDA_VISIBLE_DEVICES."
        )
    if local_rank >= torch.cuda.device_count():
        raise ValueError(
            f"worker {local_rank} of this machine has no GPU: {torch.cuda.device_count()} can be seen; start as many "
            "workers with --nproc-per-node, or use --device cpu."
        )
    torch.cuda.set_device(local_rank)
    return "cpu:gloo,cuda:nccl"


def _leave() -> None:
    """End the group, once its threads are done with the last tensors they were given.

    They need the interpreter for that, and what follows never lets go of it: a thread that still waits would make the
    process hang or abort at its exit.
    """
    if dist.is_initialized():
        time.sleep(SETTLE)
        dist.destroy_process_group()


def _portable(error: Exception) -> Exception:
    """The error in a form that any other process can raise: of its built-in kind, with its message."""
    for kind in (FileExistsError, FileNotFoundError, OSError, ValueError, TypeError, ModuleNotFoundError):
        if isinstance(error, kind):
            return kind(str(error))
    return OSError(f"{type(error).__name__}: {error}")


def _reason(error: BaseException) -> str:
    """What the library says, in a few words."""
    text = re.sub(r"\[[^\]]*\.cc:\d+\]", "", str(error).splitlines()[0])
    return " ".join(text.split(". ")[0].split())[:160].strip(" .:")
