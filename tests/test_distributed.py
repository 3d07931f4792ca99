"""One learner on several workers: real processes by torchrun, against one process with the whole batch."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from vase import VASE
from vase.distributed import Distributed, get_distributed, init_distributed
from vase.training import RunDirectory, RunSettings
from vase.training.trainer import check_workers

PATIENCE = 240
"""Seconds after which a job counts as hanging; each takes a few."""
QUIET = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
ENVIRONMENT = {**QUIET, "OMP_NUM_THREADS": "1"}


class Job:
    """torchrun with workers that run a script, each with its rank and process id in a file."""

    def __init__(self, folder: Path, script: str, *arguments: str, workers: int = 2) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        (folder / "worker.py").write_text(PROLOGUE + script)
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={workers}"]
        if workers == 1:
            command = [sys.executable]
        self.process = subprocess.Popen(
            [*command, str(folder / "worker.py"), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=ENVIRONMENT,
        )

    def wait(self) -> tuple[int, str, str]:
        """Exit code, output and errors; a job that hangs is an error, and does not outlive the test."""
        try:
            out, err = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.end()
            out, err = self.process.communicate()
            pytest.fail(f"the job hangs: {out}\n{err}")
        return self.process.returncode, out, err

    def end(self) -> None:
        """Kill what still runs."""
        if self.process.poll() is None:
            for file in self.folder.glob("pid-*"):
                with suppress(ProcessLookupError):
                    os.kill(int(file.read_text()), signal.SIGKILL)
            self.process.kill()

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something to happen while the job runs."""
        deadline = time.monotonic() + PATIENCE
        try:
            while not condition():
                assert self.process.poll() is None, f"the job ended early: {self.wait()}"
                assert time.monotonic() < deadline, "nothing happened"
                time.sleep(0.01)
        except BaseException:
            self.end()
            raise

    def send(self, rank: int, number: signal.Signals) -> None:
        """Send a signal to one worker."""
        os.kill(int((self.folder / f"pid-{rank}").read_text()), number)


PROLOGUE = """
import json, os, sys
from pathlib import Path
here = Path(__file__).parent
rank = int(os.environ.get("RANK", "0"))
(here / f"pid-{rank}").write_text(str(os.getpid()))
def tell(value):
    (here / f"told-{rank}").write_text(json.dumps(value))
"""
COMMAND = "from vase.cli import main\nsys.exit(main())\n"


def told(folder: Path, rank: int = 0) -> Any:
    return json.loads((folder / f"told-{rank}").read_text())


# ---------------------------------------------------------------------------------------------------------------- crew


def test_alone_everything_is_the_identity():
    x = torch.arange(6.0, requires_grad=True).reshape(3, 2)
    with init_distributed("cpu") as alone:
        assert alone == get_distributed() == Distributed(0, 1)
        assert alone.is_main_process
        assert torch.equal(alone.mean(x), x)
        assert not alone.mean(x).requires_grad
        assert alone.gather(x) is alone.shard(x) is x
        assert (alone.any(True), alone.any(False)) == (True, False)
        module = torch.nn.Linear(1, 1)
        assert alone.wrap(module) is module
        assert alone.on_main_process(lambda: 5) == 5
        alone.barrier()
    assert not torch.distributed.is_initialized()


def test_a_shard_is_a_contiguous_part_and_must_be_whole():
    x = torch.arange(6)
    assert [Distributed(rank, 3).shard(x).tolist() for rank in range(3)] == [[0, 1], [2, 3], [4, 5]]
    assert Distributed(1, 2).shard(np.arange(4)).tolist() == [2, 3]
    with pytest.raises(ValueError, match=r"a batch of 6 for 4 workers: must be divisible by .*; use 4 or 8 images"):
        Distributed(0, 4).shard(x)


