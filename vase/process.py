"""Settings of the whole process, which only commands make, never the import of the library. Imports nothing heavy."""

from __future__ import annotations

import ctypes
import os
import sys

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4


def keep_memory() -> bool:
    """Make glibc keep freed memory instead of returning it to the system; returns whether that succeeded.

    A training step allocates and frees the same tensors again and again. By default glibc returns large ones to the
    system each time, and every page is fetched and zeroed anew: in a virtual machine that can double a step's time. It
    concerns the whole process, so that only the commands of `vase` call it, never the import of the library.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc
        return False
    wishes = ((_M_MMAP_MAX, 0), (_M_TRIM_THRESHOLD, 2**31 - 1), (_M_TOP_PAD, 64 << 20))
    return [mallopt(name, value) for name, value in wishes] == [1, 1, 1]


def silence_other_ranks() -> None:
    """Silence the standard output of all workers but the first; errors are still shown."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and int(os.environ.get("RANK", "0")) > 0:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
