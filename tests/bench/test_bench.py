"""`vase bench`: timing by hand, its contestants, and the form of what it prints. No test asserts a time."""

from __future__ import annotations

import json
import os

import pytest
import torch

from vase import VASEConfig
from vase.bench import precision
from vase.bench.contestants import Learner, timed_config
from vase.bench.report import Part
from vase.bench.timing import Ratio, Spread, Timings, interleave
from vase.cli.bench import add_arguments, run
from vase.cli.parsing import Parser
from vase.machine import HalfPrecision

SMOKE = VASEConfig.smoke()


def bench(*words: str) -> int:
    parser = Parser()
    add_arguments(parser)
    return run(parser.parse_args(words))


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


# -------------------------------------------------------------------- contestants


@pytest.mark.parametrize("environments", [1, 2, 9])
def test_a_learner_is_in_the_state_that_is_asked_for(environments):
    learner = Learner(timed_config("smoke", **{"dreaming.pool": 64}), environments)
    learner()
    model = learner.model
    assert len(model.environments) == environments
    assert model.environment == environments - 1
    assert model.environments[-1].age > 2 * SMOKE.environments.usage_every
    assert learner.disturbed == 0
    assert (model.partial_fit(next(learner.batches)).dream_decoder > 0) == (environments > 1)


def test_a_learner_without_environments_is_refused():
    with pytest.raises(ValueError, match="environments=0"):
        Learner(timed_config("smoke"), 0)


# -------------------------------------------------------------------- the command


def test_the_command_prints_tables_and_writes_json(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(precision, "half_precision", lambda: HalfPrecision(False, 0.0, "it failed"))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    out = tmp_path / "new" / "bench.json"
    assert bench("--preset", "smoke", "--rounds", "2", "--out", str(out)) == 0
    said = capsys.readouterr()
    assert "OMP_NUM_THREADS is None" in said.err
    record = json.loads(out.read_text())
    assert record["threads"] == 1
    assert record["cores"] == os.cpu_count()
    assert record["versions"]["torch"] == torch.__version__
    assert record["settings"]["rounds"] == 2
    assert record["settings"]["steps_per_round"] == SMOKE.environments.usage_every
    assert VASEConfig.from_dict(record["config"]) == timed_config("smoke")
    assert list(record["parts"]) == ["step", "precision"]
    step = record["parts"]["step"]
    assert step["title"] in said.out
    names = [row["step"] for row in step["rows"]]
    assert names == [
        "bare VAE",
        "learner, first world",
        "first world, tests of Eq. 6",
        "learner, dreaming",
        "dreaming, tests of Eq. 6",
    ]
    assert [ratio["bar"] for ratio in step["ratios"]] == [1.10, 2.15, 1.03, 1.03]
    for ratio in step["ratios"]:
        assert ratio["low"] <= ratio["median"] <= ratio["high"]
    assert not any("Disturbed" in note for note in step["notes"])
    assert record["parts"]["precision"]["notes"] == ["it failed; bfloat16 does not pay on this machine."]


def test_half_precision_is_timed_where_it_works(monkeypatch):
    made = []
    monkeypatch.setattr(precision, "half_precision", lambda: HalfPrecision(True, 2.0, "it is faster"))
    monkeypatch.setattr(precision, "Learner", lambda config, environments: made.append(config) or (lambda: None))
    part = precision.measure("smoke", 2)
    assert [config.network.precision for config in made] == ["float32", "bfloat16"]
    assert [row["step"] for row in part.rows] == ["learner, float32", "learner, bfloat16"]
    assert [ratio.name for ratio in part.ratios] == ["learner, float32 / learner, bfloat16"]
    assert part.notes == ["it is faster; bfloat16 pays on this machine."]


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
