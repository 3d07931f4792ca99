"""The command line: help, errors in one line, output for logs, Ctrl-C in a real process, the demo's directories."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import webbrowser
from pathlib import Path

import pytest
from stop_at import StopAt

from vase import __version__
from vase.cli import main
from vase.cli.demo import demo_directory, demo_settings, show
from vase.training import RunDirectory, RunSettings, make_plan, train

TINY = ["--preset", "smoke", "--batch-size", "4", "--device", "cpu", "--probes", "none"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def error_of(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """The one line that a wrong command prints."""
    assert main(list(argv)) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("vase: error: ")
    assert printed.err.count("\n") == 1, "one line, no traceback"
    return printed.err


# ---------------------------------------------------------------------------------------------------- help and errors


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("", ["demo", "data", "train", "sweep", "report", "figures", "summary", "example: vase demo"]),
        ("train", ["cifar10", "emoji-google", ":classes=0-4+7", "folder:PATH"]),
        ("demo", ["--steps", "default: 1200", "runs/demo", "example: vase demo"]),
        ("data", ["list", "fetch", "suggest"]),
        ("data list", ["example: vase data list"]),
        (
            "data fetch",
            [
                "of mnist, fashion, faces, cifar10, emoji-google, emoji-twitter, digits, glyphs, outdoors, indoors (",
                "example: vase data fetch",
            ],
        ),
        ("data suggest", ["WORLDS", "--canvas N", "--faces DIR", "example: vase data suggest folder:DAY"]),
        ("train", ["--resume", "--set FIELD=VALUE", "laptop 3000", "periodic", "example: vase train --stream"]),
        ("sweep", ["--seeds", "--vary FIELD=V1,V2,...", "{processes,ray,dask}", "runs/sweep", "example: vase sweep"]),
        ("sweep", ["semicolons separate values that contain commas, and end a single one"]),
        ("report", ["RUN", "--out", "example: vase report"]),
        ("explore", ["RUN [RUN ...]", "--port N", "--no-browser", "example: vase explore"]),
        ("figures", ["RUN", "example: vase figures"]),
        ("summary", ["--json", "example: vase summary"]),
        ("share", ["RUN", "--push USER/NAME", "example: vase share"]),
        ("export", ["--onnx DIR", "--torch DIR", "example: vase export"]),
    ],
)
def test_help(capsys: pytest.CaptureFixture[str], command: str, words: list[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main([*command.split(), "--help"])
    assert done.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    for word in words:
        assert word in text


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"vase {__version__}\n"


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--stream", "moving-digts"], "did you mean 'moving-digits'"),
        (["--stream", "digits,,glyphs"], "entry 2 is empty"),
        (["--preset", "labtop"], "did you mean 'laptop'"),
        (["--stream", "digits", "--set", "capacity.gama=3"], "did you mean 'capacity.gamma'"),
        (["--stream", "digits", "--set", "capacity.gamma=much"], "capacity.gamma='much'"),
        (["--stream", "digits", "--set", "gamma"], "write field=value, e.g. --set capacity.gamma=7"),
        (["--stream", "digits", "--steps", "0"], "--steps 0: must be a whole number of at least 1"),
        (["--stream", "digits", "--steps", "many"], "argument --steps: 'many' is not a whole number"),
        (["--stream", "digits", "--set", "steps=5"], "steps is no field of the configuration; write --steps 5"),
        (["--anticipation", "mnist>mnist"], "--anticipation mnist>mnist: write MET>UNMET"),
        (
            ["--stream", "digits,glyphs", "--anticipation", "digits>glyphs", "--probes", "none"],
            "--anticipation digits>glyphs: needs probes; use --probes periodic",
        ),
        (["--stream", "digits", "--sprite", "40"], "canvas = 32 is smaller than sprite = 40"),
        (["--stream", "folder:nowhere"], "image folder 'nowhere' does not exist"),
        (["--stream", "digits", "--resume", "--out", "nowhere"], "nowhere does not exist"),
    ],
)
def test_wrong_input_is_one_line_and_leaves_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, argv: list[str], words: str
) -> None:
    assert words in error_of(capsys, "train", *argv)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["train", "sweep"])
@pytest.mark.parametrize("stream", ["data/day", "digits, data/day*50"])
def test_a_folder_without_its_prefix(capsys: pytest.CaptureFixture[str], command: str, stream: str) -> None:
    Path("data/day").mkdir(parents=True)
    words = "world 'data/day' is unknown, but there is a folder of this name; write folder:data/day"
    assert words in error_of(capsys, command, "--stream", stream)
    assert [path.name for path in Path().iterdir()] == ["data"]


def test_the_command_finds_a_learner_in_the_current_folder(tmp_path: Path) -> None:
    """With -P, Python leaves the current folder out of its path, as for an installed console script."""
    (tmp_path / "mine.py").write_text("from vase import VASE\nclass Mine(VASE): pass\n")
    (tmp_path / "json.py").write_text("raise RuntimeError('a file of the current folder hides a module')\n")
    script = "import sys; from vase.cli import main; sys.exit(main(sys.argv[1:]))"
    words = ["train", "--learner", "mine:Mine", "--stream", "digits*2", "--out", "run", "--quiet", *TINY]
    done = subprocess.run([sys.executable, "-P", "-c", script, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert RunDirectory("run").settings().learner == "mine:Mine"


def test_traceback_on_request() -> None:
    with pytest.raises(ValueError, match="did you mean"):
        main(["--traceback", "train", "--preset", "labtop"])
    with pytest.raises(ValueError, match="at least 1"):
        main(["train", "--traceback", "--steps", "0"])


@pytest.mark.parametrize("command", ["summary", "figures", "report", "explore"])
def test_commands_on_a_run_that_is_none(capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str) -> None:
    assert "nowhere does not exist" in error_of(capsys, command, "nowhere")
    (tmp_path / "empty").mkdir()
    assert "empty is not a run" in error_of(capsys, command, "empty")
    for name, file, what in (("model", "state.json", "a saved learner"), ("watch", "watch.json", "a watch")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("{}")
        assert f"{name} is {what}, not a run" in error_of(capsys, command, str(tmp_path / name))


def test_unknown_dataset(capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean 'fashion'" in error_of(capsys, "data", "fetch", "fashon")


def test_data_list_and_embedded_fetch(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VASE_DATA", str(Path.cwd() / "cache"))
    assert main(["data", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("mnist train") and "missing" in line for line in lines)
    assert any(line.startswith("digits test") and "verified" in line for line in lines)
    assert main(["data", "fetch", "digits"]) == 0
    assert "nothing to fetch" in capsys.readouterr().out


# -------------------------------------------------------------------------------------------------------------- train


def test_train_summary_and_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--stream", "digits*6", "--seed", "3", "--set", "network.latents=5", *TINY, "--quiet"]) == 0
    out = capsys.readouterr().out
    path = Path("runs/digits_6-smoke-seed3")
    assert f"Figures: vase figures {path}" in out
    assert [line for line in out.splitlines() if line.startswith("step ")] == [
        line for line in out.splitlines() if line.startswith("step 6/6 (digits): loss ")
    ]
    config = json.loads((path / "config.json").read_text())
    assert config["config"]["network"]["latents"] == 5

    assert main(["summary", str(path)]) == 0
    assert "Environments: 1 found in a stream of 1 world, no false alarms" in capsys.readouterr().out
    assert main(["summary", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == 6

    assert "resume it with --resume" in error_of(capsys, "train", "--stream", "digits*6", "--out", str(path), *TINY)
    wrong = error_of(capsys, "train", "--resume", "--out", str(path), "--seed", "4")
    assert "seed = 4, but runs/digits_6-smoke-seed3 was started with seed = 3" in wrong
    wrong = error_of(capsys, "train", "--resume", "--out", str(path), "--set", "network.latents=6")
    assert "overrides = {'network.latents': '6'}" in wrong
    assert main(["train", "--resume", "--out", str(path)]) == 0
    assert "resuming from step 6 of 6" in capsys.readouterr().out
    same = ["--stream", "digits*6", "--seed", "3", "--set", "network.latents=5", *TINY]
    assert main(["train", "--resume", *same]) == 0, "the original command with --resume goes on as well"


def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "vase", "train", "--stream", "digits*40", "--out", "stopped", *TINY]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # The first checkpoint, of step 0, says that training is about to start.
    deadline = time.monotonic() + 120
    while not any((tmp_path / "stopped").glob("checkpoints/*/state.json")) and time.monotonic() < deadline:
        assert process.poll() is None, process.stderr and process.stderr.read()
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "Resume with: vase train --resume --out stopped" in out
    assert "Traceback" not in err
    assert not RunDirectory(tmp_path / "stopped").is_complete()
    assert main(["train", "--resume", "--out", "stopped", "--quiet"]) == 0
    train(
        tmp_path / "straight",
        RunSettings.of("smoke", stream="digits*40", batch_size=4, device="cpu", probes="none"),
    )
    straight = RunDirectory(tmp_path / "straight").checkpoints.path(40)
    for name in ("rows.jsonl", *(f"checkpoints/000000040/{p.name}" for p in straight.glob("learner-*"))):
        assert (tmp_path / "stopped" / name).read_bytes() == (tmp_path / "straight" / name).read_bytes()


# --------------------------------------------------------------------------------------------------------------- demo


def test_a_finished_demo_stays_and_an_unfinished_one_goes_on(tmp_path: Path) -> None:
    settings = demo_settings(3, stream="digits", preset="smoke", batch_size=4, probes="none", device="cpu")
    base, said = tmp_path / "runs" / "demo", []
    assert demo_directory(base, settings, said.append) == (base, False)

    with pytest.raises(KeyboardInterrupt):
        train(base, settings, callbacks=[StopAt(1)])
    assert demo_directory(base, settings, said.append) == (base, True)
    assert said == []
    train(base, settings, resume=True)
    assert demo_directory(base, settings, said.append) == (base, True), "its report is missing"
    (base / "report.html").touch()
    second = base.with_name("demo-2")
    assert demo_directory(base, settings, said.append) == (second, False)
    assert said == [f"{base} holds a finished demo; it is left as it is"]
    second.mkdir()
    (second / "notes.txt").write_text("mine")
    assert demo_directory(base, settings, said.append) == (base.with_name("demo-3"), False)


def test_demo_schedules_follow_the_length_of_the_stages() -> None:
    assert demo_settings().stream == "moving-fashion,mnist,moving-mnist"
    assert demo_settings().fallback
    config = make_plan(demo_settings(1000, stream="digits")).config
    assert (config.capacity.ramp_steps, config.recruiting.warmup_steps) == (250, 270)


def test_pictures_are_shown_only_to_somebody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) or True)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert show((tmp_path / "a.png").as_uri()) is False
    monkeypatch.setenv("DISPLAY", ":0")
    assert show((tmp_path / "a.png").as_uri()) is True
    assert len(opened) == 1

    def broken(url: str) -> bool:
        raise webbrowser.Error("no browser")

    monkeypatch.setattr(webbrowser, "open", broken)
    assert show((tmp_path / "a.png").as_uri()) is False


def test_demo_from_data_to_figures(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["demo", "--preset", "smoke", "--stream", "moving-digits,digits", "--steps", "15", "--device", "cpu"]
    assert main([*argv, "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "Training in runs/demo: 15 batches per world." in out
    assert "could not be downloaded" not in out, "the embedded digits were asked for"
    assert "Environments: " in out
    assert "class of moving-digits" in out
    assert "position in moving-digits" in out
    assert "Figures: runs/demo/figures" in out
    assert list(Path("runs/demo/figures").glob("*.png"))
    assert "open runs/demo/report.html" in out
    assert Path("runs/demo/report.html").exists()
    assert main(["report", "runs/demo", "--out", "mine.html"]) == 0
    assert capsys.readouterr().out.startswith("mine.html (0.")
    assert main(["figures", "runs/demo"]) == 0
    assert all(Path(line).exists() for line in capsys.readouterr().out.splitlines())
