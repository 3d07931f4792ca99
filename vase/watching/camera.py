"""A camera that may go away and come back: a device, or a stream at an address."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import numpy as np

from vase.watching.frames import Broken, Event, Frame, Notice
from vase.watching.video import decoded, require_av, upright, video_stream

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds before the first attempt to find a lost camera again, and at most: each wait is twice the one before."""
OPEN_TIMEOUT, READ_TIMEOUT = 15.0, 10.0
"""Seconds after which a camera that does not answer counts as lost."""
Open = Callable[[], Iterator[np.ndarray | Exception]]
"""Opens the camera: its frames, and an exception in place of each that is broken. Ends or raises when it goes away."""
_SYSTEMS = {"linux": ("v4l2", "/dev/video{}"), "darwin": ("avfoundation", "{}")}


class CameraLost(OSError):
    """The camera cannot be opened or read."""


class Camera:
    """The frames of a camera, with attempts to find it again when it goes away, for as long as the watch lasts."""

    def __init__(self, target: str, open: Open | None = None) -> None:
        """`target`: a number, a device such as /dev/video0, or an address such as rtsp://...; `open` replaces PyAV."""
        self.target, self.name = target, without_password(target)
        self.frames = 0
        self._open = open or self._open_device
        if open is None:
            require_av()

    def events(self, wait: Callable[[float], bool]) -> Iterator[Event]:
        """Frames; a notice when the camera is lost and when it is back."""
        pause, lost = FIRST_WAIT, False
        while not wait(0):
            reason = "it sends nothing more"
            try:
                with closing(self._open()) as frames:  # type: ignore[type-var]  # iterators of PyAV are generators
                    for found in frames:
                        if wait(0):
                            return
                        if lost:
                            yield Notice("back", f"camera {self.name} is back")
                        pause, lost = FIRST_WAIT, False
                        yield self._event(found)
            except OSError as error:
                reason = str(error.strerror or error)
            if wait(0):
                return
            if not lost:
                what, until = ("is lost", "is back") if self.frames else ("gives no picture", "does")
                yield Notice("lost", f"camera {self.name} {what} ({reason}); trying again until it {until}")
            lost = True
            if wait(pause):
                return
            pause = min(2 * pause, LONGEST_WAIT)

    def _event(self, found: np.ndarray | Exception) -> Event:
        self.frames += 1
        label = f"frame {self.frames}"
        if isinstance(found, Exception):
            return Broken(label, str(getattr(found, "strerror", None) or found))
        return Frame(found, label, datetime.now(UTC).isoformat(timespec="milliseconds"))

    def _open_device(self) -> Iterator[np.ndarray | Exception]:
        av = require_av()
        address, kind = device(self.target, sys.platform)
        try:
            with av.open(address, format=kind, timeout=(OPEN_TIMEOUT, READ_TIMEOUT)) as container:
                for found in decoded(container, video_stream(container, self.name)):
                    broken = isinstance(found, Exception)
                    yield found if broken else upright(found.to_ndarray(format="rgb24"), found.rotation)
        except (av.FFmpegError, ValueError) as error:
            raise CameraLost(str(getattr(error, "strerror", None) or error)) from error

    def state_dict(self) -> dict[str, Any]:
        """How many frames there were."""
        return {"frames": self.frames}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Count on: what a camera showed meanwhile is gone."""
        self.frames = int(state["frames"])


def device(target: str, platform: str) -> tuple[str, str | None]:
    """The address and format under which a camera is opened.

    >>> device("0", "linux"), device("/dev/video2", "linux"), device("rtsp://door/1", "darwin")
    (('/dev/video0', 'v4l2'), ('/dev/video2', 'v4l2'), ('rtsp://door/1', None))
    """
    if "://" in target:
        return target, None
    if platform not in _SYSTEMS:
        raise CameraLost(f"cameras of {platform} are not supported; pipe frames to standard input instead")
    kind, pattern = _SYSTEMS[platform]
    return (pattern.format(target) if target.isdigit() else target), kind


def without_password(address: str) -> str:
    """An address without the user and password in it, which belong into no file.

    >>> without_password("rtsp://me:secret@door/1"), without_password("/dev/video0")
    ('rtsp://door/1', '/dev/video0')
    """
    return re.sub(r"(?<=://)[^/]*@", "", address)
