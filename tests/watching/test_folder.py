"""A folder that fills up: each picture once, in order, and none that is still being written."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from films import noise, write_pictures

from vase.watching.folder import SETTLE, FolderSource
from vase.watching.frames import Broken, Frame


def never(seconds: float) -> bool:
    return False


def age(path: Path, seconds: float) -> None:
    """Make a file look as if it had been written some time ago."""
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))


def test_pictures_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    write_pictures(tmp_path, noise(1, 3))
    (tmp_path / "notes.txt").write_text("no picture")
    (tmp_path / ".hidden.png").write_bytes(b"")
    found = list(FolderSource(tmp_path, idle=0).events(never))
    assert [event.label for event in found] == ["00000.png", "00001.png", "00002.png"]
    np.testing.assert_array_equal(found[2].pixels, noise(1, 3)[2])
    assert all(isinstance(event, Frame) and str(event.time).endswith("+00:00") for event in found)


def test_pictures_that_come_while_it_waits_are_found(tmp_path: Path) -> None:
    """Every wait brings one more picture; after three it stops."""
    write_pictures(tmp_path, noise(1, 2))
    waits = []

    def fill(seconds: float) -> bool:
        if seconds:
            waits.append(seconds)
            write_pictures(tmp_path, noise(1, 1), start=1 + len(waits))
        return len(waits) > 3

    labels = [event.label for event in FolderSource(tmp_path).events(fill)]
    assert labels == [f"{i:05d}.png" for i in range(5)]


def test_a_picture_that_is_being_written_is_waited_for_and_a_broken_one_is_not(tmp_path: Path) -> None:
    whole, other = write_pictures(tmp_path, noise(1, 2))
    data = whole.read_bytes()
    whole.write_bytes(data[:200])  # young: perhaps somebody is still writing
    other.write_bytes(b"nonsense")
    age(other, 2 * SETTLE)

    def finish(seconds: float) -> bool:
        if seconds:
            whole.write_bytes(data)
        return False

    found = list(FolderSource(tmp_path, idle=0).events(finish))
    assert [(type(event), event.label) for event in found] == [(Broken, "00001.png"), (Frame, "00000.png")]


def test_a_folder_that_goes_away_is_waited_for(tmp_path: Path) -> None:
    """A share that is unmounted after the first look and mounted again after the second wait."""
    folder, elsewhere = tmp_path / "share", tmp_path / "elsewhere"
    write_pictures(folder, noise(1, 1))
    waits = 0

    def wait(seconds: float) -> bool:
        nonlocal waits
        if seconds:
            waits += 1
            if waits == 1:
                folder.rename(elsewhere)
            if waits == 3:
                write_pictures(elsewhere, noise(1, 1), start=1)
                elsewhere.rename(folder)
        return waits > 4

    found = list(FolderSource(folder).events(wait))
    assert [getattr(event, "event", None) or event.label for event in found] == [
        "00000.png",
        "lost",
        "back",
        "00001.png",
    ]


def test_it_goes_on_after_what_it_has_handed_out(tmp_path: Path) -> None:
    write_pictures(tmp_path, noise(1, 4))
    source = FolderSource(tmp_path, idle=0)
    events = source.events(never)
    assert [next(events).label for _ in range(2)] == ["00000.png", "00001.png"]
    resumed = FolderSource(tmp_path, idle=0)
    resumed.load_state_dict(source.state_dict())
    (tmp_path / "00000.png").unlink()  # what has gone need not be remembered
    assert [event.label for event in resumed.events(never)] == ["00002.png", "00003.png"]
    assert resumed.state_dict() == {"seen": ["00001.png", "00002.png", "00003.png"]}
