"""A video file, decoded frame by frame."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from films import noise, write_video

from vase.watching.frames import Broken, Frame
from vase.watching.sources import open_source
from vase.watching.video import VideoSource, upright


def never(seconds: float) -> bool:
    return False


def test_frames_are_those_that_were_encoded(tmp_path: Path) -> None:
    frames = noise(1, 5, size=(24, 32))
    found = list(VideoSource(write_video(tmp_path / "a.mkv", frames)).events(never))
    np.testing.assert_array_equal(np.stack([event.pixels for event in found]), frames)
    assert [(event.label, event.time) for event in found] == [(f"frame {i + 1}", 0.04 * i) for i in range(5)]


def test_it_goes_on_after_what_it_has_handed_out(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mkv", noise(1, 5))
    source = VideoSource(path)
    events = source.events(never)
    assert [next(events).label for _ in range(3)] == ["frame 1", "frame 2", "frame 3"]
    resumed = VideoSource(path)
    resumed.load_state_dict(source.state_dict())
    rest = list(resumed.events(never))
    assert [event.label for event in rest] == ["frame 4", "frame 5"]
    np.testing.assert_array_equal(rest[0].pixels, noise(1, 5)[3])


def test_a_frame_that_cannot_be_decoded_is_broken_and_the_rest_is_read(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.avi", noise(1, 6, size=(32, 32)), "mjpeg")
    data = bytearray(path.read_bytes())
    starts = [i for i in range(len(data)) if data[i : i + 3] == b"\xff\xd8\xff"]
    assert len(starts) == 6
    data[starts[2] + 300 : starts[2] + 600] = bytes(300)  # within its pixels
    path.write_bytes(data)
    kinds = [type(event) for event in VideoSource(path).events(never)]
    assert kinds == [Frame, Frame, Broken, Frame, Frame, Frame]


def test_what_is_no_video_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_text("no video")
    with pytest.raises(ValueError, match=r"a\.mp4' cannot be opened"):
        list(VideoSource(path).events(never))


def test_a_video_that_ends_within_its_first_frame_is_refused(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mkv", noise(1, 3, size=(64, 64)))
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(ValueError, match=r"a\.mkv' has no frame that can be decoded"):
        list(VideoSource(path).events(never))


def test_a_frame_is_turned_upright() -> None:
    """By 90° anticlockwise: what was at the right is at the top."""
    frame = np.array([[1, 2], [3, 4]], np.uint8)
    assert upright(frame, 90).tolist() == [[2, 4], [1, 3]]
    assert upright(frame, -90).tolist() == [[3, 1], [4, 2]]
    assert upright(frame, 0).tolist() == [[1, 2], [3, 4]]


def test_without_pyav_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'vase-lifelong\[video\]'"):
        open_source("0")


def test_the_kind_of_source_follows_from_its_name(tmp_path: Path) -> None:
    video = write_video(tmp_path / "a.mkv", noise(1, 1))
    kinds = {text: type(open_source(text)).__name__ for text in (str(tmp_path), str(video), "0", "rtsp://door/1")}
    assert list(kinds.values()) == ["FolderSource", "VideoSource", "Camera", "Camera"]
    with pytest.raises(FileNotFoundError, match="source 'nowhere' does not exist"):
        open_source("nowhere")
    with pytest.raises(ValueError, match="only frames on standard input can be raw"):
        open_source(video, raw="4x4")
