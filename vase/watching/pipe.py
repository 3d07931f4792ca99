"""Frames on standard input: PNG or JPEG files one after the other, or raw pixels of a given size."""

from __future__ import annotations

import io
import os
import re
import select
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, BinaryIO

import numpy as np

from vase.watching.frames import Broken, Event, Frame
from vase.worlds.pictures import REMEDY, read_picture

MAX_BYTES = 64_000_000
"""Of one frame."""
PNG, JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
_CHUNK = 1 << 16
_POLL = 0.2  # seconds after which a silent pipe is asked whether the watch is to stop
_NO_LENGTH = frozenset({0x01, *range(0xD0, 0xD9)})  # JPEG markers without a segment


class PipeSource:
    """The frames of a binary stream."""

    name = "standard input"

    def __init__(self, stream: BinaryIO, raw: str = "") -> None:
        """`raw`: WIDTHxHEIGHT, or WIDTHxHEIGHTx1 for grey frames; empty for PNG and JPEG files."""
        self.stream, self.shape = stream, raw_shape(raw) if raw else None
        self.frames = 0

    @classmethod
    def standard_input(cls, raw: str = "") -> PipeSource:
        """The standard input of this process, which must not be a terminal."""
        if sys.stdin is None or sys.stdin.isatty():
            raise ValueError("source -: standard input is a terminal; pipe PNG, JPEG or raw frames into the command.")
        return cls(sys.stdin.buffer, raw)

    def events(self, wait: Callable[[float], bool]) -> Iterator[Event]:
        """The frames until the stream ends."""
        data = _Buffer(self.stream, wait)
        for found in _raw(data, self.shape) if self.shape else _pictures(data):
            self.frames += 1
            label = f"frame {self.frames}"
            if isinstance(found, ValueError):
                yield Broken(label, str(found).removesuffix(REMEDY))
            else:
                yield Frame(found, label, datetime.now(UTC).isoformat(timespec="milliseconds"))

    def state_dict(self) -> dict[str, Any]:
        """How many frames there were."""
        return {"frames": self.frames}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Count on; what is piped in now is new."""
        self.frames = int(state["frames"])


def raw_shape(text: str) -> tuple[int, int, int]:
    """Height, width and channels of raw frames.

    >>> raw_shape("640x480"), raw_shape("640x480x1")
    ((480, 640, 3), (480, 640, 1))
    """
    found = re.fullmatch(r"(\d{1,5})x(\d{1,5})(?:x([13]))?", text)
    shape = (int(found[2]), int(found[1]), int(found[3] or 3)) if found else (0, 0, 0)
    if not 0 < shape[0] * shape[1] * shape[2] <= MAX_BYTES:
        raise ValueError(f"raw={text!r}: must be WIDTHxHEIGHT, or WIDTHxHEIGHTx1 for grey, e.g. 640x480.")
    return shape


class _Buffer:
    """Bytes of a stream as they arrive; what is needed is waited for."""

    def __init__(self, stream: BinaryIO, wait: Callable[[float], bool]) -> None:
        self._stream, self._wait = stream, wait
        self.data = bytearray()
        try:
            self._handle: int | None = stream.fileno()
        except (OSError, AttributeError):
            self._handle = None

    def more(self) -> bool:
        """Read what has arrived; False at the end, or if the watch is to stop."""
        while not self._wait(0):
            if self._handle is not None and not select.select([self._handle], [], [], _POLL)[0]:
                continue
            part = self._stream.read(_CHUNK) if self._handle is None else os.read(self._handle, _CHUNK)
            self.data += part
            return bool(part)
        return False

    def has(self, count: int) -> bool:
        """Whether so many bytes are there, once they have been waited for."""
        if count > MAX_BYTES:
            raise ValueError(f"a frame of more than {MAX_BYTES:,} bytes; send smaller ones")
        while len(self.data) < count:
            if not self.more():
                return False
        return True

    def take(self, count: int) -> bytes:
        """The first bytes, which are then gone."""
        part = bytes(self.data[:count])
        del self.data[:count]
        return part


def _raw(data: _Buffer, shape: tuple[int, int, int]) -> Iterator[np.ndarray | ValueError]:
    size = shape[0] * shape[1] * shape[2]
    while data.has(size):
        pixels = np.frombuffer(data.take(size), np.uint8).reshape(shape)
        yield pixels[:, :, 0] if shape[2] == 1 else pixels
    if data.data:
        yield ValueError(f"{len(data.data)} bytes at the end of the stream are no whole frame of {size}")


def _pictures(data: _Buffer) -> Iterator[np.ndarray | ValueError]:
    """PNG and JPEG files. After bytes that are neither, the next beginning of a file is looked for."""
    while data.has(1):
        try:
            size = _file_size(data)
        except ValueError as error:
            yield error
            data.take(1)
            _skip(data)
            continue
        if not size:
            if data.has(1):
                yield ValueError("the stream ends within a frame")
            return
        try:
            yield np.asarray(read_picture(io.BytesIO(data.take(size))))
        except ValueError as error:
            yield error


def _file_size(data: _Buffer) -> int:
    """The size of the file that the data begin with; 0 if the stream ends before it."""
    if not data.has(len(PNG)):
        return 0
    if data.data.startswith(PNG):
        return _png_size(data)
    if data.data.startswith(JPEG):
        return _jpeg_size(data)
    raise ValueError("bytes that begin neither a PNG nor a JPEG file")


def _skip(data: _Buffer) -> None:
    """Drop bytes until a file begins."""
    while data.has(len(PNG)):
        places = [place for place in (data.data.find(PNG), data.data.find(JPEG)) if place >= 0]
        if places:
            data.take(min(places))
            return
        data.take(len(data.data) - len(PNG) + 1)
    data.take(len(data.data))


def _png_size(data: _Buffer) -> int:
    """PNG: chunks of length, type, content and checksum; the last is IEND."""
    end = len(PNG)
    while data.has(end + 8):
        length, kind = int.from_bytes(data.data[end : end + 4], "big"), bytes(data.data[end + 4 : end + 8])
        if not kind.isalpha():
            raise ValueError("a damaged PNG file")
        end += 12 + length
        if kind == b"IEND":
            return end if data.has(end) else 0
        if not data.has(end):
            return 0
    return 0


def _jpeg_size(data: _Buffer) -> int:
    """JPEG: segments of marker and length; after SOS, coded data until a marker that is no part of them."""
    end = 2
    while data.has(end + 2):
        if data.data[end] != 0xFF:
            raise ValueError("a damaged JPEG file")
        marker = data.data[end + 1]
        if marker == 0xFF:  # a fill byte
            end += 1
            continue
        end += 2
        if marker == 0xD9:
            return end
        if marker in _NO_LENGTH:
            continue
        if not data.has(end + 2):
            return 0
        end += int.from_bytes(data.data[end : end + 2], "big")
        if marker == 0xDA:
            end = _coded_end(data, end)
            if not end:
                return 0
    return 0


def _coded_end(data: _Buffer, start: int) -> int:
    """Where the coded data of a JPEG file end; 0 if the stream ends before."""
    place = start
    while data.has(place + 2):
        place = data.data.find(0xFF, place)
        if place < 0:
            place = len(data.data)
        elif place + 1 < len(data.data):
            following = data.data[place + 1]
            if following and not 0xD0 <= following <= 0xD7:
                return place
            place += 2
    return 0
