"""Many runs: their product and names, what is skipped, resumed and reported, on processes, Ray and Dask."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image
from rich.console import Console
from stop_at import StopAt

from vase.cli import main
from vase.learners.records import Step
from vase.sweeps import Cell, Outcome, Status, run_many
from vase.sweeps.backends import engine
from vase.sweeps.grid import grid, read_seeds, read_vary, table
from vase.sweeps.progress import Pace, SweepDisplay, SweepLines
from vase.sweeps.runner import portable
from vase.sweeps.worker import GO, Reporter, report, work
from vase.training import Run, RunDirectory, RunSettings, train

SMALL = RunSettings.of("smoke", stream="digits*8", batch_size=4, checkpoint_every=4, device="cpu", probes="none")
TINY = ["--stream", "digits*4", "--preset", "smoke", "--batch-size", "4", "--device", "cpu", "--probes", "none"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> dict[int, bytes]:
    """The rows of two runs that nobody ran side by side."""
    folder = tmp_path_factory.mktemp("straight")
    for seed in (0, 1):
        train(folder / str(seed), replace(SMALL, seed=seed))
    return {seed: (folder / str(seed) / "rows.jsonl").read_bytes() for seed in (0, 1)}


def rows(cells: list[Cell]) -> dict[int, bytes]:
    return {cell.settings.seed: (cell.path / "rows.jsonl").read_bytes() for cell in cells}


def no_traces(folder: Path) -> bool:
    return not list(folder.glob(".sweep-*"))


# ------------------------------------------------------------------------------------------------- the runs of a sweep


def test_every_seed_with_every_combination() -> None:
    settings = replace(SMALL, overrides={"network.latents": "6"})
    vary = {"capacity.gamma": ["5", "7"], "network.channels": ["8,8,8,8"]}
    cells = grid(Path("out"), settings, [0, 3], vary)
    assert [str(cell.path) for cell in cells] == [
        "out/capacity.gamma=5-network.channels=8_8_8_8-seed0",
        "out/capacity.gamma=5-network.channels=8_8_8_8-seed3",
        "out/capacity.gamma=7-network.channels=8_8_8_8-seed0",
        "out/capacity.gamma=7-network.channels=8_8_8_8-seed3",
    ]
    assert cells[3].settings.seed == 3
    assert cells[3].settings.overrides == {
        "network.latents": "6",
        "capacity.gamma": "7",
        "network.channels": "8,8,8,8",
    }
    assert [cell.name for cell in grid(Path("out"), settings, [2])] == ["seed2"]


def test_seeds_and_values_as_people_write_them() -> None:
    assert read_seeds("0-2, 7") == [0, 1, 2, 7]
    assert read_vary(["a.b=1, 2", "c=8,8;16,16"]) == {"a.b": ["1", "2"], "c": ["8,8", "16,16"]}
    assert read_vary(["c=8,16,32,64;", "d=8,8; 16,16 ;"]) == {"c": ["8,16,32,64"], "d": ["8,8", "16,16"]}


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--seeds", "0-"], "write whole numbers and ranges, e.g. --seeds 0-4"),
        (["--seeds", "4-1"], "4-1 is reversed; write 1-4"),
        (["--seeds", "0-2,1"], "1 appears twice"),
        (["--vary", "capacity.gamma"], "write field=value,value,..."),
        (["--vary", "network.channels=;"], "values that contain commas are separated by semicolons"),
        (["--vary", "capacity.gamma=5,5"], "5 appears twice"),
        (["--vary", "capacity.gamma=5", "--vary", "capacity.gamma=7"], "capacity.gamma is varied twice"),
        (["--vary", "capacity.gamma=5", "--set", "capacity.gamma=7"], "both set and varied"),
        (["--vary", "capacity.gama=5"], "did you mean 'capacity.gamma'"),
        (["--vary", "capacity.gamma=5,much"], "capacity.gamma='much'"),
        (["--vary", "capacity.gama=5", "--dry-run"], "did you mean 'capacity.gamma'"),
        (["--vary", "capacity.gamma=5,much", "--dry-run"], "capacity.gamma='much'"),
        (["--set", "network.hiden=8", "--dry-run"], "did you mean 'network.hidden'"),
        (["--vary", "network.channels=8,8;8, 8"], "two runs have this directory"),
        (["--jobs", "0"], "--jobs 0: must be a whole number of at least 1"),
        (["--address", "somewhere:1"], "processes run on this machine"),
    ],
)
def test_wrong_input_is_one_line_and_leaves_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, argv: list[str], words: str
) -> None:
    assert main(["sweep", *TINY, *argv]) == 2
    printed = capsys.readouterr()
    assert words in printed.err
    assert printed.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("backend", "module"), [("ray", "ray"), ("dask", "distributed")])
def test_a_missing_package_names_the_remedy(monkeypatch: pytest.MonkeyPatch, backend: Any, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    if backend == "dask":
        monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ModuleNotFoundError, match=f"pip install {backend}"):
        run_many([], backend=backend)


def test_a_backend_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="backend='rays': must be one of processes, ray, dask"):
        run_many([], backend="rays")  # type: ignore[arg-type]


def test_a_ray_cluster_that_is_not_there(tmp_path: Path) -> None:
    with socket.socket() as held:  # bound, but nobody listens
        held.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{held.getsockname()[1]}"
        with pytest.raises(OSError, match=r"no Ray cluster at '127.0.0.1:\d+' .*start one with ray start --head"):
            run_many(grid(tmp_path / "out", SMALL, [0]), backend="ray", address=address)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("jobs", "cpus", "words"),
    [
        (1, 1, "jobs=1: the Ray cluster has 1 CPU, but needs 2 even for one job.* use the backend processes"),
        (2, 1, "jobs=2: the Ray cluster has 1 CPUs; ask for fewer, or add machines"),
    ],
)
def test_a_ray_cluster_that_is_too_small(monkeypatch: pytest.MonkeyPatch, jobs: int, cpus: int, words: str) -> None:
    ray = SimpleNamespace(is_initialized=lambda: True, cluster_resources=lambda: {"CPU": float(cpus)})
    monkeypatch.setitem(sys.modules, "ray", ray)
    with pytest.raises(ValueError, match=words), engine("ray", jobs):
        pass


def test_a_ray_cluster_of_this_machine_that_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**options: Any) -> None:
        raise RuntimeError("no room in /dev/shm")

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: False, init=init))
    words = r"^Ray could not be started on this machine \(no room in /dev/shm\); use the backend processes"
    with pytest.raises(OSError, match=words), engine("ray", 2):
        pass


def test_the_table() -> None:
    found = {
        "environments": 2,
        "worlds": 3,
        "identity": {"mean": {"change": -0.0161}},
        "position": {"mse": {"mean": {"change": None}}},
    }
    cells = grid(Path("out"), SMALL, [0, 10])
    assert table([Outcome(cells[0], "done", found), Outcome(cells[1], "failed", error="no luck")]).splitlines() == [
        "run     environments  identity change  position change",
        "seed0   2 of 3        -1.6 points      –",
        "seed10  failed",
    ]


# ------------------------------------------------------------------------------------------------ skip, resume, report


def test_finished_runs_stay_interrupted_ones_go_on_and_a_failure_is_reported(
    tmp_path: Path, straight: dict[int, bytes]
) -> None:
    cells = grid(tmp_path / "out", SMALL, [0, 1, 2])
    train(cells[0].path, cells[0].settings)
    finished = {path: path.stat().st_mtime_ns for path in cells[0].path.rglob("*")}

    with pytest.raises(KeyboardInterrupt):
        train(cells[1].path, cells[1].settings, callbacks=[StopAt(6)])
    cells[2].path.write_text("in the way")
    assert [cell.progress() for cell in cells] == ["done", "started", "new"]

    told: list[list[Status]] = []
    outcomes = run_many(cells, on_progress=told.append)
    assert [outcome.state for outcome in outcomes] == ["skipped", "done", "failed"]
    assert [outcome.cell for outcome in outcomes] == cells
    assert "is a file; name another directory" in outcomes[2].error
    assert "FileExistsError" in outcomes[2].trace
    assert outcomes[1].summary is not None
    assert outcomes[1].summary["steps"] == 8
    assert rows(cells[:2]) == straight
    assert {path: path.stat().st_mtime_ns for path in cells[0].path.rglob("*")} == finished
    assert [(s.state, s.total) for s in told[-1]] == [("skipped", 8), ("done", 8), ("failed", 8)]
    assert no_traces(tmp_path / "out")


def test_another_run_in_the_place_of_one_is_refused(tmp_path: Path) -> None:
    cells = grid(tmp_path, SMALL, [0, 1])
    train(cells[1].path, replace(cells[1].settings, steps=50))
    with pytest.raises(ValueError, match=r"steps = 100, but .*seed1 was started with steps = 50"):
        run_many(cells)
    assert not cells[0].path.exists()


def test_a_worker_elsewhere_finds_every_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        path = tmp_path / "mine" / f"{number}.png"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(np.full((8, 8), 40 * number, np.uint8)).save(path)
    named = {"data": "idx", "faces": "people", "frames": "./rooms"}
    cell = Cell(Path("out"), replace(SMALL, stream="folder:mine*4, digits*4", **named))
    sent = portable(cell)
    assert sent.path == tmp_path / "out"
    assert sent.settings.stream == f"folder:{tmp_path}/mine*4,digits*4"
    folders = sent.settings.data, sent.settings.faces, sent.settings.frames
    assert folders == (f"{tmp_path}/idx", f"{tmp_path}/people", f"{tmp_path}/rooms")
    assert cell.progress() == "new"
    (tmp_path / "elsewhere").mkdir()
    with monkeypatch.context() as patched:
        patched.chdir(tmp_path / "elsewhere")
        train(sent.path, sent.settings)
    assert cell.progress() == "done", "though it names the folders otherwise"
    with pytest.raises(ValueError, match=r"faces = 'others', but out was started with faces = '/.*/people'"):
        replace(cell, settings=replace(cell.settings, faces="others")).progress()


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="finds the process through /proc/locks")
def test_a_process_that_dies_fails_alone(tmp_path: Path, straight: dict[int, bytes]) -> None:
    """The worker of one run is killed each time it trains; the other run must not suffer."""
    good, bad = grid(tmp_path, SMALL, [1, 0])
    bad = Cell(bad.path, replace(bad.settings, stream="digits*20000"))
    kills: list[int] = []

    def kill(statuses: list[Status]) -> None:
        if statuses[0].state == "running" and (holder := _lock_holder(bad.path)):
            os.kill(holder, signal.SIGKILL)
            kills.append(holder)

    outcomes = run_many([bad, good], on_progress=kill)
    assert [outcome.state for outcome in outcomes] == ["failed", "done"]
    assert outcomes[0].error.startswith("its process died (")
    assert len(set(kills)) == 2, "it was tried again, alone"
    assert rows([good])[1] == straight[1]
    assert no_traces(tmp_path)


def _lock_holder(path: Path, locks: Path = Path("/proc/locks")) -> int | None:
    """The process that trains in a directory."""
    if not (path / ".lock").exists():
        return None
    lock = (path / ".lock").stat()
    place = f"{os.major(lock.st_dev):02x}:{os.minor(lock.st_dev):02x}:{lock.st_ino}"
    for line in locks.read_text().splitlines():
        words = line.split()
        if words[1] == "FLOCK" and words[5] == place:
            return int(words[4])
    return None


def test_a_lock_on_another_disk_is_somebody_else_s(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    lock, locks = (tmp_path / ".lock").stat(), tmp_path / "locks"
    disks = [(os.major(lock.st_dev) + 1, os.minor(lock.st_dev)), (os.major(lock.st_dev), os.minor(lock.st_dev))]
    lines = [
        f"{n}: FLOCK  ADVISORY  WRITE {70 + n} {major:02x}:{minor:02x}:{lock.st_ino} 0 EOF\n"
        for n, (major, minor) in enumerate(disks)
    ]
    locks.write_text(lines[0])
    assert _lock_holder(tmp_path, locks) is None
    locks.write_text("".join(lines))
    assert _lock_holder(tmp_path, locks) == 71


def test_a_backend_that_takes_no_run_fails_them_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []

    def lost(tasks: object) -> None:
        calls.append(tasks)
        if len(calls) > 3:
            pytest.fail("it is tried for ever")
        raise ConnectionError("the cluster is gone")

    monkeypatch.setattr("vase.sweeps.runner.Parallel", lambda **options: lost)
    outcomes = run_many(grid(tmp_path / "out", SMALL, [0, 1]))
    assert [outcome.state for outcome in outcomes] == ["failed", "failed"]
    assert {outcome.error for outcome in outcomes} == {"it could not be started (the cluster is gone)"}
    assert no_traces(tmp_path / "out")


def test_ctrl_c_saves_what_is_under_way_and_says_how_to_go_on(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "vase",
        "sweep",
        *TINY,
        "--stream",
        "digits*1500",
        "--out",
        "out",
        "--seeds",
        "0-2",
    ]
    command += ["--checkpoint-every", "5000"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )

    def learning() -> bool:
        said = [json.loads(file.read_text()) for file in tmp_path.glob("out/.sweep-*/*.json")]
        return len(said) >= 2 and all(one.get("step", 0) > 1 for one in said)

    deadline = time.monotonic() + 120
    while not learning() and time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # what a terminal does: to the driver and to whatever it has started
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "stopped with 0 of 3 runs finished" in out
    assert "the same command" in out
    assert "Traceback" not in err
    for seed in (0, 1):
        assert 1 < RunDirectory(tmp_path / "out" / f"seed{seed}").load()["run"]["step"] < 1500
    assert not (tmp_path / "out" / "seed2").exists()
    assert no_traces(tmp_path / "out")


# ------------------------------------------------------------------------------------------------------------- workers


def test_a_worker_stops_when_the_sweep_does(tmp_path: Path) -> None:
    work(tmp_path, 0, tmp_path / "run", SMALL, own_session=False)
    assert report(tmp_path, 0) == {"state": "stopped"}, "no file says go"
    assert not (tmp_path / "run").exists()

    (tmp_path / GO).touch()

    class StopSweepAt3(Reporter):
        def on_step(self, run: Run, step: Step) -> tuple[()]:
            if run.step == 3:
                (tmp_path / GO).unlink()
            return super().on_step(run, step)

    with pytest.raises(KeyboardInterrupt, match="stopped and saved at step 3 of 8"):
        train(tmp_path / "run", SMALL, callbacks=[StopSweepAt3(tmp_path, 1, every=0)])
    assert report(tmp_path, 1) == {"step": 3, "total": 8, "world": "digits", "state": "running"}


def test_an_orphan_stops(tmp_path: Path) -> None:
    (tmp_path / GO).touch()
    assert not Reporter(tmp_path, 0).must_stop()
    assert Reporter(tmp_path, 0, parent=os.getppid() + 1).must_stop()


# ------------------------------------------------------------------------------------------------------------ clusters


def test_two_ray_workers_give_the_same_rows(tmp_path: Path, straight: dict[int, bytes]) -> None:
    """On a cluster of two nodes with one CPU each. In a process of its own: Ray leaves threads and handlers behind."""
    script = """
