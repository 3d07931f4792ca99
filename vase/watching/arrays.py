"""Frames from Python: any iterable of arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from vase.images import as_pixels
from vase.watching.frames import Broken, Event, Frame


class ArraySource:
    """An iterable of arrays (H, W) or (H, W, 3): uint8, or floats in [0, 1]."""

    name = "arrays"

    def __init__(self, arrays: Iterable[Any]) -> None:
        self.arrays = arrays
        self.frames = 0

    def events(self, wait: Callable[[float], bool]) -> Iterator[Event]:
        """The arrays as frames; what is no picture is broken."""
        for array in self.arrays:
            if wait(0):
                return
            self.frames += 1
            label = f"frame {self.frames}"
            try:
                frame: Event = Frame(_picture(np.asarray(array)), label)
            except (TypeError, ValueError) as error:
                frame = Broken(label, str(error))
            yield frame

    def state_dict(self) -> dict[str, Any]:
        """How many frames there were."""
        return {"frames": self.frames}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Count on; the caller hands in the frames that are still to come."""
        self.frames = int(state["frames"])


def _picture(array: np.ndarray) -> np.ndarray:
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (1, 3)) or 0 in array.shape:
        raise ValueError(f"a frame of shape {array.shape}: must be (H, W) or (H, W, 3).")
    return as_pixels(array[:, :, 0] if array.ndim == 3 and array.shape[2] == 1 else array)
