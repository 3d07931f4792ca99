"""The benchmark: its arithmetic by hand, its contestants, and the form of what it says. No test asserts a time."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable

import pytest
import torch
from torch import nn

from vase import VASE, VASEConfig
from vase.bench import child, parts, peers, processes, scaling
from vase.bench.contestants import Gemm, Learner, load_reference, own_bytes, timed_config
from vase.bench.flops import executed, needed
from vase.bench.report import Part
from vase.bench.timing import Ratio, Spread, Timings, interleave
from vase.cli.bench import PARTS, add_arguments, run
from vase.cli.parsing import Parser
from vase.machine import HalfPrecision
from vase.nn.conv_transpose import deconvolve
from vase.nn.networks import Networks
from vase.worlds import Schedule

SMOKE = VASEConfig.smoke()
reference = load_reference()


def bench(*words: str) -> int:
    parser = Parser()
    add_arguments(parser)
    return run(parser.parse_args(words))


def images(world: str = "digits", steps: int = 1, seed: int = 0) -> list[torch.Tensor]:
    schedule = Schedule.parse(world, steps, batch_size=32, seed=seed)
    return [torch.from_numpy(batch.images).float() / 255 for batch in schedule]


# -------------------------------------------------------------------- timing


def test_a_ratio_is_the_median_of_the_ratios_of_the_rounds():
    found = Ratio.of("a / b", [1, 10, 100], [1, 2, 50], at_most=2.0)
    assert (found.median, found.low, found.high) == (2.0, 1.5, 3.5)  # of 1, 5, 2; the ratio of the medians is 5
    assert found.held
    assert not Ratio.of("a / b", [1, 10, 100], [1, 2, 50], at_most=1.9).held
    assert not Ratio.of("a / b", [1], [2], at_least=0.6).held
    assert Ratio.of("a / b", [1], [2], at_least=0.5).held
    assert Ratio.of("a / b", [1], [2]).held is None


def test_a_ratio_needs_the_same_rounds_and_one_bar():
    with pytest.raises(ValueError, match="2 and 1 rounds"):
        Ratio.of("a / b", [1, 2], [1])
    with pytest.raises(ValueError, match="give one bar"):
        Ratio.of("a / b", [1], [1], at_most=1, at_least=1)


def test_timings_by_hand():
    timings = Timings({"a": [0.002, 0.004, 0.003], "b": [0.001, 0.001, 0.003]})
    assert timings.ms("a") == Spread(3.0, 2.5, 3.5)
    assert timings.rates("b", 6.0) == pytest.approx([6000, 6000, 2000])
    assert timings.ratio("a", "b").median == pytest.approx(2.0)


class Clock:
    """Time that passes only when a contestant says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self.order = ""

    def takes(self, name: str, *seconds: float):
        left = list(seconds)

        def step() -> None:
            self.now += left.pop(0)
            self.order += name

        return step


def test_contestants_take_turns_forwards_and_backwards_and_the_warm_up_does_not_count():
    clock = Clock()
    contestants = {"a": clock.takes("a", 99, 1, 3, 2, 4), "b": clock.takes("b", 99, 5, 7, 1, 1)}
    timings = interleave(contestants, rounds=2, block=2, warmup=1, clock=lambda: clock.now)
    assert clock.order == "ab" + "abba" * 2
    assert timings.seconds == {"a": [2.0, 3.0], "b": [6.0, 1.0]}


def test_a_call_can_hold_several_steps():
    clock = Clock()
    timings = interleave({"a": clock.takes("a", 8)}, rounds=1, warmup=0, inner=4, clock=lambda: clock.now)
    assert timings.seconds == {"a": [2.0]}
    with pytest.raises(ValueError, match="rounds=0"):
        interleave({}, rounds=0)


# -------------------------------------------------------------------- arithmetic


