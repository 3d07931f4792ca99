"""Frames on standard input: PNG and JPEG files one after the other, or raw pixels."""

from __future__ import annotations

import io
import os
import threading

import numpy as np
import pytest
from films import noise
from PIL import Image

from vase.watching.frames import Broken, Event, Frame
from vase.watching.pipe import PipeSource, raw_shape


def never(seconds: float) -> bool:
    return False


def encoded(pixels: np.ndarray, kind: str, **options: object) -> bytes:
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, kind, **options)
    return data.getvalue()


def read(data: bytes, raw: str = "") -> list[Event]:
    return list(PipeSource(io.BytesIO(data), raw).events(never))


def test_png_and_jpeg_files_follow_each_other() -> None:
    frames = noise(1, 4, size=(24, 40))
    ways = [("PNG", {}), ("JPEG", {}), ("JPEG", {"progressive": True}), ("PNG", {"optimize": True})]
    found = read(b"".join(encoded(x, kind, **options) for x, (kind, options) in zip(frames, ways, strict=True)))
    assert [type(event) for event in found] == [Frame] * 4
    np.testing.assert_array_equal(found[0].pixels, frames[0])
    np.testing.assert_array_equal(found[3].pixels, frames[3])
    assert found[1].pixels.shape == found[2].pixels.shape == (24, 40, 3)


def test_a_thumbnail_within_a_jpeg_file_is_no_frame() -> None:
    """An EXIF segment may hold a whole JPEG file, with its own end."""
    inner, outer = encoded(noise(1, 1)[0], "JPEG"), encoded(noise(1, 1, size=(32, 32))[0], "JPEG")
    segment = b"\xff\xe1" + (len(inner) + 2).to_bytes(2, "big") + inner
    found = read((outer[:2] + segment + outer[2:]) * 2)
    assert [event.pixels.shape for event in found] == [(32, 32, 3)] * 2


def test_broken_bytes_are_skipped_to_the_next_file() -> None:
    good = encoded(noise(1, 1)[0], "PNG")
    bad = bytearray(good)
    bad[60:70] = bytes(10)  # within the pixels: the checksum is wrong
    found = read(good + b"rubbish" * 3 + good + bytes(bad) + good + good[:40])
    assert [type(event) for event in found] == [Frame, Broken, Frame, Broken, Frame, Broken]
    assert "begin neither a PNG nor a JPEG" in found[1].reason
    assert "ends within a frame" in found[5].reason
    assert "remove it" not in found[3].reason, "there is no file to repair"


def test_raw_frames_have_the_given_size() -> None:
    frames = noise(1, 3, size=(4, 6))
    found = read(frames.tobytes(), "6x4")
    np.testing.assert_array_equal(np.stack([event.pixels for event in found]), frames)
    grey = read(frames.tobytes() + b"rest", "6x4x1")
    assert [type(event) for event in grey] == [Frame] * 9 + [Broken]
    assert grey[0].pixels.shape == (4, 6)
    assert "4 bytes at the end" in grey[9].reason


@pytest.mark.parametrize("text", ["640", "0x4", "4x4x2", "99999x99999", "4X4", "-4x4"])
def test_sizes_of_raw_frames_are_checked(text: str) -> None:
    with pytest.raises(ValueError, match="must be WIDTHxHEIGHT"):
        raw_shape(text)


def test_a_silent_pipe_can_be_left() -> None:
    """Nobody writes, and the watch is stopped: the source ends instead of blocking in read."""
    receiver, sender = os.pipe()
    stop = threading.Event()
    with os.fdopen(receiver, "rb") as stream, os.fdopen(sender, "wb"):
        threading.Timer(0.1, stop.set).start()
        assert list(PipeSource(stream).events(stop.wait)) == []


def test_a_frame_arrives_in_pieces() -> None:
    receiver, sender = os.pipe()
    data = encoded(noise(1, 1)[0], "PNG")
    with os.fdopen(receiver, "rb") as stream:
        events = PipeSource(stream).events(never)
        os.write(sender, data[:30])
        threading.Timer(0.05, lambda: (os.write(sender, data[30:]), os.close(sender))).start()
        np.testing.assert_array_equal(next(events).pixels, noise(1, 1)[0])
        assert list(events) == []
