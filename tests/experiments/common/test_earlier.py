"""Tables say which of their runs an earlier version of the preset trained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vase.experiments import load_experiment, results_of
from vase.experiments.common.earlier import earlier_preset
from vase.experiments.common.numbers import note
from vase.experiments.results import Results
from vase.training.settings import RunSettings

START = " Trained with an earlier version of the preset: "


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "ablation" / "laptop"


def _run(folder: Path, name: str, changed: dict[str, Any] | None = None, removed: str = "", **given: Any) -> None:
    """A run of the present preset, but for some fields of its configuration."""
    settings = RunSettings.of("laptop", stream="digits", **given)
    config = settings.configure((1, 32, 32)).with_values(changed or {}).to_dict()
    if removed:
        part, field = removed.split(".")
        del config[part][field]
    content = {
        "settings": settings.to_dict(),
        "stages": [["digits", 10]],
        "config": config,
        "summary": {"probes": ["periodic"]},
        "rows": [],
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(content))


def _results(folder: Path) -> Results:
    return results_of(load_experiment(folder.parent.name), "laptop", folder.parents[1])


def test_runs_of_the_present_preset_and_of_changed_settings_are_not_named(folder: Path) -> None:
    _run(folder, "disentangled-SDA-0")
    _run(folder, "disentangled-none-0", batch_size=32)
    _run(folder, "disentangled-SD-0", overrides={"capacity.gamma": "7"})
    assert earlier_preset(_results(folder)) == ""
    assert note(_results(folder)).endswith("over seeds.")


def test_conditions_with_the_same_differences_stand_together(folder: Path) -> None:
    _run(folder, "disentangled-SDA-0")
    for name in ("none-0", "SD-0", "SD-1"):
        _run(folder, f"disentangled-{name}", {"capacity.kl_weight": 1.0})
    _run(folder, "disentangled-A-0", {"adam_beta2": 0.9})
    found = earlier_preset(_results(folder))
    both = "disentangled – (CCI-VAE), disentangled SD: capacity.kl_weight 1.0 → 0.5"
    assert sorted(found.removeprefix(START).removesuffix(".").split("; ")) == [
        "disentangled A: adam_beta2 0.9 → 0.95",
        both,
    ]
    assert note(_results(folder)).endswith(found)


def test_seeds_are_named_if_others_of_the_condition_do_not_differ(folder: Path) -> None:
    for seed, weight in enumerate((1.0, 0.5, 1.0)):
        _run(folder, f"disentangled-SDA-{seed}", {"capacity.kl_weight": weight})
    assert (
        earlier_preset(_results(folder))
        == f"{START}disentangled SDA (VASE) (seeds 0, 2): capacity.kl_weight 1.0 → 0.5."
    )


def test_fields_that_came_and_went(folder: Path) -> None:
    _run(folder, "disentangled-SDA-0", removed="capacity.kl_weight")
    path = folder / "disentangled-SDA-0.json"
    content = json.loads(path.read_text())
    content["config"]["mask"]["softness"] = 0.1
    path.write_text(json.dumps(content))
    assert earlier_preset(_results(folder)).endswith(": without capacity.kl_weight, with mask.softness.")


def test_a_standard_vae_has_no_weight_of_the_kl(folder: Path) -> None:
    elbo = {"capacity.objective": "elbo"}
    _run(folder, "entangled-SDA-0", elbo, removed="capacity.kl_weight", overrides=elbo)
    _run(folder, "entangled-SDA-1", {**elbo, "capacity.kl_weight": 1.0}, overrides=elbo)
    assert earlier_preset(_results(folder)) == ""


def test_of_many_fields_and_of_many_kinds_of_differences_the_number(folder: Path) -> None:
    many = {"capacity.gamma": 7.0, "capacity.c_max": 7.0, "mask.minimum": 1, "adam_beta2": 0.9}
    _run(folder, "disentangled-SDA-0", many)
    assert earlier_preset(_results(folder)).endswith(", and 1 more.")
    for number, name in enumerate(("none", "S", "D")):
        _run(folder, f"disentangled-{name}-0", {"capacity.gamma": 8.0 + number})
    assert earlier_preset(_results(folder)) == f"{START}all conditions: up to 4 fields."


def test_of_several_experiments_the_name_is_told(tmp_path: Path) -> None:
    folders = [tmp_path / name / "laptop" for name in ("rivals", "rivals-five")]
    _run(folders[0], "disentangled-SDA-0")
    _run(folders[1], "disentangled-SDA-0", {"capacity.kl_weight": 1.0})
    found = earlier_preset(*map(_results, folders), name=str.upper)
    assert found == f"{START}DISENTANGLED-SDA (rivals-five): capacity.kl_weight 1.0 → 0.5."


def test_a_learner_of_ones_own_has_nothing_to_compare(folder: Path) -> None:
    _run(folder, "disentangled-SDA-0")
    path = folder / "disentangled-SDA-0.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "config": {"width": 3}}))
    assert earlier_preset(_results(folder)) == ""
