"""What this machine can do, found by trying: memory that stays, and half precision that works."""

from __future__ import annotations

import functools
import platform
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import torch

_PAYS = 1.1
"""Half precision must be this much faster before it is used."""


def cpu_name() -> str:
    """The processor's own name for itself, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


@functools.cache
def commit() -> str | None:
    """The commit of the working copy that this package is imported from; "+" if files differ, None without git."""
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, timeout=20, check=True)
        changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "."], timeout=20, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return head.stdout.strip() + ("+" if changed.returncode else "")


@dataclass(frozen=True)
class HalfPrecision:
    """What became of the attempt to train a convolution in bfloat16."""

    works: bool
    speed: float
    """Times as fast as float32; 0 if it does not work."""
    reason: str

    @property
    def pays(self) -> bool:
        """Whether it is worth using."""
        return self.works and self.speed >= _PAYS


@functools.cache
def half_precision() -> HalfPrecision:
    """Try bfloat16 on this machine's CPU in a process of its own, which dies where listed instructions are missing.

    The time of a forward and backward pass of the decoder's widest convolution is compared with that in float32.
    """
    command = [sys.executable, "-c", "from vase.machine import trial; print(trial())"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return HalfPrecision(False, 0.0, f"bfloat16 could not be tried ({error})")
    if done.returncode != 0:
        how = f"died of signal {-done.returncode}" if done.returncode < 0 else f"failed with code {done.returncode}"
        return HalfPrecision(False, 0.0, f"a bfloat16 convolution {how} in a trial process")
    speed = float(done.stdout.strip().splitlines()[-1])
    return HalfPrecision(True, speed, f"a bfloat16 convolution takes {1 / speed:.2f} times as long as a float32 one")


def works(device: torch.device) -> bool:
    """Whether bfloat16 can be used on a device at all."""
    return torch.cuda.is_bf16_supported() if device.type == "cuda" else device.type == "cpu" and half_precision().works


def half_on(device: torch.device) -> bool:
    """Whether bfloat16 is worth using on a device."""
    return works(device) and (device.type == "cuda" or half_precision().pays)


def use_half_precision(precision: str, device: torch.device, workers: int = 1) -> bool:
    """Whether networks compute in bfloat16. Several workers on CPUs, each of which would time it for itself, do not."""
    if precision == "bfloat16" and not works(device):
        reason = half_precision().reason
        raise ValueError(f"network.precision='bfloat16': not usable here ({reason}); use 'float32' or 'auto'.")
    return precision == "bfloat16" or (precision == "auto" and workers == 1 and half_on(device))


def resolve_device(name: str) -> torch.device:
    """A device that works, or an error that says which do."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros((), device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"device={name!r}: not usable here ({reason}); use 'auto', 'cpu' or another device."
        ) from error
    return device


def trial() -> float:
    """How many times as fast as float32 a convolution trains in bfloat16; may kill the process."""
    torch.set_num_threads(1)

    def step(dtype: torch.dtype) -> float:
        x = torch.randn(64, 32, 16, 16).to(dtype).contiguous(memory_format=torch.channels_last).requires_grad_()
        weight = torch.randn(32, 32, 4, 4).to(dtype).requires_grad_()
        begin = time.perf_counter()
        torch.nn.functional.conv2d(x, weight, stride=2, padding=1).square().sum().backward()
        return time.perf_counter() - begin

    times = {dtype: sorted(step(dtype) for _ in range(30))[10] for dtype in (torch.float32, torch.bfloat16)}
    return times[torch.float32] / times[torch.bfloat16]