@pytest.mark.parametrize(
    ("variables", "device", "message"),
    [
        ({}, "cpu", "WORLD_SIZE=2, but RANK is not set: start the workers with torchrun"),
        ({"RANK": "0", "LOCAL_RANK": "0"}, "cuda:1", "device='cuda:1' with 2 workers: .* CUDA_VISIBLE_DEVICES"),
        ({"RANK": "0", "LOCAL_RANK": "99"}, "cuda", r"worker 99 of this machine has no GPU: .* --nproc-per-node"),
    ],
)
def test_workers_that_cannot_start_say_why(monkeypatch, variables, device, message):
    for name, value in {"WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "1", **variables}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=message), init_distributed(device):
        pass


TALK = """
import torch
from vase.distributed import get_distributed, init_distributed
with init_distributed("cpu") as us:
    x = torch.tensor([[0.1, 1.0]]) * (us.rank + 1)
    found = {
        "crew": [us.rank, us.size, get_distributed() == us],
        "mean": us.mean(x.requires_grad_()).tolist(),
        "whole": us.gather(torch.tensor([[us.rank, 7], [us.rank, 8]])).tolist(),
        "flags": us.gather(torch.tensor([us.rank == 1])).tolist(),
        "round": us.gather(us.shard(torch.arange(4))).tolist(),
        "any": [us.any(us.rank == 0), us.any(us.rank == 1), us.any(True), us.any(False)],
        "first": us.on_main_process(lambda: [us.rank, "from the first"]),
    }
    module = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.ones_(module.weight)
    wrapped = us.wrap(module)
    wrapped(torch.full((1, 1), 2.0 + us.rank)).sum().backward()
    del wrapped
    found["gradient"] = module.weight.grad.item()
    for name, attempt in (
        ("unequal", lambda: us.gather(torch.zeros(2 + us.rank))),
        ("error", lambda: us.on_main_process(lambda: int("seven"))),
    ):
        try:
            attempt()
        except ValueError as error:
            found[name] = str(error)
    us.barrier()
assert not torch.distributed.is_initialized()
tell(found)
"""


def test_two_workers_agree(tmp_path):
    code, _, err = Job(tmp_path, TALK).wait()
    assert code == 0, err
    for rank in (0, 1):
        found = told(tmp_path, rank)
        assert found.pop("crew") == [rank, 2, True]
        assert found["mean"][0] == pytest.approx([0.15, 1.5])
        assert found["whole"] == [[0, 7], [0, 8], [1, 7], [1, 8]]
        assert found["flags"] == [False, True]
        assert found["round"] == [0, 1, 2, 3]
        assert found["any"] == [True, True, True, False]
        assert found["first"] == [0, "from the first"]
        assert found["gradient"] == 2.5
        assert "shards of [2, 3] images: must be equally large" in found["unequal"]
        assert "'seven'" in found["error"]
    assert told(tmp_path, 0)["mean"] == told(tmp_path, 1)["mean"]


# ------------------------------------------------------------------------------------------- the same life, and weights

LIFE = """
import torch
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
from vase import VASE, VASEConfig
from vase.learners import representation
from vase.distributed import init_distributed
from vase.checkpoint import split_tensors
from vase.worlds import Schedule
single = representation.as_images
representation.as_images = lambda *a, **k: single(*a, **k).double()
config = VASEConfig.smoke().with_values({"dreaming.pool": 64, "dreaming.gate_tolerance": 0.0})
with init_distributed("cpu") as crew:
    model = VASE(config, seed=3, device="cpu")
    stream = Schedule.parse("digits:28*70,glyphs:16*110,digits:28*6", steps=1, batch_size=32, seed=3)
    steps = [model.partial_fit(crew.shard(batch.images)) for batch in stream]
    assert all(environment.used.any() for environment in model.environments)
    tell({
        "decisions": [[s.environment, s.switched, s.is_new, s.held, s.mask.tolist()] for s in steps],
        "used": model.used.tolist(),
        "loss": [s.loss for s in steps if not s.held],
    })
    _, tensors = split_tensors(model.state_dict())
    torch.save(tensors, here / f"state-{rank}.pt")
"""


def test_two_workers_match_one_process(tmp_path):
    """In double precision, in which nothing but rounding is left: every decision, every loss, every weight."""
    jobs = [Job(tmp_path / f"{n}", LIFE, workers=n) for n in (1, 2)]
    for job in jobs:
        code, _, err = job.wait()
        assert code == 0, err
    alone, first, second = told(tmp_path / "1"), told(tmp_path / "2", 0), told(tmp_path / "2", 1)
    switches = [(e, is_new) for e, switched, is_new, *_ in alone["decisions"] if switched]
    assert switches == [(0, True), (1, True), (0, False)], "the stream must hold a switch and a return"
    assert first == second
    assert first["decisions"] == alone["decisions"]
    assert first["used"] == alone["used"]
    assert first["loss"] == pytest.approx(alone["loss"], rel=1e-9)
    files = (tmp_path / "1" / "state-0.pt", tmp_path / "2" / "state-0.pt", tmp_path / "2" / "state-1.pt")
    whole, ours, theirs = (torch.load(file, weights_only=True) for file in files)
    for group, tensors in whole.items():
        assert ours[group].keys() == tensors.keys()
        for name, tensor in tensors.items():
            assert torch.equal(ours[group][name], theirs[group][name]), name
            assert torch.allclose(ours[group][name], tensor, rtol=1e-9, atol=1e-9), name


ROTATION = """
import torch
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
from vase import VASE, VASEConfig
from vase.distributed import init_distributed
from vase.learners import representation
single = representation.as_images
representation.as_images = lambda *a, **k: single(*a, **k).double()
with init_distributed("cpu") as crew:
    model = VASE(VASEConfig.smoke().with_values({"independence.rotate_every": 2}), seed=3, device="cpu")
    images = torch.rand(8, 1, 32, 32, generator=torch.Generator().manual_seed(0)).numpy()
    model.partial_fit(crew.shard(images))
    factors = torch.cartesian_prod(*[torch.linspace(-1.5, 1.5, 30)] * 2)
    means = torch.zeros(len(factors), model.n_latents)
    means[:, [1, 4]] = factors @ torch.tensor([[0.8, -0.6], [0.6, 0.8]])
    model.rotator_.begin(0)
    for part in means.chunk(2):
        model.rotator_.observe(part * (crew.rank == 0), torch.full_like(part, -6.0))
    before = model.networks_.encoder.posterior.weight.clone()
    model.partial_fit(crew.shard(images))
    after = model.networks_.encoder.posterior.weight
    tell({"moved": (after - before).abs().amax(1)[: model.n_latents].tolist(), "weights": after.tolist()})
"""


def test_latents_are_rotated_alike_on_all_workers(tmp_path):
    """By what the first worker found: here, the others have observed nothing but zeros."""
    code, _, err = Job(tmp_path, ROTATION).wait()
    assert code == 0, err
    moved = told(tmp_path, 0)["moved"]
    assert min(moved[1], moved[4]) > 5 * max(moved[n] for n in range(len(moved)) if n not in (1, 4))
    assert told(tmp_path, 0)["weights"] == told(tmp_path, 1)["weights"]


# ---------------------------------------------------------------------------------------------------------------- runs

STREAM = "digits:28*70,glyphs:16*99930"
"""Too long to end before it is stopped, on whatever machine."""
RUN = ("train", "--preset=smoke", f"--stream={STREAM}", "--probes=none", "--checkpoint-every=10", "--device=cpu")


def reached(run: Path) -> int:
    """The step of the last checkpoint."""
    return max((int(segment["to"]) for segment in RunDirectory(run).timing()), default=-1)


def test_a_run_of_two_workers_has_everything_once(tmp_path):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "vase"]
    command += ["train", "--preset=smoke", "--stream=moving-digits*8", "--batch-size=8", "--probe-every=4", "--quiet"]
    command += ["--device=cpu", "--checkpoint-every=3", "--set=network.hidden=32", f"--out={tmp_path / 'run'}"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Figures: vase figures") == 1
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["complete"] is True
    rows = RunDirectory(tmp_path / "run").rows()
    scores = [row for row in rows if row["kind"] == "probe" and "accuracy" in row]
    assert [(row["step"], row["mode"]) for row in scores] == [(4, "periodic"), (8, "periodic"), (8, "frozen")]
    assert [row["kind"] for row in rows if row["kind"] in ("switch", "stage", "end")] == ["switch", "stage", "end"]
    assert reached(tmp_path / "run") == VASE.load(tmp_path / "run").steps == 8


def test_an_interrupted_run_goes_on_with_another_number_of_workers(tmp_path):
    """One worker gets the signal, all stop at the same step; one process with the whole batch then goes on, past the
    switch, like a process that has been alone all the time.
    """
    alone, run = tmp_path / "alone", tmp_path / "run"
    job = Job(tmp_path / "two", COMMAND, *RUN, f"--out={run}")
    job.until(lambda: reached(run) >= 10)
    job.send(1, signal.SIGTERM)
    code, out, _ = job.wait()
    assert code != 0
    stopped = VASE.load(run).steps
    assert stopped >= 10
    assert f"stopped and saved at step {stopped:,} of 100,000. Resume with: vase train --resume --out {run}" in out
    far = max(120, stopped + 20)
    jobs = {
        run: Job(tmp_path / "resumed", COMMAND, "train", "--resume", f"--out={run}", workers=1),
        alone: Job(tmp_path / "whole", COMMAND, *RUN, f"--out={alone}", workers=1),
    }
    try:
        for folder, job in jobs.items():
            job.until(lambda folder=folder: reached(folder) >= far)
            job.send(0, signal.SIGTERM)
            code, _, err = job.wait()
            assert code == 130, err
    finally:
        for job in jobs.values():
            job.end()
    ours, theirs = ([row for row in RunDirectory(folder).rows() if row["step"] <= far] for folder in jobs)
    kept = ("kind", "step", "environment", "is_new", "from", "held", "world")
    assert [[row.get(name) for name in kept] for row in ours] == [[row.get(name) for name in kept] for row in theirs]
    assert [row["environment"] for row in ours if row["kind"] == "switch"] == [0, 1]
    losses = [[row["loss"] for row in rows if row["kind"] == "step" and row["step"] <= 50] for rows in (ours, theirs)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)  # single precision, before the paths part


@pytest.mark.parametrize("victim", [0, 1])
def test_a_worker_that_dies_ends_the_job(tmp_path, victim):
    job = Job(tmp_path, COMMAND, *RUN, f"--out={tmp_path / 'run'}")
    job.until(lambda: reached(tmp_path / "run") >= 10)
    job.send(victim, signal.SIGKILL)
    code, _, err = job.wait()
    assert code != 0
    assert f"vase: error: worker {1 - victim} of 2 lost the others" in err
    assert "Start again with --resume to continue from the last checkpoint." in err
    assert VASE.load(tmp_path / "run").steps >= 10


def test_what_the_first_worker_refuses_ends_all(tmp_path):
    """Only the first one looks at the directory; the others must neither hang nor call it lost."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("words")
    code, _, err = Job(tmp_path, COMMAND, *RUN, f"--out={tmp_path / 'run'}").wait()
    assert code != 0
    assert "run already exists and is not empty: resume it with --resume, or name another directory" in err
    assert "lost the others" not in err
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(("images", "workers", "remedy"), [(7, 2, 8), (64, 3, 66), (6, 6, 12)])
def test_a_batch_must_have_a_share_for_every_worker(images, workers, remedy):
    settings = RunSettings.of("smoke", stream="digits", batch_size=images)
    with pytest.raises(ValueError, match=rf"batch_size={images} for {workers} workers: .* --batch-size {remedy}, or"):
        check_workers(settings, workers)