def test_flops_by_hand():
    # 32×32, channels 32-32-64-64, 256 hidden, 24 latents; multiplications per image and pass:
    first = 16 * 16 * 32 * 16
    convolutions = first + 8 * 8 * 32 * 32 * 16 + 4 * 4 * 32 * 64 * 16 + 2 * 2 * 64 * 64 * 16
    linear = 256 * 256 + 256 * 48 + 24 * 256 + 256 * 256
    total = 2 * convolutions + linear
    assert needed(VASEConfig.laptop(), 64) == 64 * 2 * (3 * total - first)
    assert needed(VASEConfig.laptop(), 64) / 1e9 == pytest.approx(1.56, rel=0.01)
    assert needed(VASEConfig.paper(), 64) / 1e9 == pytest.approx(24, rel=0.02)


def test_pytorch_counts_what_the_hand_counts():
    """On plain modules exactly; the reference's one-hot input and its classifier are added by hand."""
    room, hidden = 8, SMOKE.network.hidden
    nets = reference.Networks(SMOKE, room)
    x, s = images()[0], torch.zeros(32, dtype=torch.long)

    def step() -> None:
        h, mean, _ = nets.encode(x)
        (nets.decode(mean, s).sum() + nets.classifier(h.detach()).sum()).backward()

    one_hot = 32 * 2 * room * hidden * 3
    classifier = 32 * 2 * room * hidden * 2  # its input needs no gradient
    assert executed(step, 2) == needed(SMOKE, 32) + one_hot + classifier


@pytest.mark.parametrize("outputs", [1, 32])
def test_pytorch_counts_the_decoder_s_own_form_of_its_layers(outputs):
    layer = nn.ConvTranspose2d(16, outputs, 4, 2, 1)
    x = torch.randn(3, 16, 8, 8, requires_grad=True)
    assert executed(lambda: deconvolve(x, layer).sum().backward(), 1) == 3 * 2 * (3 * 16 * outputs * 16 * 8 * 8)


def test_gemm():
    gemm = Gemm(side=8)
    gemm()
    assert gemm.flops == 2 * 8**3 == executed(gemm, 3)
    assert torch.equal(gemm.out, gemm.a @ gemm.b)


def test_own_bytes_counts_every_storage_once():
    class Owner:
        def __init__(self) -> None:
            self.table = {"a": torch.zeros(10), "b": [torch.zeros(5, dtype=torch.float64)]}
            self.again = (self.table["a"], self.table["a"][:5])
            self.layer = nn.Linear(2, 3)
            self.layer(torch.ones(1, 2)).sum().backward()
            self.me = self

    assert own_bytes(Owner()) == 40 + 40 + 2 * 4 * (6 + 3)  # a linear layer and its gradients


# -------------------------------------------------------------------- contestants


@pytest.mark.parametrize("environments", [1, 2, 9])
def test_a_learner_is_in_the_state_that_is_asked_for(environments):
    learner = Learner(timed_config("smoke"), environments)
    learner()
    model = learner.model
    assert len(model.environments) == environments
    assert model.environment == environments - 1
    assert model.environments[-1].age > timed_config("smoke").environments.burn_in  # it is asked where it is
    assert learner.disturbed == 0
    assert (model.partial_fit(next(learner.batches)).dream_decoder > 0) == (environments > 1)


def test_a_learner_without_environments_is_refused():
    with pytest.raises(ValueError, match="environments=0"):
        Learner(timed_config("smoke"), 0)


def copy_weights(plain: nn.Module, nets: Networks) -> None:
    """The learner's weights for the reference's networks."""
    with torch.no_grad():
        for i, (conv, deconv) in enumerate(zip(nets.convs, nets.deconvs, strict=True)):
            plain.features[2 * i].load_state_dict(conv.state_dict())
            plain.decoder[5 + 2 * i].load_state_dict(deconv.state_dict())
        plain.features[-2].load_state_dict(nets.features.state_dict())
        plain.posterior.load_state_dict(nets.posterior.state_dict())
        plain.classifier.weight.copy_(nets.environment_output[0])
        plain.decoder[0].weight.copy_(torch.cat([nets.from_latents.weight, nets.environment_input[0].T], 1))
        plain.decoder[0].bias.copy_(nets.from_latents.bias)
        plain.decoder[2].load_state_dict(nets.to_grid.state_dict())


def listen(owner: object, name: str) -> list:
    """What a method returns from now on."""
    heard, method = [], getattr(owner, name)

    def listening(*args):
        heard.append(method(*args))
        return heard[-1]

    setattr(owner, name, listening)
    return heard


