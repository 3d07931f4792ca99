"""Sources of frames: which kind a text, a number or an iterable stands for, and what every source can do."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from vase.watching.arrays import ArraySource
from vase.watching.camera import Camera
from vase.watching.folder import FolderSource
from vase.watching.frames import Event
from vase.watching.pipe import PipeSource
from vase.watching.video import VideoSource

Wait = Callable[[float], bool]
"""Wait for some seconds; whether the watch is to stop."""
AnySource = str | int | os.PathLike[str] | Iterable[Any]


@runtime_checkable
class Source(Protocol):
    """Hands out frames, one after the other."""

    @property
    def name(self) -> str:
        """What it is called in rows; two sources of the same name are the same one."""

    def events(self, wait: Wait) -> Iterator[Event]:
        """Frames, broken frames and notices, until the source ends or `wait` says that the watch is to stop."""

    def state_dict(self) -> dict[str, Any]:
        """What has been handed out so far."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on after what a `state_dict()` had handed out, as far as the source can be rewound."""


def open_source(source: AnySource | Source, *, idle: float | None = None, raw: str = "") -> Source:
    """The source that a text, a path, a number or an iterable of arrays stands for.

    Args:
        source: a folder, a video file, a camera (its number, its device or an address such as rtsp://...), "-" for
            standard input, or arrays (H, W) or (H, W, 3) of uint8, or of floats in [0, 1].
        idle: seconds without a new picture after which a folder ends; None waits for ever.
        raw: WIDTHxHEIGHT of raw frames on standard input, 3 bytes per pixel, or 1 with "WIDTHxHEIGHTx1".
    """
    if isinstance(source, Source):
        return source
    if not isinstance(source, str | int | os.PathLike):
        return ArraySource(source)
    text = os.fspath(source) if isinstance(source, os.PathLike) else str(source)
    if raw and text != "-":
        raise ValueError(f"raw={raw!r}: only frames on standard input can be raw; name the source -, or leave it out.")
    if text == "-":
        return PipeSource.standard_input(raw)
    if text.isdigit() or text.startswith("/dev/") or "://" in text:
        return Camera(text)
    path = Path(text).expanduser()
    if path.is_dir():
        return FolderSource(path, idle)
    if path.is_file():
        return VideoSource(path)
    raise FileNotFoundError(
        f"source {text!r} does not exist; name a folder, a video file, a camera (0 or /dev/video0), an address "
        "(rtsp://...), or - for frames on standard input."
    )
