"""A watch: batches, rows, snapshots, broken frames, and a resume that leaves no trace of the interruption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from films import DAY, NIGHT, film, noise, write_pictures, write_video
from PIL import Image

import vase
from vase import VASE, ShiftMonitor, VASEConfig, checkpoint
from vase.learners.change import Change
from vase.rows import Row
from vase.training.lock import LostDirectory
from vase.watching.camera import Camera
from vase.watching.directory import WatchDirectory
from vase.watching.observer import Observer
from vase.watching.records import Watched
from vase.watching.session import watch
from vase.watching.settings import WatchSettings

MONITOR = WatchSettings(
    learner="monitor", size=16, batch_size=16, overrides={"environments.patience": 3}, checkpoint_every=7
)
DAY_NIGHT_DAY = ((DAY, 320), (NIGHT, 160), (DAY, 160))
"""20 batches, 10 and 10; changes are announced with the third batch of the other light: 23 and 33."""


def rows(out: Path) -> list[Row]:
    return [json.loads(line) for line in (out / "rows.jsonl").read_text().splitlines()]


def switches(steps: list[Watched]) -> list[tuple[int, int | None, int, bool]]:
    return [(step.step, step.before, step.environment, step.is_new) for step in steps if step.switched]


ANNOUNCED = [(1, None, 0, True), (23, 0, 1, True), (33, 1, 0, False)]


def test_a_video_of_day_night_and_day(tmp_path: Path) -> None:
    video = write_video(tmp_path / "a.mkv", film(*DAY_NIGHT_DAY))
    steps = list(vase.watch(video, out=tmp_path / "out", settings=MONITOR))
    assert switches(steps) == ANNOUNCED
    assert (steps[-1].step, steps[-1].frames, steps[-1].broken) == (40, 640, 0)
    assert (steps[22].label, steps[22].time) == ("frame 368", 14.68)  # the last of batch 23; 25 frames a second
    change = steps[22].change
    assert isinstance(change, Change)
    assert "darker" in change.sentence
    written = rows(tmp_path / "out")
    assert [row["kind"] for row in written].count("step") == 40
    announced = [row for row in written if row["kind"] == "switch"]
    assert [(row["step"], row["from"], row["environment"], row["is_new"]) for row in announced] == ANNOUNCED
    assert Change.from_row(announced[1]["change"]).sentence == change.sentence
    assert announced[1]["frame"] == "frame 368"
    assert (announced[1]["since"], announced[1]["since_time"]) == ("frame 321", 12.8)  # 320 frames before it


def test_a_switch_names_the_frame_since_which_it_has_lasted(tmp_path: Path) -> None:
    """The light changes within batch 21, frames 321 to 336: the first of the three batches that a verdict takes."""
    pictures = write_pictures(tmp_path / "pictures", film((DAY, 324), (NIGHT, 156)))
    steps = list(watch(tmp_path / "pictures", out=tmp_path / "out", settings=MONITOR, idle=0.0))
    (switch,) = [step for step in steps if step.change is not None]
    assert (switch.step, switch.verdict, switch.label, switch.since) == (23, 3, pictures[367].name, pictures[320].name)
    assert [step.since for step in steps if step is not switch] == [pictures[0].name, *[None] * 28]
    assert [row["since"] for row in rows(tmp_path / "out") if row["kind"] == "switch"] == [
        pictures[0].name,
        pictures[320].name,
    ]


def test_a_suspicion_that_comes_to_nothing_is_not_the_beginning_of_a_change() -> None:
    """One dark batch is held and given up; the night that follows later begins with its own first frame."""
    frames = film((DAY, 320), (NIGHT, 16), (DAY, 80), (NIGHT, 160))  # 20 batches, 1, 5 and 10
    steps = list(watch(frames, settings=MONITOR))
    (switch,) = [step for step in steps if step.change is not None]
    assert steps[20].held
    assert (switch.step, switch.since) == (29, "frame 417")


def test_a_snapshot_of_each_environment_is_kept(tmp_path: Path) -> None:
    frames = film(*DAY_NIGHT_DAY)
    steps = list(watch(iter(frames), out=tmp_path / "out", settings=MONITOR))
    folder = tmp_path / "out" / "snapshots"
    assert sorted(path.name for path in folder.iterdir()) == ["000.png", "001.png"]
    np.testing.assert_array_equal(np.asarray(Image.open(folder / "000.png")), frames[15])  # the last of batch 1
    np.testing.assert_array_equal(np.asarray(Image.open(folder / "001.png")), frames[23 * 16 - 1])
    assert [step.snapshot.name for step in steps if step.snapshot] == ["000.png", "001.png", "000.png"]


def test_the_rows_of_a_new_watch_are_not_opened_by_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-Z between its first file and its rows, mv, the same command again, fg."""
    out, frames, write = tmp_path / "out", film((DAY, 32)), WatchDirectory.write

    def write_once(self: WatchDirectory, *arguments: Any) -> None:
        write(self, *arguments)
        monkeypatch.undo()
        out.rename(tmp_path / "gone")
        list(watch(iter(frames), out=out, settings=MONITOR))

    monkeypatch.setattr(WatchDirectory, "write", write_once)
    with pytest.raises(LostDirectory):
        list(watch(iter(frames), out=out, settings=MONITOR))
    assert [row["kind"] for row in rows(out)].count("step") == 2