@pytest.mark.parametrize("objective", ["square", "ceiling", "elbo"])
@pytest.mark.parametrize("dreaming", [False, True])
def test_the_reference_has_the_learner_s_losses_and_gradients(objective, dreaming):
    """On the same weights, batch, noise and dreams. Gates and recruiting are the learner's own."""
    config = SMOKE.with_values(
        {
            "capacity.objective": objective,
            "dreaming.gates": False,
            "recruiting.reseed": False,
            "recruiting.warmup_steps": 0,
        }
    )
    model, plain = VASE(config, seed=0), reference.Reference(config, seed=0)
    for x in images("inverse-digits", 15):
        model.partial_fit(x)
    if dreaming:
        model._leave()
        model._be_born(torch.zeros(10))
        plain.be_born()
        for x in images("digits", 5):
            model.partial_fit(x)
        copy_weights(plain.old, model._old)
    mask = torch.arange(10) % 4 > 0
    model._memory[-1].mask = mask.clone()
    plain.environments[-1].mask = mask.clone()
    copy_weights(plain.nets, model._nets)
    noise, dreams = listen(model, "_noise"), listen(model, "_dreams")
    x = images("digits", 1, seed=3)[0]
    step = model.partial_fit(x)
    plain.t = model.steps
    dreamt = (dreams[-1].s, dreams[-1].z) if dreaming else None
    losses = plain.losses(x, plain.nets.encode(x), noise[-1], dreamt)
    assert ("dream_decoder" in losses) == dreaming
    for name, value in losses.items():
        assert value.item() == pytest.approx(getattr(step, name), rel=1e-4, abs=1e-3), name
    losses["loss"].backward()
    nets = model._nets
    pairs = [
        (plain.nets.features[0].weight, nets.convs[0].weight),
        (plain.nets.posterior.weight, nets.posterior.weight),
        (plain.nets.decoder[-1].weight, nets.deconvs[-1].weight),
        (plain.nets.classifier.weight, nets.environment_output[0]),
    ]
    for mine, theirs in pairs:
        assert torch.allclose(mine.grad, theirs.grad, rtol=1e-3, atol=1e-3 * float(theirs.grad.abs().max()))


def test_the_reference_finds_the_noise_that_latents_bear():
    model, plain = VASE(SMOKE, seed=0), reference.Reference(SMOKE, seed=0)
    for x in images("digits:28", 60):
        model.partial_fit(x)
    copy_weights(plain.nets, model._nets)
    x = images("digits:28", 1, seed=5)[0][:8]
    mine, theirs = plain.bearable_noise(x, delta=0.01), model._bearable(x)
    assert torch.allclose(mine.log(), theirs.log(), atol=0.2)  # central against forward differences


def test_the_reference_learns_dreams_and_notices_a_new_world():
    config = SMOKE.with_values({"mask.threshold": 1e9})
    plain = reference.Reference(config, seed=0)
    copy_weights(plain.nets, VASE(config, seed=0)._nets)
    first = [plain.step(x) for x in images("digits:28", 60)]
    assert sum(s["reconstruction"] for s in first[-10:]) < 0.6 * sum(s["reconstruction"] for s in first[:10])
    plain.be_born()
    second = [plain.step(x) for x in images("glyphs:28", 70)]
    assert (plain.current, len(plain.environments)) == (1, 2)
    assert sum(s["dream_decoder"] for s in second[-10:]) < 0.7 * sum(s["dream_decoder"] for s in second[15:25])
    assert second[-1]["classifier"] < 0.8 * second[0]["classifier"]
    plain.step(images("inverse-digits:28")[0])
    assert (plain.current, len(plain.environments)) == (2, 3)
    plain.environments *= 3
    plain.environments.pop()
    with pytest.raises(RuntimeError, match="more room"):
        plain.be_born()


# -------------------------------------------------------------------- time per part


