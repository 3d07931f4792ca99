"""The study of sensitivity: which values are run, and its table read from hand-made runs."""

import json
from dataclasses import asdict

import pytest

from vase.config import preset as configuration
from vase.experiments import load_experiment, results_of
from vase.experiments.sensitivity.analysis import sensitivity_table
from vase.experiments.sensitivity.settings import AS_WRITTEN, OWN, PAPER_RANGES, SENSITIVITY, SEVERAL
from vase.training.settings import RunSettings


def _run(folder, condition, seed, lost, gaps):
    """A run of 10 steps per stage that loses `lost` of moving Fashion; gaps: (world, step, gap of information)."""
    probe = {"kind": "probe", "probe": "identity", "mode": "periodic"}
    rows = [
        {**probe, "world": "moving-fashion", "step": 10, "accuracy": 0.7},
        {**probe, "world": "moving-fashion", "step": 30, "accuracy": 0.7 - lost},
        *({"kind": "measures", "step": step, "world": world, "mig": gap} for world, step, gap in gaps),
    ]
    content = {
        "stages": [["moving-fashion", 10], ["mnist", 10], ["moving-mnist", 10]],
        "config": {"mask": {"threshold": 0.6}},
        "summary": {"probes": ["periodic"], "environments": 3 + seed, "false_alarms": seed},
        "rows": rows,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{condition}-{seed}.json").write_text(json.dumps(content))


@pytest.fixture
def table(tmp_path):
    folder = tmp_path / "sensitivity" / "laptop"
    early = [("moving-fashion", 10, 0.9), ("moving-fashion", 30, 0.1), ("mnist", 30, 0.8), ("moving-mnist", 30, 0.3)]
    late = [("moving-fashion", 30, 0.2), ("mnist", 30, 0.8), ("moving-mnist", 30, 0.6)]
    _run(folder, "capacity.c_max=10", 0, 0.02, early)
    _run(folder, "capacity.c_max=10", 1, 0.04, late)
    table = sensitivity_table(results_of(SENSITIVITY, "laptop", tmp_path))
    return {(row[0], row[1]): dict(zip(table.columns, row, strict=True)) for row in table.rows}


def test_a_value_has_its_change_and_its_gap_at_the_end(table):
    row = table["C_max", "10"]
    assert (row["seeds"], row["preset's"]) == (2, "35")
    assert row["ID change (%)"].values == pytest.approx((-2, -4))
    assert row["MIG"].values == pytest.approx(((0.1 + 0.3) / 2, (0.2 + 0.6) / 2))
    assert (row["environments"], row["false alarms"]) == ("3, 4", "0, 1")
    assert "20 to 35" in row["the paper's range and word"]


def test_the_presets_own_values(table):
    found = {knob: row["preset's"] for (knob, _), row in table.items()}
    assert (found["γ"], found["τ"], found["gates"], found["objective"]) == ("5", "on leaving", "yes", "ceiling")
    assert found["preset"] == found["as written"] == "–"


def test_the_presets_value_is_that_of_its_run(tmp_path):
    folder = tmp_path / "sensitivity" / "laptop"
    _run(folder, "preset", 0, 0.02, [("moving-fashion", 30, 0.2), ("moving-mnist", 30, 0.6)])
    path = folder / "preset-0.json"
    config = configuration("laptop").with_values({"capacity.c_max": 25}).to_dict()
    settings = RunSettings.of("laptop", stream=SENSITIVITY.stream).to_dict()
    path.write_text(json.dumps({**json.loads(path.read_text()), "config": config, "settings": settings}))
    rows = sensitivity_table(results_of(SENSITIVITY, "laptop", tmp_path)).rows
    assert {row[2] for row in rows if row[0] == "C_max"} == {"25"}


def test_a_value_without_runs_is_empty(table):
    row = table["γ", "50"]
    assert (row["seeds"], row["environments"], row["MIG"].values) == (0, "–", ())


def test_every_value_of_every_knob_is_run_once_besides_the_preset(table):
    values = [(symbol, value) for symbol, (_, values, _) in PAPER_RANGES.items() for value in values]
    values += [(symbol, value) for symbol, (_, values) in OWN.items() for value in values]
    assert len(SENSITIVITY.conditions) == len(values) + 1 + len(AS_WRITTEN) == len(table)
    assert load_experiment("sensitivity") is SENSITIVITY


def test_capacity_and_the_preset_have_seeds_to_tell_them_from_chance():
    several = {condition.name for condition in SENSITIVITY.conditions if len(condition.seeds) == 3}
    assert several == set(SEVERAL)


def test_as_written_is_the_papers_preset_but_for_network_lengths_and_shift_tests():
    settings = SENSITIVITY.settings(SENSITIVITY.condition("as-written"), 0, "laptop")
    ours = configuration("laptop", stage_steps=settings.steps).with_values(settings.overrides)
    paper = configuration("paper")
    others = {"ramp_steps", "burn_in", "patience", "tau", "share", "inference", "false_alarm_every"}
    others |= {"standardise"}  # has no effect without gates
    assert not ours.dreaming.gates
    for part in ("capacity", "mask", "environments", "dreaming", "recruiting"):
        theirs = asdict(getattr(paper, part))
        differing = {name for name, value in asdict(getattr(ours, part)).items() if value != theirs[name]}
        assert differing <= others


@pytest.mark.parametrize("tau", [3, 500])
def test_snapshots_by_the_clock_go_with_tau(tau):
    overrides = SENSITIVITY.condition(f"dreaming.tau={tau}").overrides
    assert overrides == {"dreaming.tau": str(tau), "dreaming.snapshot": "every"}
