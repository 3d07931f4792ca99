"""A camera that goes away and comes back."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest

from vase.watching.camera import Camera, CameraLost, device
from vase.watching.frames import Broken, Frame, Notice

PICTURE = np.zeros((4, 4, 3), np.uint8)


class Fragile:
    """A camera whose connections are scripted: each is a list of frames and errors, or an error at once."""

    def __init__(self, *connections: list[object]) -> None:
        self.connections = list(connections)

    def __call__(self) -> Iterator[np.ndarray | Exception]:
        for found in self.connections.pop(0):
            if isinstance(found, OSError):
                raise found
            yield found  # type: ignore[misc]


def events(camera: Camera, waits: int) -> tuple[list[object], list[float]]:
    """What it hands out until it has waited so often."""
    pauses: list[float] = []

    def wait(seconds: float) -> bool:
        if seconds:
            pauses.append(seconds)
        return len(pauses) >= waits

    return list(camera.events(wait)), pauses


def test_a_lost_camera_is_looked_for_ever_more_seldom_and_found_again() -> None:
    gone = OSError("unplugged")
    opened = Fragile([PICTURE, PICTURE, gone], [gone], [gone], [PICTURE], [gone])
    found, pauses = events(Camera("0", opened), waits=5)
    assert [type(event) for event in found] == [Frame, Frame, Notice, Notice, Frame, Notice]
    assert [event.event for event in found if isinstance(event, Notice)] == ["lost", "back", "lost"]
    assert "camera 0 is lost (unplugged)" in found[2].text
    assert pauses == [1, 2, 4, 1, 2]  # and once it was back, soon again
    assert [event.label for event in found if isinstance(event, Frame)] == ["frame 1", "frame 2", "frame 3"]


def test_waits_have_an_upper_end() -> None:
    _, pauses = events(Camera("0", Fragile(*[[OSError("off")]] * 9)), waits=9)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_broken_frames_are_handed_out_as_such_and_do_not_end_it() -> None:
    found, _ = events(Camera("0", Fragile([PICTURE, ValueError("noise"), PICTURE])), waits=1)
    assert [type(event) for event in found] == [Frame, Broken, Frame, Notice]
    assert "sends nothing more" in found[3].text


def test_a_device_that_is_not_there_counts_as_lost() -> None:
    found, pauses = events(Camera("/dev/video-of-nobody"), waits=2)
    assert [type(event) for event in found] == [Notice]
    assert re.search(r"gives no picture \(.+\); trying again until it does", found[0].text)  # it was never there
    assert pauses == [1, 2]


def test_passwords_stay_out_of_names() -> None:
    assert Camera("rtsp://me:secret@door/1", Fragile()).name == "rtsp://door/1"


def test_other_systems_are_refused_with_a_way_out() -> None:
    with pytest.raises(CameraLost, match="pipe frames to standard input"):
        device("0", "win32")