def test_a_call_counts_for_the_outermost_part():
    watch = parts.Stopwatch()
    inner = watch.wrap("inner", lambda: None)
    outer = watch.wrap("outer", inner)
    outer()
    assert watch.take().keys() == {"outer"}
    inner()
    assert watch.take().keys() == {"inner"}
    with pytest.raises(ZeroDivisionError):
        watch.wrap("failing", lambda: 1 / 0)()
    assert not watch.inside


def test_watching_ends_and_leaves_no_trace():
    def methods() -> list:
        return [vars(owner).get(name) for _, owner, names in parts.METHODS for name in names]

    before = methods()
    with parts.watched():
        assert all(a is not b for a, b in zip(before, methods(), strict=True))
    assert all(a is b for a, b in zip(before, methods(), strict=True))


# -------------------------------------------------------------------- processes of their own


def test_a_process_that_dies_says_what_it_said_and_how_it_ended(tmp_path):
    script = tmp_path / "dies.py"
    script.write_text("import os\nprint('{\"a\": 1}', flush=True)\nos.kill(os.getpid(), 4)\n")
    outcome = child.run(str(script), {})
    assert outcome.said == [{"a": 1}]
    assert outcome.failure == "the process died of SIGILL"
    script.write_text("raise ValueError('no')\n")
    assert child.run(str(script), {}).failure == "ValueError: no"
    assert "could not be started" in str(child.run("step", {}, python=str(tmp_path / "python")).failure)
    assert child.failure(-signal.SIGKILL, "") == "the process died of SIGKILL"


@pytest.mark.parametrize(
    "ask",
    [
        lambda worker: worker.tell(1),
        lambda worker: worker.wait(),
        lambda worker: worker.process.stdin.write("1\n"),  # said when the pipe is closed
    ],
    ids=["tell", "wait", "leave"],
)
def test_a_worker_that_dies_is_no_closed_terminal(monkeypatch, ask: Callable[[processes.Worker], None]):
    dies = [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]
    monkeypatch.setattr(child, "command", lambda *given: dies)
    worker = processes.Worker("smoke")
    worker.process.wait()
    with pytest.raises(OSError, match="a worker ended early: the process died of SIGKILL") as caught, worker:
        ask(worker)
    assert not isinstance(caught.value, BrokenPipeError)


def test_a_case_of_scaling_says_its_memory(capsys):
    scaling.serve({"preset": "smoke", "axis": "environments", "value": 9})
    said = json.loads(capsys.readouterr().out)
    weights = sum(p.nbytes for p in Networks(SMOKE, torch.Generator()).parameters())
    # Weights, gradients, two moments, slow weights, snapshot, and a pool of dreams of 4 kB and more each.
    assert said["peak"] > said["own"] > 6 * weights + 4096 * SMOKE.dreaming.pool


def test_every_axis_of_scaling_starts_at_the_preset():
    for axis, values in scaling.AXES.items():
        start = scaling.base_value("laptop", axis)
        assert scaling.variant("laptop", axis, start) == scaling.variant("laptop")
        for value in values:
            assert (scaling.variant("laptop", axis, value) == scaling.variant("laptop")) == (value == start)


# -------------------------------------------------------------------- the command