import sys
from ray.cluster_utils import Cluster
from vase.cli import main
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
cluster.add_node(num_cpus=1)
try:
    code = main(["sweep", *sys.argv[1:], "--backend", "ray", "--address", cluster.address])
    too_many = main(["sweep", *sys.argv[1:], "--backend", "ray", "--address", cluster.address, "--jobs", "3",
                     "--seeds", "0-2"])
finally:
    cluster.shutdown()
sys.exit(code if too_many == 2 else 77)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, *ARGUMENTS],
        env={**os.environ, "RAY_worker_niceness": "0", "RAY_USAGE_STATS_ENABLED": "0"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "--jobs 3: the Ray cluster has 2 CPUs" in done.stderr
    assert "seed1  1 of 1" in done.stdout
    assert rows(grid(tmp_path / "out", SMALL, [0, 1])) == straight


def test_two_dask_workers_give_the_same_rows(tmp_path: Path, straight: dict[int, bytes]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "vase", "sweep", *ARGUMENTS, "--backend", "dask"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert rows(grid(tmp_path / "out", SMALL, [0, 1])) == straight


ARGUMENTS = [*TINY, "--stream", "digits*8", "--checkpoint-every", "4", "--seeds", "0-1", "--out", "out"]


# -------------------------------------------------------------------------------------------------------- command line


def test_dry_run_then_run_then_nothing_left(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    argv = ["sweep", *TINY, "--vary", "capacity.gamma=5,7", "--out", "out", "--quiet"]
    assert main([*argv, "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "out/capacity.gamma=5-seed0: to do",
        "out/capacity.gamma=7-seed0: to do",
    ]
    assert list(tmp_path.iterdir()) == []
    assert main(argv) == 0
    out = capsys.readouterr().out
    assert "capacity.gamma=7-seed0  1 of 1" in out
    assert json.loads(Path("out/capacity.gamma=7-seed0/config.json").read_text())["config"]["capacity"]["gamma"] == 7
    for manifest in Path("out/capacity.gamma=7-seed0/checkpoints").glob("*/state.json"):
        manifest.write_text("{}")
    assert main(argv) == 1
    printed = capsys.readouterr()
    assert "capacity.gamma=5-seed0: already finished" in printed.out
    assert "vase: out/capacity.gamma=7-seed0 failed: " in printed.err
    assert "damaged" in printed.err


# ------------------------------------------------------------------------------------------------------------- display


A = Status("a", "running", 10, 100, "digits")
B = Status("b", "waiting", 0, 100)


def test_lines_about_many_runs() -> None:
    stream = io.StringIO()
    lines = SweepLines(share=0.1, stream=stream)
    lines([A, B])
    lines([replace(A, step=15), B])
    lines([replace(A, step=30), B])
    lines([replace(A, state="done", step=100), replace(B, state="failed", step=40, error="no luck")])
    first, second, third, fourth, last = stream.getvalue().splitlines()
    assert first == "a: training"
    assert second.startswith("all runs: step 30/200")
    assert second.endswith(": a 30/100 (digits)")
    assert (third, fourth) == ("a: done", "b: failed: no luck")
    assert last.startswith("all runs: step 140/200")
    assert last.endswith(", 1 failed")


def test_the_time_left_counts_only_steps_of_this_sweep() -> None:
    now = [0.0]
    pace = Pace(clock=lambda: now[0])
    resumed, done = replace(A, step=50), Status("c", "skipped", 100, 100)
    assert pace.left([resumed, B, done]) is None
    now[0] = 5.0
    assert pace.left([replace(resumed, step=51), B, done]) is None, "the first report starts the clock"
    now[0] = 15.0
    assert pace.left([replace(resumed, step=71), B, done]) == pytest.approx(10 / 20 * (29 + 100))


def test_a_live_display_of_many_runs() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=160, color_system=None)
    with SweepDisplay(console) as display:
        display([A, B])
        display([replace(A, state="done", step=100), replace(B, state="running", step=7, world="glyphs")])
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "a: done" in text
    assert "1 of 2 runs ended" in text
    assert "107/200" in text
    assert "glyphs" in text


def test_a_run_that_failed_does_not_count_as_done() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=160, color_system=None)
    with SweepDisplay(console) as display:
        display([replace(A, state="done", step=100), replace(B, state="failed", step=7, error="no luck")])
    text = console.file.getvalue().rpartition("2 of 2 runs ended")[2]  # type: ignore[attr-defined]
    assert "107/200" in text
    assert "1 failed" in text
