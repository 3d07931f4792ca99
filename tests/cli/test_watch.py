"""`vase watch` from end to end."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from films import DAY, NIGHT, film, noise, write_pictures, write_video

from vase.cli import main

OPTIONS = ["--learner", "monitor", "--size", "16", "--batch-size", "16", "--set", "environments.patience=3"]


def test_a_video_is_watched_frozen_and_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    video, out = write_video(tmp_path / "a.mkv", film((DAY, 192), (NIGHT, 96))), tmp_path / "out"
    saved = tmp_path / "saved.json"
    hook = f"{sys.executable} -c 'import sys; open(sys.argv[1], \"w\").write(sys.stdin.read())' {saved}"
    assert main(["watch", str(video), "--out", str(out), *OPTIONS, "--on-switch", hook]) == 0
    said = capsys.readouterr().out
    place = "frame 240, 0:09.6; since about frame 193, 0:07.7"
    assert f"batch 15: environment 0 → 1 (new) [{place}]: darker" in said
    assert f"288 frames in 18 batches. Watch: {out}" in said
    assert shlex.join(["--resume", "--out", str(out), "--on-switch", hook]) in said, "the command is not stored"
    assert json.loads(saved.read_text())["environment"] == 1
    assert main(["watch", "--resume", "--out", str(out)]) == 0
    assert "the source has ended: nothing new" in capsys.readouterr().out
    frozen = ["watch", str(video), "--frozen", "--model", str(out), "--batch-size", "16", "--json"]
    assert main([*frozen, "--out", str(tmp_path / "frozen")]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["step"], row["environment"]) for row in rows if row["kind"] == "switch"] == [(1, 0), (15, 1)]


def test_a_change_at_the_very_end_is_not_passed_over_in_silence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "pictures"
    write_pictures(folder, np.concatenate([noise(DAY, 192), noise(NIGHT, 16)]))
    assert main(["watch", str(folder), "--idle", "0", "--out", str(tmp_path / "out"), *OPTIONS]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "208 frames in 13 batches; the last ones looked unfamiliar, but were too few for a verdict" in said
    assert "which takes 48 frames, or" in said, "as OPTIONS have it: 3 batches of 16"
    assert "--set environments.patience=N" in said


def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path: Path) -> None:
    """The folder never ends: the process is told to stop once it has said that it watches."""
    folder, out = tmp_path / "pictures", tmp_path / "out"
    write_pictures(folder, noise(DAY, 40))
    words = [sys.executable, "-m", "vase", "watch", str(folder), "--out", str(out), "--json", *OPTIONS]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stdout is not None
        rows = [json.loads(process.stdout.readline()) for _ in range(3)]  # the first switch and two batches
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 0
    assert [row["kind"] for row in rows] == ["switch", "step", "step"]
    assert "stopped: 32 frames in 2 batches" in said
    assert main(["watch", "--resume", "--out", str(out), "--idle", "0"]) == 0
    last = json.loads((out / "rows.jsonl").read_text().splitlines()[-1])
    assert (last["step"], last["frames"], last["frame"]) == (3, 40, "00039.png")  # the 8 that were waiting


def test_frames_on_standard_input(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "vase", "watch", "-", "--raw", "16x16", "--out", str(tmp_path / "out"), *OPTIONS]
    done = subprocess.run(words, input=noise(DAY, 33).tobytes(), capture_output=True, env=os.environ, check=True)
    assert b"the source has ended: 32 frames in 2 batches" in done.stdout  # one frame alone is no batch


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["watch"], "no SOURCE"),
        (["watch", "nowhere.mp4"], "source 'nowhere.mp4' does not exist"),
        (["watch", ".", "--frozen"], "--frozen: needs a trained learner"),
        (["watch", ".", "--on-switch", "no-such-program"], "--on-switch no-such-program: no such command"),
        (["watch", ".", "--webhook", "gopher://x"], "must be an address"),
        (["watch", ".", "--model", "nowhere"], "model 'nowhere' does not exist"),
        (["watch", "--resume"], "name the directory of the watch with --out"),
    ],
)
def test_errors_name_the_remedy(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert message in capsys.readouterr().err