def test_the_command_prints_tables_and_writes_json(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(scaling, "AXES", {"environments": (3,)})
    memory = {
        None: {"own": [40e6, 40e6], "peak": [300e6, 310e6]},
        "environments": {"own": [42e6, 42e6], "peak": [315e6, 341e6]},
    }
    monkeypatch.setattr(scaling, "_memory", lambda preset, axis=None, value=0: memory[axis])
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    out = tmp_path / "new" / "bench.json"
    words = ["--preset", "smoke", "--rounds", "2", "--out", str(out)]
    assert bench(*words, "--only", "step", "parts", "scaling", "processes") == 0
    said = capsys.readouterr()
    assert "OMP_NUM_THREADS is None" in said.err
    record = json.loads(out.read_text())
    assert record["threads"] == 1
    assert record["cores"] == os.cpu_count()
    assert record["versions"]["torch"] == torch.__version__
    assert record["settings"]["rounds"] == 2
    assert record["settings"]["steps_per_round"] == SMOKE.environments.usage_every
    assert VASEConfig.from_dict(record["config"]) == timed_config("smoke")
    assert list(record["parts"]) == ["step", "parts", "scaling", "processes"]
    for part in record["parts"].values():
        assert part["title"] in said.out
        assert part["rows"]
        assert len({tuple(row) for row in part["rows"]}) == 1
        for ratio in part["ratios"]:
            assert ratio["low"] <= ratio["median"] <= ratio["high"]
    step = {row["step"]: row for row in record["parts"]["step"]["rows"]}
    assert step["learner, dreaming"]["GFLOP"] > step["learner, dreaming"]["needed"] == 2 * step["bare VAE"]["needed"]
    assert step["bare VAE"]["GFLOP"] == pytest.approx(step["bare VAE"]["needed"])
    assert [r["bar"] for r in record["parts"]["step"]["ratios"]] == [1.10, 2.15, None, 1.4, None]
    rows = {row["part"]: row["% of a step"] for row in record["parts"]["parts"]["rows"]}
    named = [part for part, _, _ in parts.METHODS]
    assert all(rows[part] > 0 for part in named)
    assert sum(rows[part] for part in [*named, parts.REST]) == pytest.approx(100, abs=20)  # medians need not add up
    assert [row["case"] for row in record["parts"]["scaling"]["rows"]] == ["environments 2 (base)", "environments 3"]
    row = record["parts"]["scaling"]["rows"][1]
    assert (row["own MB"], row["own ×"], row["peak MB"], row["peak ×"]) == (42, 1.05, 328, pytest.approx(1.075))
    assert [(r["bar"], r["held"]) for r in record["parts"]["scaling"]["ratios"]][1:] == [(1.05, True), (1.05, False)]
    assert [row["processes"] for row in record["parts"]["processes"]["rows"]] == ["one", "two"]
    assert not any("Disturbed" in note for note in record["parts"]["step"]["notes"])


def test_every_peer_is_timed_or_named_with_the_reason():
    part = peers.measure("smoke", 1)
    timed, notes = {row["step"] for row in part.rows}, " ".join(part.notes)
    assert {"VASE, first environment", "VASE, dreaming"} <= timed
    for name in ("pythae VAE", "pythae DisentangledBetaVAE", "avalanche-lib generative replay"):
        assert name in timed or f"{name}: " in notes
    assert len(part.ratios) == len(timed) - 2


def test_peers_without_an_interpreter_say_so(tmp_path):
    part = peers.measure("smoke", 1, python=str(tmp_path / "python"))
    assert part.rows == []
    assert "could not be started" in part.notes[0]


def test_half_precision_says_what_came_of_it(monkeypatch):
    from vase.bench import precision

    outcomes = iter(
        [
            child.Outcome(
                [{"seconds": {"a": [4.0, 2.0], "b": [1.0, 1.0]}, "ratios": [["a / b", "a", "b", 2.0]]}], None
            ),
            child.Outcome([], "the process died of SIGILL"),
        ]
    )
    monkeypatch.setattr(precision.child, "run", lambda *given: next(outcomes))
    monkeypatch.setattr(precision, "half_precision", lambda: HalfPrecision(True, 2.0, "it is faster"))
    part = precision.measure("smoke", 2)
    assert [(r.name, r.median, r.held) for r in part.ratios] == [("a / b", 3.0, True)]
    assert part.notes[0] == "it is faster; bfloat16 pays on this machine."
    assert part.notes[-1] == "a step with dreaming in bfloat16: the process died of SIGILL."


def test_a_part_without_rows_is_shown(capsys):
    from rich.console import Console

    Part("x", "Nothing to see", notes=["because"]).show(Console())
    assert capsys.readouterr().out == "\nNothing to see\nbecause\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--preset", "latpop"], "unknown preset 'latpop'; did you mean 'laptop'"),
        (["--only", "stepp"], "--only stepp: no part of the benchmark"),
        (["--rounds", "0"], "--rounds 0: must be at least 1"),
        (["--out", "."], "a directory"),
    ],
)
def test_bad_arguments_name_the_rule(words, message):
    with pytest.raises(ValueError, match=message):
        bench(*words)


def test_all_parts_are_there():
    assert list(PARTS) == ["step", "precision", "parts", "scaling", "processes", "peers"]
