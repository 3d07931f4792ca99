"""A video file, decoded with PyAV (the extra `video`)."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8

from vase.extras import install_command
from vase.watching.frames import Broken, Event, Frame

MAX_PIXELS = 64_000_000
"""Of a frame that is decoded."""
MAX_FAILURES = 100
"""Packets in a row that cannot be decoded; after so many the file is given up."""


def require_av() -> Any:
    """PyAV; it is imported when the first video is opened."""
    try:
        return importlib.import_module("av")
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"videos and cameras are read with PyAV, which is not installed: {install_command('video')}."
        ) from None


def video_stream(container: Any, name: str) -> Any:
    """The first video stream of an open file or camera."""
    if not container.streams.video:
        raise ValueError(f"{name!r} has no video in it; name a file with pictures that move.")
    stream = container.streams.video[0]
    context = stream.codec_context
    if context is None or context.width * context.height == 0:
        raise ValueError(f"{name!r} cannot be decoded: its first frame is damaged; repair it or name another file.")
    if context.width * context.height > MAX_PIXELS:
        size = f"{context.width}×{context.height}"
        raise ValueError(f"{name!r} has frames of {size} pixels, more than {MAX_PIXELS:,}; shrink it.")
    return stream


def decoded(container: Any, stream: Any) -> Iterator[Any]:
    """The frames of a stream; an exception in place of each packet that cannot be decoded."""
    av = require_av()
    failures = 0
    for packet in container.demux(stream):
        try:
            for frame in packet.decode():
                failures = 0
                yield ValueError("it is marked as corrupt") if frame.is_corrupt else frame
        except av.FFmpegError as error:
            failures += 1
            if failures > MAX_FAILURES:
                raise
            yield error


def upright(pixels: UInt8[np.ndarray, "H W c"], degrees: int) -> UInt8[np.ndarray, "h w c"]:
    """A frame turned anticlockwise, as the camera that was held sideways asks for."""
    return np.rot90(pixels, round(degrees / 90) % 4)


class VideoSource:
    """The frames of a video file, from the first to the last."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, str(path)
        self.frames = 0
        """Frames handed out so far, broken ones included."""

    def events(self, wait: Callable[[float], bool]) -> Iterator[Event]:
        """The frames after those that were handed out already, which are decoded again and passed over."""
        av = require_av()
        try:
            container = av.open(str(self.path), metadata_errors="replace")
        except av.FFmpegError as error:
            reason = error.strerror or error
            raise ValueError(f"video {self.name!r} cannot be opened ({reason}); name a video or a folder.") from error
        with container:
            seen = 0
            try:
                for found in decoded(container, video_stream(container, self.name)):
                    seen += 1
                    if seen <= self.frames:
                        continue
                    if wait(0):
                        return
                    self.frames = seen
                    yield self._event(found)
            except av.FFmpegError as error:
                self.frames = seen + 1
                yield Broken(f"frame {self.frames}", f"{error.strerror or error}; the rest cannot be read")
            if not seen:
                raise ValueError(f"video {self.name!r} has no frame that can be decoded; repair it or name another.")

    def _event(self, found: Any) -> Event:
        label = f"frame {self.frames}"
        if isinstance(found, Exception):
            return Broken(label, str(getattr(found, "strerror", None) or found))
        pixels = upright(found.to_ndarray(format="rgb24"), found.rotation)
        return Frame(pixels, label, None if found.time is None else round(found.time, 3))

    def state_dict(self) -> dict[str, Any]:
        """How many frames were handed out."""
        return {"frames": self.frames}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on after so many frames."""
        self.frames = int(state["frames"])