def interrupted(source: Any, out: Path, after: int, settings: WatchSettings = MONITOR) -> None:
    """Watch so many batches and leave."""
    for step in watch(source, out=out, settings=settings):
        if step.step == after:
            break


@pytest.mark.parametrize("after", [1, 13, 22, 23, 39])
def test_a_watch_that_was_left_goes_on_exactly(tmp_path: Path, after: int) -> None:
    """Also while batches are held (22) and at a switch (23)."""
    video = write_video(tmp_path / "a.mkv", film(*DAY_NIGHT_DAY))
    list(watch(video, out=tmp_path / "whole", settings=MONITOR))
    interrupted(video, tmp_path / "parts", after)
    rest = list(watch(out=tmp_path / "parts", resume=True))
    assert [step.step for step in rest] == list(range(after + 1, 41))
    assert (tmp_path / "parts" / "rows.jsonl").read_bytes() == (tmp_path / "whole" / "rows.jsonl").read_bytes()


KILLED = """
import os, signal, sys
from pathlib import Path
from vase.watching.session import watch
from vase.watching.settings import WatchSettings
settings = WatchSettings(
    learner="monitor", size=16, batch_size=16, overrides={"environments.patience": 3}, checkpoint_every=7
)
for step in watch(Path(sys.argv[1]), out=sys.argv[2], settings=settings):
    if step.step == 26:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_watch_goes_on_from_its_checkpoint_and_its_rows_are_the_same(tmp_path: Path) -> None:
    video = write_video(tmp_path / "a.mkv", film(*DAY_NIGHT_DAY))
    list(watch(video, out=tmp_path / "whole", settings=MONITOR))
    parts = tmp_path / "parts"
    done = subprocess.run([sys.executable, "-c", KILLED, str(video), str(parts)], env=os.environ, check=False)
    assert done.returncode == -signal.SIGKILL
    assert WatchDirectory(parts).checkpoints.steps() == [21, 23]  # every 7, and at the switch
    rest = list(watch(video, out=parts, resume=True))
    assert rest[0].step == 24
    assert (parts / "rows.jsonl").read_bytes() == (tmp_path / "whole" / "rows.jsonl").read_bytes()


def test_the_learner_that_goes_on_is_the_one_that_was_never_stopped(tmp_path: Path) -> None:
    settings = WatchSettings(preset="smoke", batch_size=8, size=16)
    frames = noise(DAY, 48)
    folder = tmp_path / "pictures"
    write_pictures(folder, frames)
    list(watch(folder, out=tmp_path / "whole", settings=settings, idle=0))
    for step in watch(folder, out=tmp_path / "parts", settings=settings, idle=0):
        if step.step == 3:
            break
    list(watch(out=tmp_path / "parts", resume=True))
    one, other = (VASE.load(tmp_path / name).state_dict() for name in ("whole", "parts"))
    (values, tensors), (same, twins) = checkpoint.split_tensors(one), checkpoint.split_tensors(other)
    assert values == same
    assert all(
        np.array_equal(tensor.numpy(), twins[group][name].numpy())
        for group, named in tensors.items()
        for name, tensor in named.items()
    )


def test_a_folder_that_fills_up_while_it_is_watched(tmp_path: Path) -> None:
    """The second half is written only after the first has been learnt."""
    folder = tmp_path / "pictures"
    frames = film((DAY, 16 * 12), (NIGHT, 16 * 6))
    write_pictures(folder, frames[: 16 * 12])
    seen = []
    for step in watch(folder, settings=MONITOR, idle=1.0):
        seen.append(step)
        if step.step == 12:
            write_pictures(folder, frames[16 * 12 :], start=16 * 12)
    assert [step.frames for step in seen] == [16 * n for n in range(1, 19)]
    assert switches(seen) == [(1, None, 0, True), (15, 0, 1, True)]
    assert seen[-1].label == "00287.png"


class Notes(Observer):
    def __init__(self) -> None:
        self.notes: list[str] = []
        self.closed = False

    def on_note(self, text: str) -> None:
        self.notes.append(text)

    def close(self) -> None:
        self.closed = True


def test_broken_frames_are_passed_over_and_counted(tmp_path: Path) -> None:
    frames: list[Any] = list(noise(DAY, 34))
    frames[5] = np.zeros((4, 4, 7), np.uint8)  # no picture
    frames[20] = np.full((4, 4), 7.5)  # out of range
    notes = Notes()
    steps = list(watch(frames, out=tmp_path / "out", settings=MONITOR, observers=[notes]))
    assert [(step.frames, step.broken) for step in steps] == [(17, 1), (34, 2)]
    broken = [row for row in rows(tmp_path / "out") if row["kind"] == "broken"]
    assert [row["frame"] for row in broken] == ["frame 6", "frame 21"]
    assert "shape (4, 4, 7)" in broken[0]["reason"]
    assert [note.partition(":")[0] for note in notes.notes[:2]] == ["skipped frame 6", "skipped frame 21"]
    assert "are too few to report any change" in notes.notes[2]
    assert len(notes.notes) == 3
    assert notes.closed


class Impatient(threading.Event):
    """Waits for nothing."""

    def wait(self, timeout: float | None = None) -> bool:
        return self.is_set()


def test_a_camera_that_goes_away_is_told_of_and_watching_goes_on(tmp_path: Path) -> None:
    connections = [noise(DAY, 20), [], noise(DAY, 30)]
    stop = Impatient()

    def opened() -> Iterator[np.ndarray | Exception]:
        if not connections:
            stop.set()
            return
        yield from connections.pop(0)

    notes = Notes()
    steps = list(watch(Camera("0", opened), out=tmp_path / "out", settings=MONITOR, observers=[notes], stop=stop))
    assert [step.frames for step in steps] == [16, 32, 48]
    told = [(row["event"], row["step"]) for row in rows(tmp_path / "out") if row["kind"] == "source"]
    assert told[:2] == [("lost", 1), ("back", 1)]
    assert "camera 0 is back" in notes.notes


def test_every_nth_frame_is_used_and_the_rest_of_a_source_is_a_smaller_batch() -> None:
    steps = list(watch(noise(DAY, 100), settings=MONITOR, every=3))
    assert [step.frames for step in steps] == [46, 94, 100]  # frames 1, 4, ... 46; 49, ... 94; 97 and 100


def test_frames_of_any_size_are_taken() -> None:
    frames = [*noise(DAY, 8, size=(30, 7)), *noise(DAY, 8, size=(480, 640)), *noise(DAY, 16)[..., 0]]
    assert [step.frames for step in watch(frames, settings=MONITOR)] == [16, 32]


def test_another_source_goes_on_with_the_same_learner(tmp_path: Path) -> None:
    day, night = write_video(tmp_path / "day.mkv", noise(DAY, 320)), write_video(tmp_path / "b.mkv", noise(NIGHT, 160))
    list(watch(day, out=tmp_path / "out", settings=MONITOR))
    steps = list(watch(night, out=tmp_path / "out", resume=True))
    assert switches(steps) == [(23, 0, 1, True)]
    found = [row for row in rows(tmp_path / "out") if row["kind"] == "step"]
    assert [(row["stage"], Path(row["world"]).name) for row in (found[19], found[20])] == [(0, "day.mkv"), (1, "b.mkv")]


def test_a_learner_of_yours_learns(tmp_path: Path) -> None:
    monitor = ShiftMonitor(VASEConfig(image_shape=(1, 16, 16)))
    list(watch(noise(DAY, 128), learner=monitor))
    assert (monitor.steps, monitor.n_environments) == (2, 1)


def test_settings_of_a_resumed_watch_cannot_change_what_it_computes(tmp_path: Path) -> None:
    list(watch(noise(DAY, 32), out=tmp_path, settings=MONITOR))
    with pytest.raises(ValueError, match=r"batch_size=8: .* was started with 16"):
        watch(noise(DAY, 32), out=tmp_path, resume=True, batch_size=8)
    with pytest.raises(FileExistsError, match="is a watch already"):
        watch(noise(DAY, 32), out=tmp_path, settings=MONITOR)
    with pytest.raises(FileNotFoundError, match="is not a watch"):
        watch(noise(DAY, 32), out=tmp_path / "other", resume=True)
    with pytest.raises(ValueError, match="name the directory"):
        watch(noise(DAY, 32), resume=True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"frozen": True}, "needs a trained learner"),
        ({"framing": "squeeze"}, "must be one of crop, letterbox"),
        ({"channels": 4}, "must be 3 .colour. or 1"),
        ({"batch_size": 1}, "must be at least 2"),
        ({"idle": -1.0}, "zero or more"),
        ({"seed": -1}, "must be from 0"),
        ({"model": "m", "overrides": {"capacity.gamma": 1}}, "leave --set out"),
    ],
)
def test_settings_are_checked(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WatchSettings(**given)
